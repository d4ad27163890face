/** watch() of the library, on a simulated network. */
import { assert, assertEquals, assertRejects } from "@std/assert";
import { InputError } from "../../src/core/errors.ts";
import { watch } from "../../src/library/watch.ts";
import type { WatchOptions } from "../../src/library/watch_options.ts";
import { type Address, parseAddress } from "../../src/core/address.ts";
import { placeServer } from "../../src/fleet/simulate/draw_fleet.ts";
import { NO_FAULTS } from "../../src/fleet/simulate/network/faults.ts";
import { NameProxy } from "../fakes/name_proxy.ts";
import { SimulatedNetwork } from "../../src/testing/simulated_network.ts";
import type { WatchEvent } from "../../src/store/events/watch_event.ts";

const LOBBY = { host: "10.0.0.7", software: "pocketmine" };

/** Watches until a number of events has arrived, with a callback for each event. */
function events(
  network: SimulatedNetwork,
  most: number,
  options: WatchOptions = {},
  onEvent: (event: WatchEvent) => void = () => {},
): Promise<WatchEvent[]> {
  const seen: WatchEvent[] = [];
  const take = async () => {
    for await (const event of watch(["10.0.0.7:19132"], { network, ...options })) {
      onEvent(event);
      if (seen.push(event) === most) break;
    }
    return seen;
  };
  return network.run(take());
}

Deno.test("watch() yields changes of a server, until the loop is left", async () => {
  const network = new SimulatedNetwork();
  const server = network.addServer({ ...LOBBY, status: { players: ["Ann"] } });
  const steps = [
    () => network.addServer({ ...LOBBY, status: { players: ["Ann", "Bob"] } }),
    () => network.removeServer(server),
    () => network.addServer({ ...LOBBY, status: { players: ["Ann", "Bob"] } }),
  ];
  const seen = await events(network, 4, {}, () => steps.shift()?.());
  assertEquals(seen.map(({ event }) => event), ["online", "players", "offline", "online"]);
  const [online, players] = seen;
  assert(online.event === "online" && players.event === "players");
  assertEquals([online.server.players, players.players_online, players.joined], [
    null,
    [1, 2],
    undefined,
  ]);
  assertEquals([network.datagrams.ports, network.streams.open], [[], 0]);
});

Deno.test("watch() yields names of players with the option names", async () => {
  const network = new SimulatedNetwork();
  network.addServer({ ...LOBBY, status: { players: ["Ann"] } });
  const [online] = await events(network, 1, { names: true });
  assert(online.event === "online");
  assertEquals(online.server.players, ["Ann"]);
});

Deno.test("a server that changes with each poll has 12 events changed in an hour", async () => {
  const network = new SimulatedNetwork();
  network.addServer({ ...LOBBY, status: { name: "0" } });
  let polls = 0;
  const change = () => {
    network.addServer({ ...LOBBY, status: { name: `${++polls}` } });
    network.clock.after(5000, change);
  };
  network.clock.after(5000, change);
  const seen = await events(network, 1 + 12 + 1, { intervalMs: 5000 });
  const changed = seen.flatMap((event) => event.event === "changed" ? [event] : []);
  assertEquals(changed.length, 13);
  // The thirteenth reaches the limit again if eleven others are less than an hour old by then.
  const recent = changed.slice(0, 12).filter(({ at }) => changed[12].at - at < 3_600_000);
  assertEquals(
    changed.map(({ limit_reached: isLast = false }) => isLast),
    Array.from({ length: 13 }, (_, i) => i === 11 || i === 12 && recent.length === 11),
  );
  assert(changed[11].at - changed[0].at < 120_000 && changed[12].at - changed[0].at >= 3_600_000);
});

Deno.test("watch() starts no poll while the loop is busy", async () => {
  const network = new SimulatedNetwork();
  network.datagrams.record = true;
  const servers = network.addFleet({ range: "10.0.0.0/28", servers: 9, software: ["bds"] });
  let sent = 0;
  const busy = async () => {
    for await (const _ of watch(servers.map(({ host }) => `${host}:19132`), { network })) {
      await new Promise<void>((resolve) => network.clock.after(10_000, resolve));
      sent = network.datagrams.sent.length;
      await new Promise<void>((resolve) => network.clock.after(3_600_000, resolve));
      break;
    }
  };
  await network.run(busy());
  assertEquals(network.datagrams.sent.length, sent);
});

Deno.test("watch() polls no address that opted out, before or meanwhile", async () => {
  const network = new SimulatedNetwork();
  network.addServer({ ...LOBBY, software: "bdsOptedOut" });
  const [event] = await events(network, 1);
  assertEquals([event.event, network.optedOut], ["opted_out", [0x0a000007]]);
  const { count } = network.datagrams;
  await assertRejects(() => events(network, 1), InputError, "every named server opted out");
  assertEquals(network.datagrams.count, count);
});

Deno.test("a signal ends watch() without an error", async () => {
  const network = new SimulatedNetwork();
  network.addServer(LOBBY);
  const controller = new AbortController();
  network.clock.after(300_000, () => controller.abort());
  assertEquals((await events(network, Infinity, { signal: controller.signal })).length, 1);
  assertEquals(network.datagrams.ports, []);
});

Deno.test("watch() names the host or the option that it cannot use", async () => {
  const refuses = (hosts: string[], options: WatchOptions, message: string) => {
    const network = new SimulatedNetwork();
    network.addName("trap.example.org", ["10.0.0.1"]);
    const run = () => Array.fromAsync(watch(hosts, { network, ...options }));
    return assertRejects(run, InputError, message);
  };
  await refuses([], {}, "Cannot watch: name servers");
  await refuses(["10.0.0.0/24"], {}, 'Cannot watch "10.0.0.0/24": it is a range');
  await refuses(["trap.example.org"], {}, "trap.example.org A 10.0.0.1");
  await refuses(["servers.csv"], {}, `Cannot read "${Deno.cwd()}/servers.csv"`);
  await refuses(["none.db"], {}, `Cannot open "${Deno.cwd()}/none.db"`);
  await refuses(
    ["10.0.0.7"],
    { intervalMs: 10 },
    'Cannot use intervalMs "10ms": it must be at least 5s',
  );
  await refuses(
    ["10.0.0.7"],
    { downAfter: 0 },
    'Cannot use downAfter "0": expected a whole number from 1 to 100',
  );
  await refuses(["10.0.0.7"], { output: ["a.csv"] }, `Cannot write to "${Deno.cwd()}/a.csv"`);
  await refuses(["10.0.0.7"], { probe: true }, "Cannot use --probe without --metrics");
  await refuses(
    ["10.0.0.7"],
    { webhookOutbox: "a" },
    "Cannot use --webhook-outbox without --webhook",
  );
});

Deno.test("each name of a proxy is polled by itself, one after the other, and has its own status", async () => {
  const network = new SimulatedNetwork({ faults: { ...NO_FAULTS, delay: 50 } });
  const address = parseAddress("203.0.114.9")!;
  const names = ["lobby.example.org", "skyblock.example.org"];
  const hosts = names.map((name, i) => {
    const motd = { text: name, plain: name };
    return placeServer(address, "vanilla", { motd, latinMotd: motd }, i);
  });
  const proxy = new NameProxy(new Map(names.map((name, i) => [name, hosts[i].streams!])));
  network.streams.host(hosts[0].endpoint, proxy);
  for (const name of names) network.addName(name, ["203.0.114.9"]);
  const named = new Map<string | null, string | null>();
  const controller = new AbortController();
  network.clock.after(30_000, () => controller.abort());
  const options = { network, protocol: ["slp"], signal: controller.signal };
  await network.run((async () => {
    for await (const event of watch(names.map((name) => `${name}:25565`), options)) {
      if (event.event === "online") named.set(event.requested_as, event.server.name);
      if (named.size === 2) break;
    }
  })());
  assertEquals(named, new Map(names.map((name) => [name, name])));
  assertEquals([proxy.requested, network.streams.most], [names, 1]);
});

Deno.test("watch() follows a server whose name moves to another address", async () => {
  const network = new SimulatedNetwork();
  network.addServer({ ...LOBBY, status: { players: [] } });
  network.addName("lobby.example.org", ["10.0.0.7"]);
  const notes: string[] = [];
  const options = { network, allowPrivate: true, onNote: (line: string) => notes.push(line) };
  const hostOf = async () => {
    for await (const event of watch(["lobby.example.org:19132"], options)) {
      if (event.event === "players") return event.host;
      network.addServer({ ...LOBBY, host: "10.0.0.8", status: { players: ["Ann"] } });
      network.addName("lobby.example.org", ["10.0.0.8"]);
    }
  };
  assertEquals(await network.run(hostOf()), "10.0.0.8");
  assertEquals(notes, ["lobby.example.org moved from 10.0.0.7:19132 to 10.0.0.8:19132"]);
});

Deno.test("an error in a part of a watch ends the other parts, and is thrown", async () => {
  let lookups = 0;
  class Broken extends SimulatedNetwork {
    override readonly resolve = (): Promise<readonly Address[]> => {
      if (++lookups > 1) throw new TypeError("the lookup is broken");
      return Promise.resolve([0x0a000007]);
    };
  }
  const network = new Broken();
  network.addServer(LOBBY);
  const options = { network, allowPrivate: true };
  const run = () => network.run(Array.fromAsync(watch(["lobby.example.org:19132"], options)));
  await assertRejects(run, TypeError, "the lookup is broken");
  assertEquals(network.datagrams.ports, []);
});

Deno.test("a watch that cannot serve its metrics closes its sockets", async () => {
  const network = new SimulatedNetwork();
  network.addServer(LOBBY);
  using taken = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const run = () => events(network, 1, { metrics: taken.addr.port });
  await assertRejects(run, InputError, "Cannot serve metrics on 127.0.0.1");
  assertEquals(network.datagrams.ports, []);
});
