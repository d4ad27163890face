/** Covers src/app/metrics/probe/. */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { openPollingSockets } from "../../../../src/app/engines/watch_sockets.ts";
import type { HttpRequest } from "../../../../src/app/http/http_request.ts";
import { ProbeTargets } from "../../../../src/app/metrics/probe/probe_targets.ts";
import { MAX_PROBES } from "../../../../src/app/metrics/probe/probe_engine.ts";
import { Probes, type ProbesOptions } from "../../../../src/app/metrics/probe/probes.ts";
import { areLoopback, familiesOfTargets } from "../../../../src/app/metrics/probe/probe_targets.ts";
import { ServerInfoSeries } from "../../../../src/app/metrics/server_info.ts";
import { type Address, formatEndpoint, parseEndpoint } from "../../../../src/core/address.ts";
import { emptyRecord } from "../../../../src/core/record.ts";
import { audit } from "../../../../src/fleet/judge/audit.ts";
import { HOST_RATE } from "../../../../src/net/throttle.ts";
import { PROTOCOLS } from "../../../../src/protocols/list.ts";
import { parseTargets } from "../../../../src/targets/parse.ts";
import { SimulatedNetwork } from "../../../../src/testing/simulated_network.ts";
import { WatchedServer } from "../../../../src/watch/watched_server.ts";
import { readCommandLine } from "../../../cli/command_line.ts";
import { longTest } from "../../../long.ts";

const RULES = {
  intervalMs: 60_000,
  downAfter: 3,
  scanId: "watch",
  newEventId: () => "event",
  allProtocols: PROTOCOLS,
};
const WATCHED = "10.0.0.7:19132";
const STATUS = { name: "Lobby", players_online: 3, players_max: 20, version: "1.21.0" };

/** Options of a test of probes. */
interface Setting {
  /** The list of `--probe-allow`. */
  readonly allow?: string;
  readonly allowPrivate?: boolean;
  readonly more?: Partial<ProbesOptions>;
}

/** A simulated network with one watched server, and probes on it. */
async function bench({ allow = "", allowPrivate = false, more }: Setting = {}) {
  const network = new SimulatedNetwork();
  network.datagrams.record = true;
  network.addServer({ host: "10.0.0.7", software: "bds", status: STATUS });
  const controller = new AbortController();
  const { signal } = controller;
  const allowed = allow === "" ? [] : allow.split(",").flatMap((word) => parseTargets(word));
  const servers = [new WatchedServer(parseEndpoint(WATCHED)!, null, RULES)];
  const optedOut = new Set<Address>();
  const { options } = readCommandLine("watch", []);
  const polling = await openPollingSockets(servers, options, {
    ...{ network, scanId: "watch", signal, attach: undefined },
    report: (line) => {
      throw new Error(line);
    },
    optedOut: (address) => optedOut.has(address),
    others: {
      families: familiesOfTargets(allowed),
      areLoopback: areLoopback(allowed),
      atOnce: MAX_PROBES,
    },
  });
  const lookups: string[] = [];
  const resolve = (name: string) => {
    lookups.push(name);
    return network.resolve(name);
  };
  const probes = new Probes({
    targets: new ProbeTargets({ servers, allowed, allowPrivate, lookups: { ...network, resolve } }),
    ...{ polling, signal, rules: RULES, token: undefined, info: undefined },
    optedOut: (address) => optedOut.has(address),
    onOptOut: (address) => void optedOut.add(address),
    isRunning: () => true,
    clock: network.clock,
    ...more,
  });
  const get = async (query: string, headers: Record<string, string> = {}) => {
    const response = await probes.respond(requestOf(query, headers));
    return { ...response, text: new TextDecoder().decode(response.body) };
  };
  const run = <T>(work: () => Promise<T>): Promise<T> => {
    const listening = polling.sockets.listen();
    return network.run(work().finally(() => controller.abort())).finally(() => listening);
  };
  const later = (ms: number) => new Promise<void>((resolve) => network.clock.after(ms, resolve));
  const sent = () => network.datagrams.sent.length;
  return { network, get, run, later, probes, lookups, optedOut, servers, sent };
}

function requestOf(query: string, headers: Record<string, string>): HttpRequest {
  return {
    ...{ method: "GET", path: "/probe", host: "localhost" },
    ...{ keepsAlive: false, bodyLength: 0, body: new Uint8Array(), minorVersion: 1 },
    query: new URLSearchParams(query),
    search: `?${query}`,
    headers: new Map(Object.entries(headers)),
  };
}

/** The value of a metric. */
function valueOf(page: string, name: string): string | undefined {
  return new RegExp(`^${name} (.*)$`, "m").exec(page)?.[1];
}

Deno.test("a probe of a watched server reports what the server replied", async () => {
  const { get, run } = await bench({ more: { info: new ServerInfoSeries() } });
  const { status, text } = await run(() => get(`target=${WATCHED}`));
  assertEquals(status, 200);
  assertEquals(
    ["probe_success", "blocksweep_probe_players", "blocksweep_probe_players_max"].map((name) =>
      valueOf(text, name)
    ),
    ["1", "3", "20"],
  );
  assert(Number(valueOf(text, "blocksweep_probe_latency_seconds")) >= 0, text);
  assertStringIncludes(text, 'blocksweep_probe_info{name="Lobby",edition="bedrock",');
});

Deno.test("servers that are added to the watch, or move, may be probed from then on", async () => {
  const { get, run, servers, network } = await bench();
  network.addServer({
    host: "10.0.0.8",
    software: "bds",
    status: { ...STATUS, players_online: 8 },
  });
  const playersOf = async (query: string) => {
    const { status, text } = await get(query);
    return status === 200 ? valueOf(text, "blocksweep_probe_players") : status;
  };
  const added = { address: parseEndpoint("10.0.0.8:19132")!.address, port: 19132 };
  await run(async () => {
    assertEquals(await playersOf("target=10.0.0.8:19132"), 403);
    assertEquals(await playersOf("target=lobby.test:19132"), 403);
    const server = new WatchedServer({ address: 0x0a000009, port: 19132 }, "lobby.test", RULES);
    servers.push(server);
    assertEquals(await playersOf("target=10.0.0.8:19132"), 403);
    server.moveTo(added, "lobby.test:19132");
    assertEquals(await playersOf("target=10.0.0.8:19132"), "8");
    assertEquals(await playersOf("target=10.0.0.9:19132"), 403);
    assertEquals((await get("target=lobby.test:19132")).status !== 403, true);
  });
});

Deno.test("an address that a watched server has left is probed itself", async () => {
  const { get, run, servers, network, later } = await bench({ allow: "10.0.0.0/24:19132" });
  const status = { ...STATUS, players_online: 17 };
  network.addServer({ host: "10.0.0.8", software: "bds", status });
  await run(async () => {
    const playersAt = async (target: string) =>
      valueOf((await get(`target=${target}`)).text, "blocksweep_probe_players");
    assertEquals(await playersAt(WATCHED), "3");
    servers[0].moveTo(parseEndpoint("10.0.0.8:19132")!, "play.example.org");
    await later(6000);
    assertEquals(await playersAt(WATCHED), "3");
    assertEquals(await playersAt("10.0.0.8:19132"), "17");
  });
});

Deno.test("a server is probed once in five seconds, whatever the number of requests", async () => {
  const { get, run, later, sent, network } = await bench();
  await run(async () => {
    const pages = await Promise.all(Array.from({ length: 1000 }, () => get(`target=${WATCHED}`)));
    assert(
      pages.every(({ status, text }) => status === 200 && valueOf(text, "probe_success") === "1"),
    );
    const once = sent();
    await later(4000);
    assertEquals((await get(`target=${WATCHED}`)).status, 200);
    assertEquals(sent(), once);
    const other = await get(`target=${WATCHED}&protocol=query`);
    assertEquals([other.status, other.headers!["retry-after"]], [429, "5"]);
    await later(2000);
    assertEquals((await get(`target=${WATCHED}`)).status, 200);
    assert(sent() > once);
    await later(5000);
    const before = sent();
    const query = await get(`target=${WATCHED}&protocol=query`);
    assertEquals(valueOf(query.text, "probe_success"), "0", "this server has no Query");
    assert(network.datagrams.sent.slice(before).every(({ bytes }) => bytes[0] === 0xfe));
  });
  assertEquals(audit(network.datagrams.lines, { hostRate: HOST_RATE }), []);
});

Deno.test("a server that the watch polled less than five seconds ago is not queried", async () => {
  const { get, run, sent, servers, network } = await bench();
  const [server] = servers;

  const seenAt = network.clock.wall();
  server.addReply({ ...emptyRecord(server.endpoint, seenAt), players_online: 9 }, seenAt);
  const { text } = await run(() => get(`target=${WATCHED}`));
  assertEquals([valueOf(text, "blocksweep_probe_players"), sent()], ["9", 0]);
});

Deno.test("targets that are not allowed are refused without a packet and without a lookup", async () => {
  const allow = "10.1.0.0/24:19132,0.0.0.0/0,mc.example.org:19132,[fd00::1]:19133";
  const { get, run, sent, lookups, network } = await bench({ allow });
  network.addName("mc.example.org", ["192.168.0.1"]);
  network.addServer({ host: "192.168.0.1", software: "bds" });
  await run(async () => {
    for (
      const target of [
        ...["10.0.0.7:19133", "10.1.0.1:25565", "192.168.0.1:19132", "127.0.0.1:19132"],
        ...["169.254.169.254:80", "224.0.0.1:19132", "255.255.255.255:19132", "[::1]:19132"],
        ...["[fd00::1]:19132", "[::ffff:10.0.0.7]:19132", "play.example.org:19132"],
        ...["mc.example.org:25565", "localhost:19132", "10.1.0.7.example.org:19132"],
      ]
    ) {
      const { status, text } = await get(new URLSearchParams({ target }).toString());
      assertEquals([status, text.split("\n").length], [403, 2], `${target}: ${text}`);
    }
    for (
      const query of [
        ...["", "target=", "target=10.0.0.7", "target=10.0.0.0/24:19132", "target=a b:1"],
        ...["target=10.0.0.7:0", "target=10.0.0.7:70000", "target=http://10.0.0.7:19132/"],
        ...[`target=${WATCHED}&target=${WATCHED}`, `target=${WATCHED}&module=x`],
        ...[`target=${WATCHED}&protocol=`, `target=${WATCHED}&protocol=ftp`],
        `target=${encodeURIComponent("\u001b[2J\n\u202e:19132")}`,
      ]
    ) {
      const { status, text } = await get(query);
      assertEquals([status, text.split("\n").length], [400, 2], `${query}: ${text}`);
      assert(!/[\p{Cc}\u202e]/u.test(text.slice(0, -1)), text);
    }
  });
  assertEquals([sent(), lookups], [0, []]);
});

Deno.test("a server that sent another datagram gets no SQP from probes for SQP", async () => {
  const { get, run, later, network, servers } = await bench({ allow: "10.0.0.8,10.0.0.9" });
  network.addServer({ host: "10.0.0.8", software: "bds" });
  const sqp = () =>
    network.datagrams.sent.filter(({ bytes }) => bytes.length === 5)
      .map(({ to }) => formatEndpoint(to));
  await run(async () => {
    await get("target=10.0.0.8:19132");
    await later(6000);
    // Every later ping of RakNet is lost. The watch has not polled its server, but a database has its row.
    for (const host of ["10.0.0.7", "10.0.0.8"]) network.removeServer({ host, port: 19132 });
    const seen = emptyRecord(servers[0].endpoint, network.clock.wall());
    servers[0].row = { ...seen, protocols: ["raknet"] };
    for (const host of ["10.0.0.7", "10.0.0.8", "10.0.0.9"]) {
      await get(`target=${host}:19132&protocol=sqp`);
      await later(6000);
    }
  });
  assertEquals(new Set(sqp()), new Set(["10.0.0.9:19132"]));
});

Deno.test("an allowed name is resolved for each probe, and must not lead to a private address", async () => {
  const allow = "play.example.org,rebound.example.org:19132,mc.lan:19132,gone.example.org";
  const { get, run, sent, later, network } = await bench({ allow });
  network.addServer({ host: "192.168.0.1", software: "bds" });
  network.addServer({ host: "203.0.114.9", software: "bds", status: STATUS });
  network.addName("play.example.org", ["192.168.0.1", "203.0.114.9"]);
  network.addName("rebound.example.org", ["203.0.114.9"]);
  network.addName("mc.lan", ["192.168.0.1"]);
  await run(async () => {
    const of = async (name: string) => await get(`target=${name}:19132`);
    assertEquals(valueOf((await of("play.example.org")).text, "probe_success"), "1");
    const first = sent();
    // The owner of the zone lets the name lead to a router, a metadata service or this machine.
    for (const address of ["192.168.0.1", "169.254.169.254", "127.0.0.1", "224.0.0.1"]) {
      network.addName("rebound.example.org", [address]);
      await later(6000);
      const { status, text } = await of("rebound.example.org");
      assertEquals([status, text.split("\n").length], [403, 2], text);
      assertStringIncludes(text, "rebound.example.org A");
    }
    assertEquals(sent(), first);
    assertEquals(valueOf((await of("gone.example.org")).text, "probe_success"), "0");
    assertEquals(valueOf((await of("mc.lan")).text, "probe_success"), "1");
  });
  assert(network.datagrams.sent.every(({ to }) => /^(203|192)/.test(formatEndpoint(to))));
  const permitted = await bench({ allow, allowPrivate: true });
  permitted.network.addServer({ host: "192.168.0.1", software: "bds" });
  permitted.network.addName("play.example.org", ["192.168.0.1"]);
  const page = await permitted.run(() => permitted.get("target=play.example.org:19132"));
  assertEquals(valueOf(page.text, "probe_success"), "1");
});

Deno.test("a probe of the usual port of Java servers follows the SRV record of the name", async () => {
  const { get, run, network } = await bench({ allow: "play.example.org:25565" });
  network.addServer({ host: "8.8.8.7", software: "vanillaOld", status: STATUS });
  const host = "mc1.example.org";
  network.addName(host, ["8.8.8.7"]);
  network.addName("play.example.org", ["8.8.8.9"], { host, port: 25565 });
  await run(async () => {
    const { text } = await get("target=play.example.org:25565");
    assertEquals(valueOf(text, "blocksweep_probe_players"), String(STATUS.players_online));
    assertEquals((await get("target=play.example.org:25570")).status, 403);
  });
});

longTest(
  "10,000 targets at once: 16 are probed, the others refused, and limits apply",
  async () => {
    const { get, run, later, network, probes } = await bench({ allow: "10.8.0.0/16" });
    const hosts = network.addFleet({
      range: "10.8.0.0/18",
      servers: 5000,
      software: ["bds"],
      seed: 3,
    });
    const targets = [
      ...hosts.map(({ host, port }) => `${host}:${port}`),
      ...Array.from({ length: 5000 }, (_, i) => `10.8.${128 + (i >> 8)}.${i & 255}:19132`),
    ];
    const counts = new Map<number, number>();
    await run(async () => {
      const add = ({ status }: { status: number }) =>
        counts.set(status, (counts.get(status) ?? 0) + 1);
      const all = Promise.all(targets.map((target) => get(`target=${target}`).then(add)));
      assert(probes.running <= MAX_PROBES, String(probes.running));
      await all;
      assertEquals([...counts], [[503, 10_000 - MAX_PROBES], [200, MAX_PROBES]]);
      await later(10_000);
      assertEquals(probes.running, 0);
      counts.clear();
      for (let at = 0; at < 5000; at += MAX_PROBES) {
        await Promise.all(
          targets.slice(at, Math.min(at + MAX_PROBES, 5000)).map((one) =>
            get(`target=${one}`).then(add)
          ),
        );
      }
      assertEquals(counts.get(200), 5000);
    });
    assertEquals(audit(network.datagrams.lines, { hostRate: HOST_RATE }), []);
    const perSecond = Map.groupBy(network.datagrams.sent, ({ at }) => Math.floor(at / 1000));
    const most = Math.max(...perSecond.values().map((sent) => sent.length));
    assert(most <= 1100, `the rate limit of the watch is 1,000: ${most}`);
  },
);

Deno.test("a server that opts out is recorded, and not probed again", async () => {
  const { get, run, later, network, optedOut, sent } = await bench({ allow: "10.0.0.0/24" });
  const status = { ...STATUS, name: "Leave us §b§d§f§d§b" };
  network.addServer({ host: "10.0.0.9", software: "bds", status });
  await run(async () => {
    assertEquals((await get("target=10.0.0.9:19132")).status, 403);
    assertEquals([...optedOut], [parseEndpoint("10.0.0.9:1")!.address]);
    const before = sent();
    await later(6000);
    assertEquals((await get("target=10.0.0.9:19132")).status, 403);
    assertEquals((await get("target=10.0.0.9:25565")).status, 403);
    assertEquals(sent(), before);
  });
});

Deno.test("a client gets a response before its timeout, while the probe continues", async () => {
  const { get, run, network, probes } = await bench({ allow: "10.0.0.0/24" });
  const timeout = { "x-prometheus-scrape-timeout-seconds": "1.5" };
  await run(async () => {
    const start = network.clock.now();
    const { text } = await get("target=10.0.0.200:19132", timeout);
    assertEquals(valueOf(text, "probe_success"), "0");
    assertEquals(network.clock.now() - start, 1000);
    assertEquals(probes.running, 1);
  });
});

Deno.test("a token is required if one is configured, and web pages must not probe", async () => {
  const token = "0123456789abcdef";
  const { get, run, sent } = await bench({ more: { token } });
  const target = `target=${WATCHED}`;
  await run(async () => {
    for (const authorization of ["", "Bearer", `Basic ${token}`, `Bearer ${token}0`, `Bearer 0`]) {
      const { status, headers } = await get(target, { authorization });
      assertEquals([status, headers!["www-authenticate"]], [401, "Bearer"], authorization);
    }
    assertEquals((await get(target)).status, 401);
    const authorization = `bearer ${token}`;
    for (
      const [name, value] of [
        ["sec-fetch-site", "cross-site"],
        ["sec-fetch-site", "same-site"],
        ["origin", "http://evil.test"],
      ]
    ) assertEquals((await get(target, { authorization, [name]: value })).status, 403);
    assertEquals(sent(), 0);
    assertEquals((await get(target, { authorization, "sec-fetch-site": "none" })).status, 200);
  });
});

Deno.test("names of one address are different servers: none gets the result of another", async () => {
  const { get, run, later, network } = await bench({ allow: "a.example.org,b.example.org" });
  network.addServer({ host: "203.0.114.9", software: "bds" });
  for (const name of ["a", "b"]) network.addName(`${name}.example.org`, ["203.0.114.9"]);
  await run(async () => {
    assertEquals((await get("target=a.example.org:19132")).status, 200);
    assertEquals((await get("target=b.example.org:19132")).status, 429);
    assertEquals((await get("target=a.example.org:19132")).status, 200);
    await later(5000);
    assertEquals((await get("target=b.example.org:19132")).status, 200);
  });
});

Deno.test("a family without a socket is refused, and an allowed range opens one", async () => {
  const without = await bench({ allow: "mc6.example.org" });
  without.network.addName("mc6.example.org", ["2600::7"]);
  const refused = await without.run(() => without.get("target=mc6.example.org:19132"));
  assertEquals([refused.status, refused.text], [
    403,
    "Cannot probe IPv6: the watch has no socket for it\n",
  ]);
  const { get, run, network } = await bench({ allow: "2600::/64" });
  network.addServer({ host: "2600::7", software: "bds" });
  const { text } = await run(() => get("target=[2600::7]:19132"));
  assertEquals(valueOf(text, "probe_success"), "1");
});

Deno.test("a watch that has not begun, and one that ends, do not probe", async () => {
  const early = await bench({ more: { isRunning: () => false } });
  assertEquals((await early.run(() => early.get(`target=${WATCHED}`))).status, 503);
  const late = await bench();
  await late.run(() => Promise.resolve());
  assertEquals((await late.get(`target=${WATCHED}`)).status, 503);
  assertEquals(early.sent() + late.sent(), 0);
});
