/** Covers src/fleet/witness_log.ts. */
import { assertEquals } from "@std/assert";
import { audit, type AuditRules } from "../../../src/fleet/judge/audit.ts";
import type { WitnessLine } from "../../../src/fleet/witness_log.ts";

const PING = "01" + "00".repeat(32);
const HANDSHAKE = "fefd0901020304";
const STAT = "fefd00010203040000002a00000000";

/** One datagram to or from a host. */
function line(at: number, hex: string, over: Partial<WitnessLine> = {}): WitnessLine {
  const rest = { host: "127.1.0.1:25565", peer: "127.0.0.1:40000", lost: false };
  return { at, way: "in", hex, size: hex.length / 2, ...rest, ...over };
}

const faults = (lines: WitnessLine[], rules: AuditRules = {}) =>
  audit(lines, rules).map((fault) => fault.replace(/^.*?: /, ""));

Deno.test("audit() accepts a polite scan", () => {
  const lines = [
    line(0, PING),
    line(1000, HANDSHAKE),
    line(1001, "090102030434320000", { way: "out" }),
    line(1002, STAT),
    line(1003, "00", { way: "out" }),
    line(1004, PING), // a follow-up may be sent at once
  ];
  assertEquals(faults(lines, { hostRate: 5, netRate: 50, excluded: [] }), []);
});

Deno.test("audit() reports datagrams of a wrong size or kind", () => {
  assertEquals(faults([line(0, PING.slice(0, 50))]).length, 1);
  assertEquals(faults([line(0, PING), line(1000, "00000000")]), [
    "a challenge of 4 bytes: 00000000",
  ]);
  assertEquals(faults([line(0, "06aa")]), ["a other of 2 bytes: 06aa"]);
});

Deno.test("audit() reports a stat request without a token of the host", () => {
  assertEquals(faults([line(0, STAT)]), ["a stat without a token of this host"]);
  const foreign = line(0, "090102030434320000", { way: "out", peer: "127.0.0.2:9" });
  assertEquals(faults([line(0, HANDSHAKE), foreign, line(1, STAT)]).length, 1);
  const raw = line(0, "09010203040000002a00", { way: "out" });
  assertEquals(faults([line(0, HANDSHAKE), raw, line(1, STAT)]), []);
  const negative = line(0, "09010203042d310000", { way: "out" });
  const shown = line(1, "fefd0001020304ffffffff00000000");
  assertEquals(faults([line(0, HANDSHAKE), negative, shown]), []);
});

Deno.test("audit() reports a datagram of another kind within a second of an unanswered one", () => {
  assertEquals(faults([line(0, PING), line(400, HANDSHAKE)]), [
    "a handshake 400 ms after an unanswered ping",
  ]);
  assertEquals(faults([line(0, PING), line(400, PING)]), []);
  const token = line(1, "090102030434320000", { way: "out" });
  assertEquals(faults([line(0, HANDSHAKE), token, line(2, STAT), line(252, HANDSHAKE)]), []);
});

/** The datagrams of an SQP exchange that starts at a time. */
const sqp = (at: number, shown = "01020304"): WitnessLine[] => [
  line(at, "0000000000"),
  line(at + 1, "0001020304", { way: "out" }),
  line(at + 2, `01${shown}000101`),
];

Deno.test("audit() reports suppressed protocols, connections included", () => {
  const host = "127.1.0.1:25565";
  const open = line(3000, "", { connection: 1, event: "open", size: 0 });
  const sent = [line(0, PING), line(1000, HANDSHAKE), ...sqp(2000), open];
  const sees = (...names: string[]) =>
    audit(sent, { sendable: new Map([[host, names]]) })
      .filter((fault) => fault.includes("but only")).map((fault) => fault.slice(host.length + 2));
  assertEquals(audit(sent, {}).filter((fault) => fault.includes("but only")), []);
  assertEquals(sees("raknet", "slp", "query", "sqp"), []);
  assertEquals(sees("raknet", "slp", "query"), [
    "a challenge, but only raknet, slp, query may be sent",
    "a query, but only raknet, slp, query may be sent",
  ]);
  assertEquals(sees("sqp"), [
    "a ping, but only sqp may be sent",
    "a handshake, but only sqp may be sent",
    "a connection, but only sqp may be sent",
  ]);
  assertEquals(sees().length, 5);
});

Deno.test("audit() reports SQP probes without a RakNet ping before, or after a RakNet reply", () => {
  assertEquals(faults([line(0, PING), ...sqp(1000)]), []);
  assertEquals(faults(sqp(0)), [
    "an SQP challenge to a port that was not pinged before",
    "an SQP query to a port that was not pinged before",
  ]);
  assertEquals(faults([line(0, PING), ...sqp(500)]), [
    "a challenge 500 ms after an unanswered ping",
  ]);
  const magic = "00ffff00fefefefefdfdfdfd12345678";
  const pong = (over = {}) => line(1, `1c${"00".repeat(16)}${magic}`, { way: "out", ...over });
  assertEquals(faults([line(0, PING), pong({ lost: true }), ...sqp(1000)]), []);
  for (const hex of [pong().hex, `01${"00".repeat(8)}${magic}`, "0901020304343200", "ff"]) {
    assertEquals(faults([line(0, PING), pong({ hex }), ...sqp(1000)]), [
      "an SQP challenge to a port that sent something other than SQP",
      "an SQP query to a port that sent something other than SQP",
    ]);
  }
  const [sendQuery, challenge, query] = sqp(1000);
  const late = pong({ at: 1001 });
  assertEquals(faults([line(0, PING), sendQuery, challenge, late, query]).length, 1);
});

Deno.test("audit() reports pings to SQP servers", () => {
  const packet = line(1003, "01010203040001", { way: "out" });
  const conversation = [line(0, PING), ...sqp(1000), packet];
  assertEquals(faults([...conversation, ...sqp(2000)]), []);
  assertEquals(faults([...conversation, line(3000, PING)]), [
    "a ping to a port that is known for SQP",
  ]);
  const knownForSqp = new Set(["127.1.0.1:25565"]);
  assertEquals(faults(sqp(0), { knownForSqp }), []);
  assertEquals(faults([line(0, PING)], { knownForSqp }).length, 1);
});

Deno.test("audit() reports an SQP query without a challenge of the host", () => {
  const without = ["a query without a challenge of this host"];
  assertEquals(faults([line(0, PING), ...sqp(1000, "04030201")]), without);
  const again = line(1003, "0101020304000102");
  assertEquals(faults([line(0, PING), ...sqp(1000), again]), without);
  const [sendQuery, reply, query] = sqp(1000);
  assertEquals(
    faults([line(0, PING), sendQuery, reply, { ...query, peer: "127.0.0.1:9" }]),
    without,
  );
});

Deno.test("audit() reports exceeded caps and probed exclusions", () => {
  const burst = Array.from({ length: 6 }, (_, i) => line(i * 100, PING));
  assertEquals(faults(burst, { hostRate: 5 }), ["more than 5 datagrams within a second"]);
  assertEquals(faults(burst, { hostRate: 6 }), []);
  const spread = burst.map((one, i) => ({ ...one, host: `127.1.0.${i}:19132` }));
  assertEquals(faults(spread, { netRate: 5 }), ["more than 5 datagrams within a second"]);
  assertEquals(faults(spread, { hostRate: 5 }), []);
  const excluded = [{ start: 0x7f010000, end: 0x7f010002 }];
  assertEquals(faults([line(0, PING)], { excluded }), ["probed although excluded"]);
});

const MAGIC = "00ffff00fefefefefdfdfdfd12345678";
const PONG = "1c" + "00".repeat(16) + MAGIC;
const REQUEST_1 = { hex: "05" + "00".repeat(63), size: 1464 };
const OUT = { way: "out" } as const;

/** A ping, its pong, an open connection request 1 and its reply. */
const opening = () => [
  line(0, PING),
  line(1, PONG, OUT),
  line(2, "", { ...REQUEST_1, peer: "127.0.0.1:40001" }),
  line(3, "06", { ...OUT, peer: "127.0.0.1:40001" }),
];

Deno.test("audit() accepts an open connection request 1, and other protocols after it", () => {
  assertEquals(faults([...opening(), line(6, HANDSHAKE)]), []);
  // Requests of sizes without a reply do not make later queries unsolicited, because the host has
  // replied before.
  const unresponsive = opening().slice(0, 3);
  const smaller = line(300, "", { ...REQUEST_1, size: 548, peer: "127.0.0.1:40001" });
  assertEquals(faults([...unresponsive, smaller, line(600, HANDSHAKE)]), []);
});

Deno.test("audit() reports open connection requests without a pong to the sender", () => {
  const [ping, pong, request] = opening();
  assertEquals(faults([ping, request]), ["a request 1 before a pong"]);
  assertEquals(faults([ping, { ...pong, lost: true }, request]).length, 1);
  assertEquals(faults([ping, { ...pong, hex: "1c" + "ab".repeat(32) }, request]).length, 1);
  assertEquals(faults([ping, { ...pong, peer: "127.0.0.9:40000" }, request]).length, 1);
  assertEquals(faults([ping, { ...pong, host: "127.1.0.2:19132" }, request]).length, 1);
});

Deno.test("audit() reports an open connection request 1 of an unusual size", () => {
  const [ping, pong] = opening();
  const [fault] = faults([ping, pong, line(2, "", { ...REQUEST_1, size: 18 })]);
  assertEquals(fault.slice(0, 22), "a request1 of 18 bytes");
});

Deno.test("audit() reports an open connection request 2", () => {
  const peer = "127.0.0.1:40001";
  const second = line(4, "07" + "00".repeat(33), { peer });
  assertEquals(
    faults([...opening(), second])[0],
    "a request 2, which leaves a connection half open",
  );
  const connecting = line(6, "84", { size: 28, peer });
  assertEquals(faults([...opening(), connecting]), ["a other of 28 bytes: 84"]);
});
