/**
 * Measures single functions that run for every target, every datagram or every server:
 *
 *     deno task bench [--filter NAME]
 *
 * Compare the times with each other, because each time depends on the machine.
 */
import { Endpoints } from "../src/core/endpoints.ts";
import { classify } from "../src/classify/mod.ts";
import { mergeReplies } from "../src/inspect/merge.ts";
import * as formatted from "../src/core/formatted/mod.ts";
import * as lan from "../src/protocols/lan/mod.ts";
import * as query from "../src/protocols/query/mod.ts";
import * as raknet from "../src/protocols/raknet/mod.ts";
import * as slp from "../src/protocols/slp/mod.ts";
import * as sqp from "../src/protocols/sqp/mod.ts";
import { DatagramBatch, Stamp } from "../src/net/socket.ts";
import { raknetProtocol } from "../src/protocols/raknet/mod.ts";
import { queryProtocol } from "../src/protocols/query/mod.ts";
import { slpProtocol } from "../src/protocols/slp/mod.ts";
import { sqpProtocol } from "../src/protocols/sqp/mod.ts";
import { FIELDS, type ServerRecord } from "../src/core/record.ts";
import { Aliases } from "../src/scan/rows/aliases.ts";
import { ndjsonFormat } from "../src/sinks/json.ts";
import { csvFormat } from "../src/sinks/csv.ts";
import { halfSipHash, Tokens } from "../src/targets/token.ts";
import { Permutation } from "../src/targets/permutation.ts";
import { type Range, RangeSet } from "../src/targets/ranges.ts";
import { TargetSpace } from "../src/targets/space.ts";
import { repliesOfFleet, rowOf } from "./shared/rows.ts";
import { PROTOCOLS } from "../src/protocols/list.ts";

const utf8 = (text: string) => new TextEncoder().encode(text);
const SEED = 7;
/**
 * Number of calls per round. With many calls, the cost of the loop and the resolution of the clock
 * do not affect the result.
 */
const CALLS = 1000;
/** Number of servers per round, for functions that must be measured with many different rows. */
const SERVERS = 20_000;

/** Benchmarks {@linkcode CALLS} calls of a function. */
function bench(group: string, name: string, call: (i: number) => unknown): void {
  let kept: unknown;
  Deno.bench({
    name: `${name}, ${CALLS} times`,
    group,
    fn() {
      for (let i = 0; i < CALLS; i++) kept = call(i);
    },
  });
  void kept;
}

/** Benchmarks one call for {@linkcode CALLS} targets. */
function benchRow(group: string, name: string, call: () => unknown): void {
  Deno.bench({ name: `${name}, ${CALLS} times`, group, fn: () => void call() });
}

/**
 * The first position. Positions are visited in order. This one is too large for V8's small
 * integers.
 */
const POSITION = 3_000_000_000;
const order = new Permutation(2 ** 32, SEED);
const positions = Float64Array.from({ length: CALLS }, (_, i) => POSITION + i);
benchRow("targets", "Permutation.map() in 2^32", () => order.map(positions, 0, CALLS));
const targets = new Endpoints(CALLS);

const all: Range<number> = { start: 0, end: 2 ** 32 };
const exclusions = Array.from({ length: 10_000 }, (_, i) => ({
  start: i * 429_496,
  end: i * 429_496 + 1000,
}));
for (const [name, holes] of [["no exclusion", []], ["10,000 exclusions", exclusions]] as const) {
  const addresses = RangeSet.of([all]).subtract(RangeSet.of(holes));
  const space = new TargetSpace([{ addresses, ports: [19132] }], { seed: SEED });
  benchRow(
    "targets",
    `TargetSpace.fill() with ${name}`,
    () => space.fill(POSITION, CALLS, targets),
  );
}

const words = new Uint32Array([0x7f000001, 19132 | 7 << 24]);
const tokens = new Tokens(Uint8Array.of(1, 2, 3, 4, 5, 6, 7, 8));
bench("token", "HalfSipHash-2-4 of 7 bytes", (i) => halfSipHash(i, SEED, words, 2));
bench("token", "Tokens.at() an IPv4 endpoint", (i) => tokens.at(0, targets, i));

const batch = new DatagramBatch(raknetProtocol.probe!, CALLS);
const wide = new TargetSpace([{ addresses: RangeSet.of([all]), ports: [19132] }], { seed: SEED });
bench("probe", "all of it: order, address, token, stamp", (i) => {
  if (i === 0) {
    batch.clear();
    wide.fill(POSITION, CALLS, targets);
  }
  const mac = tokens.at(0, targets, i) & raknetProtocol.probe!.macMask;
  batch.add(targets, i, mac, i);
});

const pong = raknet.encodePong({
  advertise: false,
  time: 1n,
  guid: 2n,
  text: utf8(
    "MCPE;Dedicated Server;766;1.21.50;3;10;5335687477053034848;level;Survival;1;19132;19133;",
  ),
});
const challenge = query.encodeQueryChallenge({ session: 1, token: 9513307, raw: false, fill: 0 });
const pairs = Object.entries({
  hostname: "§aA Minecraft Server",
  gametype: "SMP",
  game_id: "MINECRAFT",
  version: "1.21.50",
  plugins: "Paper on 1.21.50: WorldEdit 7.3.0; LuckPerms 5.4.0",
  map: "world",
  numplayers: "2",
  maxplayers: "20",
  hostport: "25565",
  hostip: "127.0.1.1",
});
const full = query.encodeFullStat({
  session: 1,
  header: "splitnum",
  pairs: pairs.map(([key, value]) => [key, utf8(value)]),
  players: ["Steve", "Alex"].map(utf8),
});

const sqpChallenge = sqp.encodeSqpChallenge(7);
const sqpFields = [{ name: utf8("name"), type: "string" }, {
  name: utf8("id"),
  type: "u64",
}] as const;
const sqpChunks = sqp.encodeChunks({
  info: {
    ...{ online: 2, max: 16, port: 7777, name: utf8("UE4 Dedicated Server") },
    ...{ gameType: utf8("TeamDeathMatch"), buildId: utf8("001"), map: utf8("Highrise") },
  },
  rules: ["pvp", "tick", "seed"].map((name) => ({ name: utf8(name), type: "u32", value: 64 })),
  players: { fields: sqpFields, rows: ["Steve", "Alex"].map((name) => [utf8(name), 1n << 60n]) },
  metrics: [60, 0.5],
});
const sqpPackets = (size: number) => sqp.encodePackets(7, sqpChunks, size);
const sqpAnswer = (packets: readonly Uint8Array[]) =>
  sqp.decodeReply(packets.map((packet) => sqp.decodeSqpPacket(packet, 7)!), 0x17);
const [sqpOne, sqpMany] = [sqpPackets(1000), sqpPackets(40)];

const probes = [
  { protocol: raknetProtocol, reply: pong },
  { protocol: queryProtocol, reply: challenge },
  { protocol: sqpProtocol, reply: sqpChallenge },
];
for (const { protocol: { name, probe }, reply } of probes) {
  const slots = new DataView(probe!.template.slice().buffer);
  const stamp = new Stamp(probe!);
  bench("probe", `stamp a ${name} probe`, (i) => stamp.write(slots, 0, i, i));
  bench("probe", `read the token of a ${name} reply`, () => probe!.read(reply));
}

const { text } = raknet.decodePong(pong)!;
bench("decode", "a pong", () => raknet.decodePong(pong));
bench("decode", "a Bedrock advertisement", () => raknet.decodeAdvertisement(text!));
const client = { address: 0x7f000001, port: 54321 };
const security = { cookie: 0xcafebabe, publicKey: undefined };
const reply1 = raknet.encodeOpenReply1({ guid: 2n, security, mtu: 1400 });
const reply2 = raknet.encodeOpenReply2({ guid: 2n, address: client, mtu: 1400, encrypted: false });
const accepted = raknet.encodeConnected({
  type: "accepted",
  address: client,
  index: 0,
  addresses: Array(20).fill(client),
  pingTime: 1n,
  pongTime: 2n,
  flags: [],
});
const frameSet = Uint8Array.fromHex("84000000400090000000090000000000000002001122334455667700");
const ack = Uint8Array.fromHex("c000020001000005000001090000");
bench("decode", "an open connection reply 1", () => raknet.decodeOpenReply1(reply1));
bench("decode", "an open connection reply 2", () => raknet.decodeOpenReply2(reply2));
bench("decode", "a frame set", () => raknet.decodeFrameSet(frameSet));
bench("decode", "an ACK", () => raknet.decodeAcknowledgement(ack));
bench("decode", "a connection accepted, 20 addresses", () => raknet.decodeConnected(accepted));
bench("decode", "a Query challenge", () => query.decodeQueryChallenge(challenge));
bench("decode", "a full stat", () => query.decodeStat(full));
bench("decode", "an SQP challenge", () => sqp.decodeSqpChallenge(sqpChallenge));
bench("decode", "four SQP chunks in a packet", () => sqpAnswer(sqpOne));
bench("decode", `four SQP chunks in ${sqpMany.length} packets`, () => sqpAnswer(sqpMany));

const json = utf8(JSON.stringify({
  version: { name: "Paper 1.21.4", protocol: 769 },
  description: { text: "", extra: [{ text: "A Minecraft Server", color: "#ff8800", bold: true }] },
  players: { max: 20, online: 2, sample: [{ name: "Steve", id: "8667ba71" }, { name: "Alex" }] },
  favicon: `data:image/png;base64,${"iVBORw0KGgoA".repeat(400)}`,
  enforcesSecureChat: true,
}));
const response = slp.encodeStatusResponse({ json, trailing: new Uint8Array() });
const kick = slp.encodeLegacyReply({
  text: "§1\x00127\x001.21.4\x00A Minecraft Server\x002\x0020",
});
const java = slp.parseStatus(json) as slp.JavaStatus;
bench("decode", "a Java status of 5 kB", () => slp.decodeStatusResponse(response));
bench("decode", "its JSON", () => slp.parseStatus(json));
bench("decode", "a legacy reply", () => slp.decodeLegacyReply(kick));

const runs = formatted.parseFormatted("§6§lA §x§f§f§8§8§0§0Minecraft§r Server, §#12abefopen");
const sections = formatted.formatSections(runs);
bench("text", "read", () => formatted.parseFormatted(sections));
bench("text", "write in the normal form", () => formatted.formatSections(runs));
bench("text", "as plain text", () => formatted.formatPlain(runs));
bench("text", "for a terminal", () => formatted.formatAnsi(runs, "256"));
bench("text", "for a page", () => formatted.formatHtml(runs));

const announcement = lan.encodeAnnouncement({ motd: utf8("Steve - World"), address: "51234" });
const data = lan.encodeServerData({
  ...{ version: 6, name: utf8("Steve"), level: utf8("My World"), gamemode: 0, online: 1, max: 8 },
  ...{ editor: false, hardcore: false, onlineAuth: true, selfSignedAuth: true },
  ...{ nonce: utf8("ab12"), transport: 2, connection: 4, protocol: null, gameVersion: null },
});
const sealed = lan.sealPacket({ type: "response", sender: 1n, data });
bench("decode", "a Java world's announcement", () => lan.decodeAnnouncement(announcement));
bench("decode", "a NetherNet packet, unsealed", () => lan.openPacket(sealed));
bench("decode", "a NetherNet world's data", () => lan.decodeServerData(data));

const status = raknetProtocol.probe!.content!(pong).status!;
const context = {
  endpoint: { address: 0x7f000001, port: 19132 },
  seenAt: 1.8e12,
  latencyMs: 1.5,
  scanId: "01928d5e-0000-7000-8000-000000000000",
  requestedAs: null,
};
const merged = () =>
  mergeReplies([{ protocol: "raknet", statement: raknetProtocol.record(status) }], context);
const stat = {
  stat: query.decodeStat(full),
  challenge: query.decodeQueryChallenge(challenge)!,
  fullLost: false,
};
const row = merged();
const [ndjson, csv] = [ndjsonFormat(FIELDS), csvFormat(FIELDS)];
bench("row", "a status as a statement, RakNet", () => raknetProtocol.record(status));
bench("row", "a status as a statement, Query", () => queryProtocol.record(stat));
bench(
  "row",
  "a status as a statement, Java",
  () => slpProtocol.record({ kind: "status", java, trailing: 0, pongDiffers: false }),
);
const sqpStatus = { ...sqpAnswer(sqpOne), broken: false };
bench("row", "a status as a statement, SQP", () => sqpProtocol.record(sqpStatus));
bench("row", "a statement as a record", merged);
bench("row", "a record as NDJSON", () => ndjson.row(row, false));
bench("row", "a record as CSV", () => csv.row(row, false));

/** Benchmarks functions for {@linkcode SERVERS} servers, one after the other. */
function benchRows(name: string, protocol: "raknet" | "query" | "slp"): void {
  const printed = repliesOfFleet(protocol, SERVERS);
  const fresh = (): ServerRecord[] => printed.map(rowOf);
  const timed = (what: string, call: (rows: readonly ServerRecord[]) => void) =>
    Deno.bench({
      name: `${what}, ${SERVERS} ${name} rows`,
      group: name,
      fn(context) {
        const rows = fresh();
        context.start();
        call(rows);
        context.end();
      },
    });
  timed("classify", (rows) => rows.forEach(classify));
  timed("aliases", (rows) => {
    const aliases = new Aliases(new Uint8Array(8), PROTOCOLS);
    rows.forEach((row, i) => aliases.of(row, printed[i].endpoint));
  });
  Deno.bench({ name: `merge and classify, ${SERVERS} ${name} rows`, group: name }, () => {
    fresh();
  });
}
benchRows("RakNet", "raknet");
benchRows("Query", "query");
benchRows("Java", "slp");
