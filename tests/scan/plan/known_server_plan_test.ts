/** Scans that query each known server only in its known protocols until it replies. */
import { assert, assertEquals } from "@std/assert";
import { type Endpoint, endpointKey, formatEndpoint } from "../../../src/core/address.ts";
import { drawFleet } from "../../../src/fleet/simulate/draw_fleet.ts";
import type { StreamAct } from "../../../src/fleet/simulate/responder.ts";
import { PROTOCOLS } from "../../../src/protocols/list.ts";
import { readCheckpoint } from "../../../src/scan/checkpoint/checkpoint_file.ts";
import { countPlans, planFor } from "../../../src/scan/plan/known_server_plan.ts";
import { compose } from "../../../src/targets/compose.ts";
import { FakeDisk } from "../../fakes/disk.ts";
import { type Result, scanFleet, selectionFor, type Setting } from "../scan_harness.ts";
import { CHECKPOINT, PROGRAM, resumeScan, startScan } from "../checkpoint/resumable_scan.ts";

const RANGE = { start: 0x7f100000, end: 0x7f100040 };
/**
 * The weight of SQP is low, so its software is named here to be drawn as often as other software.
 */
const SOFTWARE = ["bds", "pocketmine", "vanilla", ...Array(10).fill("sqpFull")];
const FLEET = { servers: 40, range: RANGE, seed: 5, software: SOFTWARE };
/** Start time of the clock of a fake network, milliseconds. */
const START = 1000;
const PORTS = [9000, 19132, 25565];
const ORDER = PROTOCOLS.map(({ name }) => name);
const USUAL = ["raknet", "slp", "query"];

/**
 * Sets of known protocols, independent of the real ones, and the protocols of each set in which a
 * server is queried unsolicited.
 */
const KINDS: readonly (readonly [known: string[], sent: string[]])[] = [
  [["query"], ["query"]],
  [["raknet"], ["raknet"]],
  [["slp"], ["slp"]],
  [["slp", "query"], ["slp", "query"]],
  [["raknet", "query"], ["raknet", "query"]],
  [["raknet", "slp", "query"], ["raknet", "slp", "query"]],
  [["sqp"], ["sqp"]],
  [["slp", "sqp"], ["slp", "sqp"]],
  [["raknet", "sqp"], ["raknet"]],
  [[], USUAL],
];

/** Servers of a fleet with their known protocols: each kind of server with each of these sets. */
const HOSTS = drawFleet(FLEET);
const known = HOSTS.map(({ endpoint }, i) => ({ endpoint, protocols: KINDS[i % KINDS.length][0] }));
const first = known.map(({ endpoint }) => endpoint);
const expected = new Map(
  HOSTS.map(({ endpoint }, i) => [formatEndpoint(endpoint), KINDS[i % KINDS.length][1]]),
);
/**
 * The protocols in which servers are queried after a reply. Servers known for SQP get no
 * follow-ups.
 */
const replying = new Map(
  [...expected].map(([id, sent]) => [
    id,
    sent.includes("sqp")
      ? sent
      : ORDER.filter((name) => sent.includes(name) || USUAL.includes(name)),
  ]),
);
const spokenBy = new Map(
  HOSTS.map(({ endpoint, entry }) => [formatEndpoint(endpoint), Object.keys(entry.truth)]),
);

const SETTING: Setting = {
  ...{ fleet: FLEET, ports: () => PORTS, timeoutMs: 300 },
  ...{ first, known, queriesKnown: true },
};

function protocolOf(bytes: Uint8Array): string {
  if (bytes.length === 33 && bytes[0] === 1) return "raknet";
  return bytes[0] === 0xfe ? "query" : "sqp";
}

/** The protocols in which endpoints were queried, over UDP and TCP. */
function sentIn(...results: Result[]): Map<string, string[]> {
  const sent = new Map<string, Set<string>>();
  const note = (to: Endpoint, name: string) => {
    const id = formatEndpoint(to);
    sent.set(id, (sent.get(id) ?? new Set()).add(name));
  };
  for (const { network, streams } of results) {
    for (const { to, bytes } of network.sent) note(to, protocolOf(bytes));
    for (const { to } of streams.begun) note(to, "slp");
  }
  return new Map([...sent].map(([id, names]) => [id, ORDER.filter((name) => names.has(name))]));
}

/** Records the time of the first TCP reply of each host, by the text of its endpoint. */
function noteReplies(
  replied: Map<string, number>,
  ...[network, hosts, streams]: Parameters<NonNullable<Setting["prepare"]>>
) {
  for (const { endpoint, streams: door } of hosts) {
    if (door === undefined) continue;
    const note = (acts: readonly StreamAct[]) => {
      const id = formatEndpoint(endpoint);
      if (acts.length > 0 && !replied.has(id)) replied.set(id, network.now());
      return acts;
    };
    streams.host(endpoint, {
      accept: (peer) => {
        const talk = door.accept(peer);
        return { opening: talk.opening, receive: (bytes) => note(talk.receive(bytes)) };
      },
    });
  }
}

/** Queries to known servers before a reply in protocols that must not be used unsolicited. */
function unexpected({ network, streams }: Result, replied: Map<string, number>): string[] {
  for (const { way, host, at } of network.lines) {
    if (way === "out") replied.set(host, Math.min(at, replied.get(host) ?? Infinity));
  }
  const all = [
    ...network.sent.map(({ at, to, bytes }) => ({ at, to, name: protocolOf(bytes) })),
    ...streams.begun.map((one) => ({ ...one, name: "slp" })),
  ];
  return all.filter(({ at, to, name }) => {
    const id = formatEndpoint(to);
    return at < (replied.get(id) ?? Infinity) && !(expected.get(id)?.includes(name) ?? true);
  }).map(({ at, to, name }) => `${formatEndpoint(to)} ${name} at ${at} ms`);
}

/**
 * Scans known servers again, and audits the datagrams that they received. Returns the protocols of
 * these.
 */
async function rescan(over: Partial<Setting> = {}) {
  const replied = new Map<string, number>();
  const result = await scanFleet({
    ...SETTING,
    sendable: replying,
    ...over,
    prepare: (...parts) => {
      noteReplies(replied, ...parts);
      over.prepare?.(...parts);
    },
  });
  assertEquals(unexpected(result, replied), []);
  const sent = sentIn(result);
  return {
    ...result,
    sent,
    toKnown: new Map([...expected.keys()].map((id) => [id, sent.get(id)])),
  };
}

/** Servers that reply in a known protocol. */
const found = [...expected].filter(([id, sent]) =>
  sent.some((name) => spokenBy.get(id)!.includes(name))
);
/** The protocols in which known servers are queried in a complete rescan with follow-ups. */
const followed = new Map([
  ...expected,
  ...found.map(([id]) => [id, replying.get(id)!] as const),
]);

Deno.test("rescan: servers are queried in known protocols, and in others after a reply", async () => {
  const { toKnown, rows, end, state } = await rescan();
  assertEquals(end.reason, "done");
  assertEquals(toKnown, followed);
  assert(found.length > 10 && found.length < 40, String(found.length));
  assertEquals(
    rows.map(({ host, port }) => `${host}:${port}`).toSorted(),
    found.map(([id]) => id).toSorted(),
  );
  for (const { host, port, protocols } of rows) {
    const id = `${host}:${port}`;
    const both = followed.get(id)!.filter((name) => spokenBy.get(id)!.includes(name));
    assertEquals([id, protocols], [id, both]);
  }
  assertEquals(state.replies.forged, 0);
});

Deno.test("rescan: servers are queried in known protocols also without follow-ups or replies", async () => {
  const { toKnown, rows } = await rescan({ follow: false, sendable: expected });
  for (const [id, names] of toKnown) {
    assert(names!.every((name) => expected.get(id)!.includes(name)), `${id} ${names}`);
  }
  assertEquals(rows.length, (await rescan()).rows.length);
  const dead = await rescan({
    sendable: expected,
    prepare: (network, hosts, streams) => {
      for (const { endpoint } of hosts) {
        network.host(endpoint, { respond: () => [] });
        streams.host(endpoint, "timeout");
      }
    },
  });
  assertEquals([dead.rows, dead.toKnown], [[], expected]);
});

Deno.test("rescan: other targets are probed in every protocol, with and without known servers", async () => {
  const { sent, toKnown } = await rescan();
  assertEquals(toKnown, followed);
  const others = [...sent].filter(([id]) => !expected.has(id));
  assertEquals(others.length, 64 * 3 - 40);
  for (const [id, names] of others) assertEquals([id, names], [id, USUAL]);
});

/** Scans one server again whose protocols in the database are these. */
async function rescanOf(software: string, protocols: string[], over: Partial<Setting> = {}) {
  const fleet = { servers: 1, range: { start: 0x7f130000, end: 0x7f130001 }, seed: 3 };
  const [{ endpoint }] = drawFleet({ ...fleet, software: [software] });
  return await scanFleet({
    fleet: { ...fleet, software: [software] },
    ports: () => [endpoint.port],
    first: [endpoint],
    known: [{ endpoint, protocols }],
    queriesKnown: true,
    ...over,
  });
}

Deno.test("rescan: a protocol that is missing in a database is found again", async () => {
  for (const lost of ["raknet", "query"]) {
    const { rows } = await rescanOf("pocketmine", [lost === "query" ? "raknet" : "query"]);
    assertEquals(rows.map(({ protocols }) => protocols), [["raknet", "query"]], lost);
  }
  const withoutFollowUps = await rescanOf("pocketmine", ["raknet"], { follow: false });
  assertEquals(withoutFollowUps.rows.map(({ protocols }) => protocols), [["raknet"]]);
  const named = await rescanOf("pocketmine", ["raknet"], { protocolNames: ["raknet", "slp"] });
  assertEquals(named.rows.map(({ protocols }) => protocols), [["raknet"]]);
});

Deno.test("rescan: after a lost follow-up a server keeps its row, and the next rescan repeats the follow-up", async () => {
  const isQuery = ([first]: Uint8Array) => first === 0xfe;
  const { rows: [lossy] } = await rescanOf("pocketmine", ["raknet", "query"], {
    prepare: (network, [{ endpoint, responder }]) =>
      network.host(endpoint, {
        respond: (bytes, from, now) => isQuery(bytes) ? [] : responder!.respond(bytes, from, now),
      }),
  });
  assertEquals(lossy.protocols, ["raknet"]);
  const { rows } = await rescanOf("pocketmine", [...lossy.protocols]);
  assertEquals(rows.map(({ protocols }) => protocols), [["raknet", "query"]]);
});

Deno.test("rescan: servers are queried only in selected protocols, in others after a reply", async () => {
  const named = ["raknet", "query"];
  const over = { queriesKnown: false, protocolNames: named, audited: false };
  const result = await scanFleet({ ...SETTING, ...over });
  const sent = sentIn(result);
  const replied = new Set(result.rows.map(({ host, port }) => `${host}:${port}`));
  let [late, unsolicited] = [0, 0];
  for (const [i, { endpoint }] of HOSTS.entries()) {
    const id = formatEndpoint(endpoint);
    const [names] = KINDS[i % KINDS.length];
    const probed = names.length === 0
      ? named
      : expected.get(id)!.filter((name) => named.includes(name));
    const wanted = replied.has(id) ? named : probed;
    if (replied.has(id) && probed.length < 2) late++;
    if (probed.length === 0) unsolicited++;
    assertEquals([id, sent.get(id) ?? []], [id, wanted]);
  }
  assert(late > 1 && unsolicited > 3, `${late} ${unsolicited}`);
  const addresses = compose([{ range: RANGE, port: undefined }], {
    ...{ never: [], private: [], chosen: [] },
  });
  const protocols = PROTOCOLS.filter(({ name }) => named.includes(name));
  const targets = { addresses, protocols, ports: () => PORTS, known, queriesKnown: false };
  const unresponsive = [...countPlans(selectionFor(targets, { first }))].filter(([{ probed }]) =>
    probed.length === 0
  );
  assertEquals(unresponsive.reduce((sum, [, count]) => sum + count, 0), unsolicited);
});

Deno.test("rescan: a server known for SQP is never pinged, whatever protocols are selected", () => {
  const of = (known: string[], ...names: string[]) => {
    const queriesKnown = names.length === 0;
    const sent = queriesKnown ? USUAL : names;
    const protocols = PROTOCOLS.filter(({ name }) => sent.includes(name));
    const { probed, all, interviewed } = planFor(known, {
      allProtocols: PROTOCOLS,
      protocols,
      queriesKnown,
    });
    return [probed, all].map((some) => some.map(({ name }) => name).join()).join(" ") +
      (interviewed ? " interviewed" : "");
  };
  assertEquals(of(["sqp"], "raknet", "query", "sqp"), "sqp sqp,query interviewed");
  assertEquals(of(["sqp"], "raknet"), " ");
  assertEquals(of(["slp", "sqp"], "raknet", "slp"), "slp slp");
  assertEquals(of(["slp", "sqp"], "raknet", "slp", "sqp"), "sqp,slp sqp,slp interviewed");
  assertEquals(of(["query", "sqp"], "sqp"), " ");
  assertEquals(of([], "raknet", "sqp"), "raknet,sqp raknet,sqp");
  assertEquals(of(["sqp"]), "sqp sqp interviewed");
  assertEquals(of(["slp", "sqp"]), "sqp,slp sqp,slp interviewed");
  assertEquals(of(["raknet", "sqp"]), "raknet raknet,slp,query"); // RakNet suppresses SQP
  assertEquals(of(["query"]), "query query,raknet,slp");
});

Deno.test("rescan: detecting passes visit only servers that may be queried in SQP", async () => {
  const over = { queriesKnown: false, protocolNames: ["sqp"], audited: false };
  const sent = sentIn(await scanFleet({ ...SETTING, ...over }));
  for (const [i, { endpoint }] of HOSTS.entries()) {
    const [names] = KINDS[i % KINDS.length];
    const id = formatEndpoint(endpoint);
    const got = sent.get(id) ?? [];
    if (names.length === 0) assert(got.includes("raknet"), id); // like any other target
    else {assertEquals([id, got], [
        id,
        names.includes("sqp") && !names.includes("raknet") ? ["sqp"] : [],
      ]);}
  }
});

/** A prepared scan of known servers, and a log of its datagrams. */
async function overDead(protocols: string[], over: Partial<Setting>) {
  const servers = Array.from({ length: 200 }, (_, i) => ({ address: 0x7f120000 + i, port: 7 }));
  const range = { start: 0x7f120000, end: 0x7f120000 + servers.length };
  const { network, streams } = await scanFleet({
    ...{ fleet: { ...FLEET, servers: 1 }, range, ports: () => [7], retries: 0 },
    ...{ first: servers, queriesKnown: true, cooldownMs: 1000 },
    known: servers.map((endpoint) => ({ endpoint, protocols })),
    rates: { rate: 100, netRate: undefined, hostRate: undefined },
    ...over,
  });
  return { sent: network.sent, begun: streams.begun, lasted: network.now() - START };
}

Deno.test("rescan: skipped positions of a pass do not count for the rate", async () => {
  const query = await overDead(["query"], { protocolNames: ["raknet", "slp", "query"] });
  assertEquals([query.sent.length, query.begun.length], [200, 0]);
  const lasted = query.sent.at(-1)!.at - query.sent[0].at;
  assert(query.sent[0].at < START + 1, `${query.sent[0].at} ms`);
  assert(lasted >= 1900 && lasted <= 2100, `${lasted} ms`);
  const slp = await overDead(["slp"], { protocolNames: ["raknet", "slp", "query"] });
  assertEquals([slp.sent.length, slp.begun.length], [0, 200]);
  const connected = slp.begun.at(-1)!.at - slp.begun[0].at;
  assert(slp.begun[0].at <= START + 10 && connected <= 2100, `${slp.begun[0].at} ${connected}`);
});

Deno.test("rescan: no pause follows passes that send nothing", async () => {
  for (const [known, name] of [["query", "slp"], ["slp", "query"]]) {
    const over = { queriesKnown: false, protocolNames: [name], retries: 3 };
    const { sent, begun, lasted } = await overDead([known], over);
    assertEquals([sent.length, begun.length], [0, 0]);
    assert(lasted < 100, `${lasted} ms`);
  }
});

Deno.test("rescan: detecting passes of a resumed scan skip servers not queried in SQP", async () => {
  const pings = async (protocols: string[]) => {
    const over = { queriesKnown: false, protocolNames: ["raknet", "sqp"], retries: 1 };
    const { sent } = await overDead(protocols, { ...over, from: { pass: 1, position: 1 } });
    return sent.filter(({ bytes }) => bytes.length === 33).length;
  };
  assertEquals(await pings(["raknet"]), 399); // two passes, less the position after the mark
  assertEquals(await pings(["query"]), 0);
  assertEquals(await pings([]), 399 + 400);
});

Deno.test("rescan: a reply in a protocol without a query leads to no datagram", async () => {
  const i = KINDS.findIndex(([names]) => names.join() === "query");
  const at = HOSTS.findIndex(({ entry }, j) => j % KINDS.length === i && "query" in entry.truth);
  const { endpoint } = HOSTS[at];
  let pongs = 0;
  const { sent, toKnown, state } = await rescan({
    prepare: (network) =>
      network.host(endpoint, {
        respond(_, from) {
          network.inject(endpoint, from, PONG, 1);
          pongs++;
          return [];
        },
      }),
  });
  const id = formatEndpoint(endpoint);
  assertEquals([toKnown, sent.get(id)], [new Map([...followed, [id, ["query"]]]), ["query"]]);
  assert(pongs > 0, `${pongs}`);
  assertEquals([state.replies.unverified, state.replies.forged], [0, 0]);
});

const PONG = Uint8Array.fromHex(
  `1c${"00".repeat(8)}${"11".repeat(8)}00ffff00fefefefefdfdfdfd12345678`,
);

Deno.test("rescan: interrupted and resumed, a scan sends the same as without an interruption", async () => {
  const disk = new FakeDisk();
  const slow = { ...SETTING, rates: { rate: 80, netRate: undefined, hostRate: undefined } };
  const whole = (await rescan()).rows.map(({ host, port }) => `${host}:${port}`);
  const cut = [];
  for (let part = await startScan(disk, { ...slow, maxRuntimeMs: 2000 });;) {
    cut.push(part.result);
    assertEquals(part.failures, []);
    if (!part.resumable) break;
    const more = cut.length < 4 ? { ...slow, maxRuntimeMs: 2000 } : slow;
    part = (await resumeScan(disk, more))!;
  }
  assert(cut.length > 3, `${cut.length} parts`);
  const sent = sentIn(...cut);
  for (const [id, names] of followed) assertEquals([id, sent.get(id)], [id, names]);
  const rows = disk.text("rows.ndjson")!.trim().split("\n").map((row) => JSON.parse(row));
  const ids = rows.map(({ host, port }) => `${host}:${port}`);
  assertEquals(ids.toSorted(), whole.toSorted());
  assertEquals(new Set(first.map(endpointKey)).size, first.length);
});

const LISTED = drawFleet({ ...FLEET, software: ["sqpFull"] }).map(({ endpoint }) => endpoint);

/** SQP servers that no pass visits. They are interviewed one after the other, which takes 40 s. */
const UNVISITED: Setting = {
  fleet: { ...FLEET, software: ["sqpFull"] },
  faults: { loss: 0, duplication: 0, delay: 250, jitter: 0 },
  ...{
    ports: () => [9000],
    protocolNames: ["raknet"],
    retries: 0,
    cooldownMs: 100,
    concurrency: 1,
  },
  ...{ first: LISTED, queriesKnown: true },
  known: LISTED.map((endpoint) => ({ endpoint, protocols: ["sqp"] })),
};

/** Ways to stop a scan while its interviews run, after all passes. */
const STOPPED: Readonly<Record<string, () => Partial<Setting>>> = {
  "max-runtime": () => ({ maxRuntimeMs: 2000 }),
  interrupted: () => {
    const controller = new AbortController();
    const { signal } = controller;
    return { signal, prepare: (network) => void network.after(2000, () => controller.abort()) };
  },
};

for (const [reason, stopped] of Object.entries(STOPPED)) {
  Deno.test(`rescan: after an end as ${reason}, the resumed scan interviews the remaining servers`, async () => {
    const disk = new FakeDisk();
    const cut = await startScan(disk, { ...UNVISITED, ...stopped() });
    const { state, end, hosts } = cut.result;
    assert(state.written > 0 && state.written < 20, `${state.written} rows`);
    assert(end.marks.udp.pass > state.passes, `the mark is in pass ${end.marks.udp.pass}`);
    assertEquals([end.reason, cut.resumable], [reason, true]);
    assertEquals((await readCheckpoint(disk, CHECKPOINT, PROGRAM, PROTOCOLS)).state, reason);
    const rest = await resumeScan(disk, UNVISITED);
    assertEquals([rest?.result.end.reason, rest?.resumable], ["done", false]);
    const ids = disk.text("rows.ndjson")!.trim().split("\n").map((row) => JSON.parse(row))
      .map(({ host, port }) => `${host}:${port}`);
    assertEquals(ids.toSorted(), hosts.map(({ endpoint }) => formatEndpoint(endpoint)).toSorted());
  });
}

Deno.test("rescan: a scan at its time limit is done if all interviews have ended", async () => {
  const { end, state } = await scanFleet({ ...UNVISITED, concurrency: 40, maxRuntimeMs: 900 });
  assertEquals([end.reason, state.written], ["done", 40]);
});

Deno.test("rescan: a scan is not done while interviews of servers have not begun", async () => {
  const servers = Array.from({ length: 4200 }, (_, i) => ({ address: 0x7f120000 + i, port: 9000 }));
  const { network, end } = await scanFleet({
    ...{ ...UNVISITED, fleet: { ...FLEET, servers: 0 }, audited: false },
    range: { start: 0x7f120000, end: 0x7f120000 + servers.length },
    known: servers.map((endpoint) => ({ endpoint, protocols: ["sqp"] })),
    ...{ first: servers, concurrency: 4200, timeoutMs: 300, maxRuntimeMs: 200 },
    from: { pass: 2, position: 0 }, // after all passes
  });
  const sent = new Set(network.sent.map(({ to }) => endpointKey(to)));
  assert(sent.size > 4000 && sent.size < 4200, `${sent.size} servers`);
  assertEquals(end.reason, "max-runtime");
});
