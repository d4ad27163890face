/**
 * Scans of networks with hosts that flood.
 *
 * Covers src/sweep/receiver.ts and src/scan/sweep_stage/udp_sweep.ts.
 */
import { assert, assertEquals } from "@std/assert";
import type { Address, Endpoint } from "../../../src/core/address.ts";
import { drawFleet } from "../../../src/fleet/simulate/draw_fleet.ts";
import { readNdjson } from "../../../src/fleet/judge/verify_rows.ts";
import { FakeDisk } from "../../fakes/disk.ts";
import type { FakeNetwork } from "../../../src/testing/fake_network.ts";
import { scanFleet, type Setting } from "../scan_harness.ts";
import { resumeScan, startScan } from "../checkpoint/resumable_scan.ts";
import { longTest } from "../../long.ts";

const RANGE = { start: 0x7f100000, end: 0x7f100400 };
const LIMITS = { rate: 10_000, netRate: undefined, hostRate: undefined };

const FLOODING = Array.from({ length: 16 }, (_, i) => RANGE.start + 256 + 13 * i);

const NEAR = { ...RANGE, end: RANGE.start + 256 };
const SERVERS = { servers: 64, range: NEAR, seed: 3, software: ["bds"] };

/**
 * 64 Bedrock servers, 16 hosts that send 1,000 copies of each datagram, and sockets with buffers of
 * 256 datagrams each.
 */
function disturbed(over: Partial<Setting> = {}) {
  return scanFleet({
    fleet: SERVERS,
    range: RANGE,
    protocolNames: ["raknet", "query"],
    rates: LIMITS,
    ports: (name) => [name === "raknet" ? 19132 : 25565],
    prepare: (network) => {
      network.record = true;
      network.buffers = { datagrams: 256, perMs: 5 };
      const respond = (datagram: Uint8Array) => Array.from({ length: 1000 }, () => datagram);
      for (const address of FLOODING) {
        for (const port of [19132, 25565]) network.host({ address, port }, { respond });
      }
    },
    ...over,
  });
}

Deno.test("all servers beside hosts that flood are found, and hosts that flood are not probed again", async () => {
  const { rows, state, network } = await disturbed();
  assert(network.overflowed > 1000, `${network.overflowed} datagrams found no buffer space`);
  assertEquals(rows.length, 64);
  assertEquals(state.floods.hosts, 16);
  assertEquals(state.floods.addresses.toSorted()[0], "127.16.1.0");
  assertEquals(state.floods.disturbed, []);
  const probes = network.sent.filter(({ to }) => FLOODING.includes(Number(to.address))).length;
  assert(probes < 3 * 16, `${probes} probes to hosts that flood; other hosts get four each`);
});

Deno.test("one pass that hosts disturb by a flood is reported as incomplete", async () => {
  const { rows, state } = await disturbed({ retries: 0 });
  assert(rows.length < 64, `${rows.length} rows`);
  assert(state.floods.hosts >= 8, `${state.floods.hosts} hosts`);
  assert(state.floods.disturbed.includes("raknet"));
  assertEquals(state.replies.valid + state.replies.unverified, rows.length);
});

/** A flood that lasts for all passes: each is disturbed, and 1,024 targets are probed in each. */
const LASTING: Partial<Setting> = {
  protocolNames: ["raknet"],
  audited: false,
  prepare: (network) => {
    network.record = true;
    network.buffers = { datagrams: 256, perMs: 5 };
    const from = { address: FLOODING[0], port: 19132 };
    const flood = () => {
      for (let i = 0; i < 400; i++) network.inject(from, { port: 40000 + i % 4 }, Uint8Array.of(7));
      if (network.now() < 8000) network.after(5, flood);
    };
    network.after(1, flood);
  },
};

for (const retries of [1, 2]) {
  longTest(
    `a further pass that was cut off is repeated by the resumed scan, or reported (${retries} retries)`,
    async () => {
      const disk = new FakeDisk();
      const controller = new AbortController();
      let cutAt = 0;
      const setting = { fleet: SERVERS, range: RANGE, rates: LIMITS, retries, ...LASTING };
      const cut = await startScan(disk, {
        ...setting,
        signal: controller.signal,
        prepare: (network, hosts, streams) => {
          LASTING.prepare!(network, hosts, streams);
          const probes = () => network.sent.length;
          const look = () => {
            if (probes() <= (retries + 1) * 1000 + 100) return void network.after(5, look);
            cutAt = network.now();
            controller.abort();
          };
          network.after(5, look);
        },
      });
      const { end, state } = cut.result;
      assertEquals([end.reason, end.marks.udp.pass, cut.resumable], [
        "interrupted",
        retries + 2,
        true,
      ]);
      assertEquals([state.floods.passes.further, state.floods.disturbed], [1, ["raknet"]]);
      const timed = await startScan(new FakeDisk(), { ...setting, maxRuntimeMs: cutAt - 1000 });
      const hasMore = retries === 2;
      assertEquals([timed.result.end.reason, timed.resumable], [
        hasMore ? "max-runtime" : "done",
        hasMore,
      ]);
      assertEquals(timed.result.state.floods.disturbed, ["raknet"]);
      const rest = await resumeScan(disk, { ...setting, prepare: undefined });
      const { state: after, end: last } = rest!.result;
      assertEquals([last.reason, after.floods.hosts, after.floods.addresses], [
        ...["done", 1, ["127.16.1.0"]],
      ]);
      // With one retry there is one further pass, which was begun. The summary reports its loss.
      assertEquals(after.floods.disturbed, hasMore ? [] : ["raknet"]);
      if (hasMore) assertEquals(readNdjson(disk.text("rows.ndjson")!).length, 64);
    },
  );
}

Deno.test("hosts that flood from another port each time are detected too", async () => {
  const { rows, state, network } = await disturbed({
    prepare: (network) => {
      network.record = true;
      network.buffers = { datagrams: 256, perMs: 5 };
      for (const address of FLOODING) {
        const respond = (datagram: Uint8Array, to: { port: number }) => {
          for (let i = 0; i < 1000; i++) {
            network.inject({ address, port: 1024 + 7 * i }, to, datagram);
          }
          return [];
        };
        for (const port of [19132, 25565]) network.host({ address, port }, { respond });
      }
    },
  });
  assert(network.overflowed > 1000, `${network.overflowed} datagrams found no buffer space`);
  assertEquals([rows.length, state.floods.hosts, state.floods.disturbed], [64, 16, []]);
});

const FORGED = [
  { port: 1, datagrams: 64, hosts: 0 },
  { port: 1, datagrams: 1000, hosts: 48 },
  { port: "probed", datagrams: 64, hosts: 48 },
] as const;
for (const { port, datagrams, hosts } of FORGED) {
  Deno.test(`${datagrams} datagrams that are forged from port ${port} hide no server`, async () => {
    const fleet = { servers: 48, range: { ...RANGE, end: RANGE.start + 256 }, seed: 3 };
    const { rows, state, verdict } = await scanFleet({
      // Any datagram from an endpoint suppresses SQP for this endpoint.
      fleet: { ...fleet, software: ["bds", "vanilla", ...port === 1 ? ["sqpFull"] : []] },
      range: fleet.range,
      protocolNames: ["raknet", "query", "sqp"],
      rates: LIMITS,
      follow: false,
      audited: false,
      prepare: (network, hosts) => {
        network.after(1, () => {
          for (const { endpoint } of hosts) {
            const from = port === 1 ? { ...endpoint, port } : endpoint;
            for (let i = 0; i < datagrams; i++) {
              network.inject(from, { port: 40000 }, Uint8Array.of(7));
            }
          }
        });
      },
    });
    assertEquals([verdict.found, rows.length], [verdict.expected, verdict.expected]);
    assert(rows.length > 30, `${rows.length} rows`);
    assertEquals(state.floods.hosts, hosts);
  });
}

/** The port of the first shared socket, and that of the first socket of inspections. */
const [SHARED, SOLE] = [40000, 40004];

/** Servers with RakNet and Query on one port. A flood has their forged addresses. */
function flooded(over: Partial<Setting> = {}) {
  return scanFleet({
    fleet: { servers: 8, range: NEAR, seed: 3, software: ["pocketmine"] },
    range: NEAR,
    protocolNames: ["raknet", "query"],
    ports: () => [19132],
    audited: false,
    retries: 0,
    prepare: (network, hosts) => {
      network.after(0, () => hosts.forEach(({ endpoint }) => forge(network, endpoint)));
    },
    ...over,
  });
}

function forge(network: FakeNetwork, from: Endpoint): void {
  for (let i = 0; i < 200; i++) network.inject(from, { port: SHARED }, Uint8Array.of(7));
}

Deno.test("a row whose follow-ups were left out because of a flood is flagged", async () => {
  const { rows, state } = await flooded();
  assertEquals([rows.length, state.floods.hosts], [8, 8]);
  for (const { protocols, flags } of rows) {
    assertEquals([protocols, flags.includes("cutShort")], [["raknet"], true]);
  }
});

Deno.test("a row of a flooding host is not flagged without follow-ups", async () => {
  const { rows, state } = await flooded({ follow: false });
  assertEquals([rows.length, state.floods.hosts], [8, 8]);
  assertEquals(rows.filter(({ flags }) => flags.includes("cutShort")), []);
});

/** Replaces the first reply of each server that meets a condition by a flood. */
function floodInPlaceOf(isMeant: (datagram: Uint8Array, from: { port: number }) => boolean) {
  const cut = new Set<Address>();
  const prepare: Setting["prepare"] = (network, hosts) => {
    for (const { endpoint, responder } of hosts) {
      network.host(endpoint, {
        respond(datagram, from, now) {
          const isFirst = isMeant(datagram, from) && !cut.has(endpoint.address);
          if (!isFirst) return responder!.respond(datagram, from, now);
          cut.add(endpoint.address);
          forge(network, endpoint);
          return [];
        },
      });
    }
  };
  return { cut, prepare };
}

Deno.test("an inspection that a flood cancelled is repeated on a socket of its own", async () => {
  const fleet = { servers: 8, range: NEAR, seed: 3, software: ["raknetNode"] };
  const { cut, prepare } = floodInPlaceOf((_, { port }) => port >= SOLE);
  const { rows, state } = await flooded({ fleet, prepare });
  assertEquals([cut.size, rows.length, state.floods.hosts], [8, 8, 8]);
});

Deno.test("a row is flagged when a flood cancelled its follow-ups", async () => {
  const isQuery = ([first, second]: Uint8Array) => first === 0xfe && second === 0xfd;
  const { cut, prepare } = floodInPlaceOf(isQuery);
  const { rows, state } = await flooded({ prepare });
  assertEquals([cut.size, rows.length, state.floods.hosts], [8, 8, 8]);
  assertEquals(rows.filter(({ flags }) => !flags.includes("cutShort")), []);
});

Deno.test("a known server whose interview a flood cancels is interviewed on a socket of its own", async () => {
  const fleet = { servers: 1, range: { ...NEAR, end: NEAR.start + 1 }, seed: 3 };
  const [{ endpoint }] = drawFleet({ ...fleet, software: ["pocketmine"] });
  const { cut, prepare } = floodInPlaceOf(() => true);
  const { rows, state } = await flooded({
    ...{ fleet: { ...fleet, software: ["pocketmine"] }, prepare },
    ...{ protocolNames: ["query"], queriesKnown: true, first: [endpoint] },
    ports: () => [25565, endpoint.port],
    known: [{ endpoint, protocols: ["raknet", "query"] }],
  });
  assertEquals([cut.size, rows.length, state.floods.hosts], [1, 1, 1]);
  assertEquals([rows[0].protocols, rows[0].flags.includes("cutShort")], [["raknet"], true]);
});

Deno.test("a host that replies for 256 addresses from one of them does not count as flooding", async () => {
  const { rows, state } = await scanFleet({
    fleet: { servers: 1, range: { ...RANGE, end: RANGE.start + 1 }, seed: 3, software: ["bds"] },
    range: { ...RANGE, end: RANGE.start + 256 },
    protocolNames: ["raknet"],
    prepare: (network, [{ endpoint, responder }]) => {
      for (let i = 1; i < 256; i++) {
        network.host({ address: RANGE.start + i, port: 19132 }, {
          respond(datagram, from, now) {
            for (const reply of responder!.respond(datagram, from, now)) {
              network.inject(endpoint, from, reply, 1);
            }
            return [];
          },
        });
      }
    },
  });
  assertEquals(rows.map(({ host }) => host), ["127.16.0.0"]);
  assertEquals(state.floods.hosts, 0);
});
