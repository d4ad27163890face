/**
 * The mode `open` of the status API on a simulated network: where nothing may be sent, and the limits. Covers
 * src/app/status_api/public_targets.ts and src/app/status_api/open_fresh_statuses.ts.
 */
import { assert, assertEquals } from "@std/assert";
import { type FreshStatus, StatusLimit } from "../../../src/app/status_api/fresh_statuses.ts";
import { OFFLINE_MS, OPEN_LIMITS } from "../../../src/app/status_api/open_fresh_statuses.ts";
import { parseAddress } from "../../../src/core/address.ts";
import { rangeOfOne } from "../../../src/targets/ranges.ts";
import type { SimulatedNetwork } from "../../../src/testing/simulated_network.ts";
import { LEADS_ASTRAY, NOT_LOOKED_UP, PUBLIC, SERVICES } from "./hostile_targets.ts";
import { settingsOf, shown, SILENT, type StatusClient, withStatuses } from "./bench.ts";

const JAVA = { software: "vanilla", status: { name: "Lobby", players_online: 3, players_max: 20 } };
function prepare(network: SimulatedNetwork): void {
  network.addServer({ host: PUBLIC, ...JAVA });
  network.addName("play.example.org", [PUBLIC]);
  for (const [name, address] of LEADS_ASTRAY) {
    network.addName(name, [address]);
    network.addServer({ host: address, ...JAVA }); // so that a packet would have a reply
  }
  for (const [name, host, port, addresses] of SERVICES) {
    network.addName(name, [], { host, port });
    network.addName(host, addresses);
  }
}

const EXCLUDED = { excluded: [rangeOfOne(parseAddress("45.33.32.66")!)] };

/** A client of its own for each request: no limit of a client applies. */
const clients = (get: StatusClient["get"]) => {
  let number = 0;
  return (text: string, edition?: "java" | "bedrock") =>
    get(text, edition, `203.0.113.${++number % 256}`);
};

Deno.test("hostile addresses and names cause no packet: without a lookup, or after it", () =>
  withStatuses(settingsOf("public", EXCLUDED), async ({ get, sent, lookups, later }) => {
    assert(NOT_LOOKED_UP.length + LEADS_ASTRAY.length + SERVICES.length >= 100);
    const ask = clients(get);
    for (const text of NOT_LOOKED_UP) {
      for (const edition of ["java", "bedrock"] as const) {
        const state = shown(await ask(text, edition));
        assert(["invalid", "offline", "nowhere"].includes(state), `${text}: ${state}`);
        await later(100);
      }
    }
    assertEquals(lookups, []);
    for (const [name] of LEADS_ASTRAY) {
      assertEquals(shown(await ask(name)), "nowhere", name);
      assertEquals(shown(await ask(`${name}:25570`, "bedrock")), "nowhere", name);
      await later(200);
    }
    for (const [name] of SERVICES) {
      assertEquals(shown(await ask(name)), "nowhere", name);
      await later(100);
    }
    assert(lookups.length > 40);
    assertEquals(sent(), []);
    assertEquals(shown(await ask("play.example.org")), "Lobby");
    assertEquals(sent(), [`${PUBLIC}:25565`]);
  }, { prepare }));

Deno.test("in the mode allow, hostile addresses and names are not even looked up", () =>
  withStatuses(settingsOf(PUBLIC), async ({ get, sent, lookups }) => {
    const names = [...LEADS_ASTRAY, ...SERVICES].map(([name]) => name);
    for (const text of [...NOT_LOOKED_UP, ...names]) {
      assert(["invalid", "database"].includes(shown(await get(text))), text);
    }
    assertEquals([sent(), lookups], [[], []]);
  }, { prepare }));

Deno.test("an allowed name that leads astray causes no packet either", () => {
  const names = [...LEADS_ASTRAY, ...SERVICES]
    .map(([name]) => name).filter((name) => name !== "excluded.example");
  return withStatuses(settingsOf(names.join()), async ({ get, sent }) => {
    for (const name of names) assertEquals(shown(await get(name)), "nowhere", name);
    assertEquals(sent(), []);
  }, { prepare });
});

Deno.test("a name that leads elsewhere at each lookup is dialled only where it was checked", () => {
  const answers = [PUBLIC, "127.0.0.1", PUBLIC, "169.254.169.254", "10.0.0.1"];
  return withStatuses(settingsOf("public"), async ({ get, sent, later, network, lookups }) => {
    const states: string[] = [];
    for (const address of answers) {
      network.addName("rebinding.example", [address]);
      states.push(shown(await get("rebinding.example")));
      await later(301_000);
    }
    assertEquals(states, ["Lobby", "nowhere", "Lobby", "nowhere", "nowhere"]);
    assertEquals(lookups.filter((name) => name === "rebinding.example.").length, answers.length);
    assertEquals(sent(), [`${PUBLIC}:25565`]);
  }, { prepare });
});

Deno.test("names are looked up as absolute ones: no search domain of the user's network applies", () =>
  withStatuses(settingsOf("public"), async ({ get, lookups }) => {
    await get("play.example.org");
    assertEquals(lookups, ["play.example.org.", "SRV play.example.org"]);
  }, { prepare }));

Deno.test("a server that refuses, one that is silent and one that must not be probed look the same", () =>
  withStatuses(settingsOf("public", EXCLUDED), async ({ get, network }) => {
    const { clock, streams } = network;
    const timed = async (text: string) => {
      const began = clock.now();
      const { record, endpoint, retrievedAt, expiresAt } = await get(text) as FreshStatus;
      assertEquals([record, endpoint?.port], [undefined, 25565]);
      return [Math.round(clock.now() - began), expiresAt - retrievedAt];
    };
    streams.absent = "refused";
    const refused = await timed("45.33.32.50");
    streams.absent = "timeout";
    const silent = await timed("45.33.33.51");
    assertEquals(refused, silent);
    assertEquals(refused, [OFFLINE_MS, 60_000]);
    assertEquals(await timed("45.33.32.66"), silent); // excluded
    assertEquals(await timed("10.0.0.1"), [0, 60_000]);
  }, { prepare }));

Deno.test("an SRV record leads to no local name, not even for a lookup", () =>
  withStatuses(settingsOf("public"), async ({ get, sent, lookups, network }) => {
    for (const [i, host] of ["printer.local", "localhost", "router", "1.2.3.4.5"].entries()) {
      network.addName(`s${i}.example.org`, [], { host, port: 25570 });
      network.addName(host, [PUBLIC]);
      assertEquals(shown(await get(`s${i}.example.org`)), "nowhere", host);
    }
    assertEquals(lookups.filter((name) => !name.includes("example.org")), []);
    assertEquals(sent(), []);
  }, { prepare }));

Deno.test("a lookup that no name server answers is a limit, and is not remembered", () =>
  withStatuses(settingsOf("public"), async ({ get, size }) => {
    const error = await get(SILENT).then(() => undefined, (error) => error);
    assert(error instanceof StatusLimit, String(error));
    assertEquals([error.retryAfterS, size()], [5, 0]);
  }, { prepare }));

/** How many of some requests are granted; the others get the time of `Retry-After`. */
async function granted(requests: readonly (() => Promise<unknown>)[]): Promise<[number, number[]]> {
  const waits: number[] = [];
  for (const request of requests) {
    await request().catch((error) => {
      assert(error instanceof StatusLimit, String(error));
      waits.push(error.retryAfterS);
    });
  }
  return [requests.length - waits.length, waits];
}

Deno.test("a client has a limit: an IPv4 address, or a /56 of IPv6; shared statuses do not count", () =>
  withStatuses(settingsOf("public"), async ({ get, later }) => {
    const { burst } = OPEN_LIMITS.client;
    const of = (client: string, from: number) =>
      Array.from({ length: 30 }, (_, i) => () => get(`10.0.${from}.${i}`, "java", client));
    const [count, waits] = await granted(of("198.51.100.1", 0));
    assertEquals([count, waits.every((wait) => wait === 2)], [burst, true]);
    assertEquals((await granted(of("198.51.100.2", 1)))[0], burst);
    await later(2000);
    assertEquals((await granted(of("198.51.100.1", 2)))[0], 1);
    assertEquals((await granted(of("2001:db8:0:ff::1", 3)))[0], burst);
    assertEquals((await granted(of("2001:db8:0:1::2", 4)))[0], 0);
    assertEquals((await granted(of("2001:db8:0:100::1", 5)))[0], burst);
    const shared = Array.from({ length: 50 }, () => () => get("10.0.0.0", "java", "198.51.100.1"));
    assertEquals((await granted(shared))[0], 50);
  }, { prepare }));

Deno.test("a client gets half of the probes of an address, whatever ports it names", () =>
  withStatuses(settingsOf("public"), async ({ get, later }) => {
    let port = 30_000;
    const of = (client: string, count: number) =>
      Array.from({ length: count }, () => () => get(`45.40.0.1:${++port}`, "java", client));
    const { burst, perMinute } = OPEN_LIMITS.targetOfClient;
    assertEquals([burst, perMinute].map((one) => one * 2), [
      ...[OPEN_LIMITS.target.burst, OPEN_LIMITS.target.perMinute],
    ]);
    // One after the other takes 7 s each: the client gets its burst, and then one in 10 s.
    const all = await Promise.allSettled(of("198.51.100.1", 9).map((one) => one()));
    assertEquals(all.filter(({ status }) => status === "fulfilled").length, burst);
    await later(60_000);
    const again = await Promise.allSettled(of("198.51.100.1", 9).map((one) => one()));
    assertEquals(again.filter(({ status }) => status === "fulfilled").length, burst);
    assertEquals((await granted(of("198.51.100.2", 1)))[0], 1);
  }, { prepare }));

Deno.test("an address, a network and all clients together have limits", () =>
  withStatuses(settingsOf("public"), async ({ get, later, sent }) => {
    const ask = clients(get);
    const ports = Array.from({ length: 10 }, (_, i) => () => ask(`45.40.0.1:${30_000 + i}`));
    const many = async (requests: readonly (() => Promise<unknown>)[]) => {
      const results = await Promise.allSettled(requests.map((one) => one()));
      return results.filter(({ status }) => status === "fulfilled").length;
    };
    assertEquals(await many(ports), OPEN_LIMITS.target.burst);
    assert(sent().length <= OPEN_LIMITS.target.burst);
    await later(60_000);
    const hosts = Array.from({ length: 40 }, (_, i) => () => ask(`45.41.0.${i + 1}`));
    assertEquals(await many(hosts), OPEN_LIMITS.network.burst);
    await later(60_000);
    const refused = Array.from({ length: 80 }, (_, i) => () => ask(`10.1.0.${i + 1}`));
    assertEquals(await many(refused), OPEN_LIMITS.all.burst);
  }, { prepare }));
