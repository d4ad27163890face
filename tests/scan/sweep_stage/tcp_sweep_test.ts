/**
 * The TCP sweep and the queries of open ports, with an invented protocol.
 *
 * Covers src/scan/inspect_stage/port_queries.ts, src/scan/sweep_stage/scan_ports.ts.
 */
import { assert, assertEquals } from "@std/assert";
import { type Endpoint, endpointKey, formatEndpoint } from "../../../src/core/address.ts";
import { Malformed } from "../../../src/core/bytes.ts";
import type { StreamAct, StreamResponder } from "../../../src/fleet/simulate/responder.ts";
import { NO_USUAL_PORTS } from "../../../src/protocols/usual_ports.ts";
import { Closed, type Protocol, request } from "../../../src/protocols/protocol.ts";
import { PROTOCOLS } from "../../../src/protocols/list.ts";
import { serverId } from "../../../src/core/record.ts";
import { silentSyns } from "../../../src/scan/setup/scan_state.ts";
import { STREAM_LIMITS } from "../../../src/net/stream_link.ts";
import { FakeNetwork } from "../../../src/testing/fake_network.ts";
import { NO_STREAM_FAULTS } from "../../../src/testing/fake_streams.ts";
import { type Result, scanFleet, type Setting } from "../scan_harness.ts";

/** Requests `1`; if the server closes, requests `2` over another connection. The reply: `7`, a length, a text. */
const toy: Protocol<string> = {
  name: "slp",
  transport: "tcp",
  ...{ finds: "toys", probeText: "toys" },
  ports: NO_USUAL_PORTS,
  playerFacts: [],
  *exchange({ requestedAs }) {
    const read = () => {
      const bytes: number[] = [];
      return (piece: Uint8Array) => {
        bytes.push(...piece);
        if (bytes[0] !== 7) throw new Malformed("answer", 0);
        const whole = bytes.length >= 2 && bytes.length >= 2 + bytes[1];
        return whole ? String.fromCharCode(...bytes.slice(2)) : undefined;
      };
    };
    const name = new TextEncoder().encode(requestedAs ?? "");
    try {
      return yield* request(Uint8Array.of(1, ...name), read(), { resend: true });
    } catch (error) {
      if (!(error instanceof Closed)) throw error;
      return yield* request(Uint8Array.of(2), read(), { resend: false, fresh: true });
    }
  },
  record: (text) => ({ columns: { motd: text, name: text }, flags: [], facts: { text } }),
};

const says = (text: string) => ({
  bytes: Uint8Array.of(7, text.length, ...new TextEncoder().encode(text)),
});
const door = (respond: (question: number) => readonly StreamAct[]): StreamResponder => ({
  accept: () => ({ opening: [], receive: ([question]) => respond(question) }),
});
const modern = door(() => [says("modern")]);
const old = door((question) => question === 2 ? [says("old")] : ["close"]);
const mute = door(() => []);
const shut = door(() => ["close"]);
const rude = door(() => ["reset"]);
const http = door(() => [{ bytes: new TextEncoder().encode("HTTP/1.1 400") }, "close"]);

const BASE = 0x7f100000;
const RANGE = { start: BASE, end: BASE + 256 };
const at = (last: number, port = 25565): Endpoint => ({ address: BASE + last, port });
const EMPTY = { servers: 0, range: RANGE, seed: 1 };

function scanToy(setting: Partial<Setting> = {}): Promise<Result> {
  return scanFleet({
    fleet: EMPTY,
    protocols: [toy as Protocol],
    ports: () => [25565],
    ...setting,
  });
}

const ids = ({ rows }: Result) => rows.map(serverId).toSorted();

Deno.test("an open connection carries the query, and fallbacks use new connections", async () => {
  const result = await scanToy({
    streamFaults: { ...NO_STREAM_FAULTS, delay: 10, jitter: 10, largest: 2 },
    prepare: (_network, _hosts, streams) => {
      streams.host(at(1), modern);
      streams.host(at(2), old);
      streams.host(at(3), mute);
      streams.host(at(4), http);
      streams.host(at(5), "timeout");
      streams.host(at(6), "unreachable");
      streams.host(at(7), shut);
      streams.host(at(8), rude);
    },
  });
  assertEquals(result.rows.map(({ name }) => name).toSorted(), ["modern", "old"]);
  assertEquals(ids(result), ["127.16.0.1:25565", "127.16.0.2:25565"]);
  const to = (last: number) =>
    result.streams.begun.filter(({ to }) => to.address === at(last).address).length;
  assertEquals([1, 2, 3, 4, 5, 6, 7, 8].map(to), [1, 2, 1, 1, 2, 2, 4, 4]);
  assertEquals(result.state.tcp.counts, {
    ...{ open: 8, refused: 496, unreachable: 2, duplicate: 0, canary: 0, forged: 0 },
    ...{ cancelled: 0, valid: 2, invalid: 1, closed: 4, unresponsive: 1, unqueried: 0 },
  });
  const { pass, passes, position, size, sent } = result.state.tcp;
  assertEquals([pass, passes, position, size, sent], [2, 2, 256, 256, 508]);
  assertEquals(result.end.marks.tcp, { pass: 3, position: 0 });
  assertEquals([result.state.visited, result.state.total], [512, 512]);
  assert(result.rows.every(({ latency_ms }) => latency_ms! >= 20 && latency_ms! < 200));
  assertEquals(result.streams.open, 0);
});

Deno.test("connections are bounded, in total and per host", async () => {
  const noReply = await scanToy({
    connections: 7,
    retries: 0,
    prepare: (_network, _hosts, streams) => void (streams.absent = "timeout"),
  });
  // as many wait to be accepted as there may be connections for queries
  assertEquals([noReply.streams.most, silentSyns(noReply.state.tcp)], [7, 256]);
  const waves = Math.floor(256 / 7);
  // each ends before the system repeats its SYN packet
  assert(noReply.network.now() >= 900 * waves && noReply.network.now() < 1000 * (waves + 8));
  const ports = Array.from({ length: 50 }, (_, i) => 20000 + i);
  const one = await scanToy({
    retries: 0,
    range: { start: BASE, end: BASE + 1 },
    ports: () => ports,
    prepare: (_network, _hosts, streams) => void (streams.absent = mute),
  });
  assertEquals(one.state.tcp.counts.unresponsive, 50);
  // four at a time; after 16 to 20 without a reply, the host gets less time
  const queriedMs = 4 * 0.8 * STREAM_LIMITS.firstByteMs + (Math.ceil(50 / 4) - 5) * 1000;
  assert(one.network.now() - 1000 >= queriedMs, `${one.network.now()} ms`);
});

Deno.test("with few descriptors fewer connections are opened, and no target is skipped", async () => {
  const result = await scanToy({
    retries: 0,
    connections: 50,
    prepare: (_network, _hosts, streams) => {
      const connect = streams.connect.bind(streams);
      streams.connect = (to, signal) =>
        streams.open >= 10 ? Promise.resolve("exhausted") : connect(to, signal);
      streams.host(at(1), modern);
      streams.absent = mute;
    },
  });
  assertEquals(ids(result), ["127.16.0.1:25565"]);
  assertEquals([result.end.reason, result.state.tcp.counts.unresponsive], ["done", 255]);
});

Deno.test("the sweep waits while no descriptor is free, which is reported once", async () => {
  const troubles: string[] = [];
  const short = async (untilMs: number, stopMs: number) => {
    const network = new FakeNetwork(1);
    const controller = new AbortController();
    network.after(stopMs, () => controller.abort());
    return await scanToy({
      ...{ retries: 1, network, signal: controller.signal },
      onTrouble: (code, kind) => troubles.push(`${code} ${kind}`),
      prepare: (_network, _hosts, streams) => {
        const connect = streams.connect.bind(streams);
        streams.connect = (to, signal) =>
          network.now() < untilMs ? Promise.resolve("exhausted") : connect(to, signal);
        streams.host(at(1), modern);
      },
    });
  };
  const never = await short(Infinity, 30_000);
  assertEquals([never.state.tcp.sent, never.rows, never.end.reason], [0, [], "interrupted"]);
  const start = { pass: 1, position: 0 };
  assertEquals([never.end.marks.tcp, troubles], [start, ["exhausted waits", "EMFILE short"]]);
  const later = await short(40_000, 200_000);
  assertEquals([later.end.reason, ids(later)], ["done", ["127.16.0.1:25565"]]);
});

Deno.test("the rate limit counts connections and requests", async () => {
  const rates = { rate: 100, netRate: undefined, hostRate: undefined };
  const { network, state, streams } = await scanToy({ rates, retries: 0 });
  const canaries = state.tcp.counts.canary;
  assertEquals([state.tcp.sent, streams.begun.length], [256, 256 + canaries]);
  assert(network.now() - 1000 >= 2500 && network.now() - 1000 < 3000, `${network.now()}`);
});

Deno.test("a server on both transports is one row, whichever replies first", async () => {
  const fleet = { servers: 30, range: RANGE, seed: 3, software: ["paper"] };
  for (const delay of [0, 1, 40, 100]) {
    const result = await scanFleet({
      fleet,
      faults: { loss: 0, duplication: 0, delay, jitter: 3 },
      streamFaults: { ...NO_STREAM_FAULTS, delay: 5, jitter: 40 },
      protocols: [...PROTOCOLS.filter(({ name }) => name === "query"), toy as Protocol],
      ports: () => [25565],
      prepare: (_network, hosts, streams) => {
        for (const { endpoint } of hosts) streams.host(endpoint, modern);
      },
    });
    assertEquals(ids(result), result.hosts.map(({ endpoint }) => formatEndpoint(endpoint)).sort());
    for (const row of result.rows) {
      assertEquals([row.protocol, row.protocols, row.name], ["slp", ["slp", "query"], "modern"]);
      assertEquals(row.extras!.slp, { text: "modern" });
      assert("hostport" in row.extras!.query || Object.keys(row.extras!.query).length > 0);
      assert(row.map !== null);
    }
  }
});

Deno.test("a Query sighting is followed by a TCP connection to its port, and a refusal ends it soon", async () => {
  const fleet = { servers: 10, range: RANGE, seed: 3, software: ["pocketmine"] };
  const result = await scanFleet({
    fleet,
    protocols: [...PROTOCOLS.filter(({ name }) => name === "raknet"), toy as Protocol],
    ports: (name) => name === "slp" ? [25565] : [19132],
    prepare: (_network, [first], streams) => {
      streams.host(first.endpoint, modern);
      streams.absent = "timeout";
    },
  });
  assertEquals(result.rows.length, 10);
  assertEquals(result.rows.filter(({ protocols }) => protocols.includes("slp")).length, 1);
  const unconfirmed = await scanFleet({
    fleet,
    follow: false,
    protocols: [toy as Protocol],
    ports: () => [25565],
  });
  assertEquals(unconfirmed.rows, []);
});

Deno.test("an interrupted scan is resumed at its mark, over TCP too", async () => {
  const controller = new AbortController();
  const prepare: Setting["prepare"] = (_network, _hosts, streams) => {
    for (let i = 0; i < 256; i += 3) streams.host(at(i), modern);
    streams.absent = "timeout";
  };
  const first = await scanToy({
    connections: 20,
    signal: controller.signal,
    prepare: (network, hosts, streams) => {
      prepare!(network, hosts, streams);
      network.after(3500, () => controller.abort());
    },
  });
  assertEquals([first.end.reason, first.end.marks.tcp.pass], ["interrupted", 1]);
  assert(first.end.marks.tcp.position > 20 && first.end.marks.tcp.position < 250);
  const responders = first.rows.map(({ host }) => at(Number(host.split(".")[3])));
  const second = await scanToy({ fromTcp: first.end.marks.tcp, responders, prepare });
  assertEquals([...ids(first), ...ids(second)].toSorted(), ids(await scanToy({ prepare })));
  assert(first.rows.length > 5 && second.rows.length > 5);
});

Deno.test("a scan that ends at once leaves no connection open", async () => {
  const result = await scanToy({
    maxResults: 3,
    prepare: (_network, _hosts, streams) => {
      for (let i = 0; i < 256; i += 2) streams.host(at(i), i % 4 === 0 ? modern : mute);
    },
  });
  assertEquals([result.end.reason, result.rows.length], ["max-results", 3]);
  assertEquals(result.streams.open, 0);
});

Deno.test("an opted-out address gets no connection, and a server that opts out gets no row", async () => {
  const result = await scanToy({
    optedOut: [{ start: BASE, end: BASE + 100 }],
    prepare: (_network, _hosts, streams) => {
      streams.host(at(1), modern);
      streams.host(at(150), door(() => [says("\xa7b\xa7d")]));
    },
    optsOut: (motd) => motd.includes("d"),
  });
  assertEquals([result.rows, result.state.optedOut], [[], 1]);
  assertEquals(result.optedOut, [BASE + 150]);
  assert(result.streams.begun.every(({ to }) => to.address as number >= BASE + 100));
});

Deno.test("the requested name is in the handshake and the row", async () => {
  const result = await scanToy({
    names: new Map([[BASE + 1, "play.example.org"]]),
    prepare: (_network, _hosts, streams) => streams.host(at(1), modern),
  });
  assertEquals(result.rows[0].requested_as, "play.example.org");
  const [{ bytes }] = result.streams.written;
  assertEquals(new TextDecoder().decode(bytes.subarray(1)), "play.example.org");
});

Deno.test("after an SRV record, the row has its target, and the handshake the requested name", async () => {
  const service = { host: "mc1.example.org", port: 25570 };
  const result = await scanToy({
    names: new Map([[BASE + 1, "other.example"]]),
    services: new Map([[endpointKey(at(1, 25570)), { name: "play.example.org", service }]]),
    ports: () => [25565, 25570],
    prepare: (_network, _hosts, streams) => {
      streams.host(at(1), modern);
      streams.host(at(1, 25570), modern);
    },
  });
  const queried = result.rows.map((row) => `${row.port} ${row.requested_as}`).sort();
  assertEquals(queried, [
    "25565 other.example",
    "25570 play.example.org SRV mc1.example.org:25570",
  ]);
  const reported = result.streams.written.map(({ to, bytes }) =>
    `${to.port} ${new TextDecoder().decode(bytes.subarray(1))}`
  );
  assertEquals(reported.sort(), ["25565 other.example", "25570 play.example.org"]);
});

Deno.test("an internal error of a protocol ends the scan with that error", async () => {
  const broken: Protocol<string> = {
    ...toy,
    exchange: () => {
      throw new TypeError("a bug");
    },
  };
  const { end, streams } = await scanToy({
    protocols: [broken as Protocol],
    prepare: (_network, _hosts, streams) => streams.host(at(1), modern),
  });
  assertEquals([end.reason, end.error?.message], ["failed", "a bug"]);
  assertEquals(streams.open, 0);
});

Deno.test("an inspection waits for a descriptor, and no row is lost", async () => {
  const network = new FakeNetwork(1);
  let refused = 0;
  const { verdict, end } = await scanFleet({
    network,
    fleet: { servers: 40, range: RANGE, seed: 3, software: ["raknetNode"] },
    openExclusive: (family) => {
      if (refused++ < 200) throw Object.assign(new Error("too many"), { code: "EMFILE" });
      return network.open(family);
    },
  });
  assertEquals([end.reason, verdict.faults], ["done", []]);
  assert(refused > 200);
});

Deno.test("an endpoint that did not reply in one protocol is probed in the other, and not again in it", async () => {
  const other: Protocol<string> = {
    ...toy,
    name: "other",
    *exchange() {
      return yield* request(Uint8Array.of(9), ([first]) => {
        if (first !== 8) throw new Malformed("answer", 0);
        return "other";
      }, { resend: false });
    },
  };
  const result = await scanToy({
    protocols: [toy as Protocol, other as Protocol],
    range: { start: BASE, end: BASE + 4 },
    prepare: (_network, _hosts, streams) => {
      streams.host(at(1), door((question) => question === 9 ? [{ bytes: Uint8Array.of(8) }] : []));
      streams.host(at(2), http);
      streams.host(at(3), modern);
    },
  });
  assertEquals(result.rows.map(({ protocol }) => protocol).toSorted(), ["other", "slp"]);
  const to = (last: number) =>
    result.streams.begun.filter(({ to }) => to.address === at(last).address).length;
  assertEquals([1, 2, 3].map(to), [2, 2, 1]);
});

Deno.test("a reply that is too little evidence gives no row, and is not requested again", async () => {
  const weak = { ...toy, isWeak: () => true } as Protocol;
  const result = await scanToy({
    protocols: [weak],
    range: { start: BASE, end: BASE + 2 },
    prepare: (_network, _hosts, streams) => streams.host(at(1), modern),
  });
  assertEquals([result.rows, result.state.tcp.counts.invalid], [[], 1]);
  assertEquals(result.streams.begun.filter(({ to }) => to.address === at(1).address).length, 1);
});

Deno.test("a server that closes its first connections is found in a later pass", async () => {
  let begun = 0;
  const busy: StreamResponder = {
    accept: () => {
      const isBusy = begun++ < 2; // each exchange begins two
      return { opening: [], receive: () => isBusy ? ["close"] : [says("free")] };
    },
  };
  const result = await scanToy({
    range: { start: BASE, end: BASE + 2 },
    prepare: (_network, _hosts, streams) => streams.host(at(1), busy),
  });
  assertEquals(result.rows.map(({ name }) => name), ["free"]);
});
