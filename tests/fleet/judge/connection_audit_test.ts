import { assertEquals } from "@std/assert";
import { audit, type AuditRules } from "../../../src/fleet/judge/audit.ts";
import type { WitnessLine } from "../../../src/fleet/witness_log.ts";
import { slp } from "../../../src/entry/protocols.ts";

const STATUS = slp.encodeStatusRequest({ protocol: -1, host: "127.1.0.1", port: 25565 }).toHex();
const PING = slp.encodeSlpPing(7n).toHex();
const FULL_PING = slp.encodeLegacyPing({ data: { protocol: 127, host: "a", port: 1 } }).toHex();

let last = 0;

/** The log lines of a connection. */
function connection(
  at: number,
  acts: readonly (string | [host: string])[],
  { peer = "127.0.0.1:40000", closed = true } = {},
): WitnessLine[] {
  const number = ++last;
  const line = (way: "in" | "out", hex: string, event?: "open" | "closed"): WitnessLine => ({
    at,
    way,
    host: "127.1.0.1:25565",
    peer,
    lost: false,
    hex,
    size: hex.length / 2,
    connection: number,
    ...(event && { event }),
  });
  return [
    line("in", "", "open"),
    ...acts.map((act) => typeof act === "string" ? line("in", act) : line("out", act[0])),
    ...closed ? [line("in", "", "closed")] : [],
  ];
}

const faults = (lines: readonly WitnessLine[], rules: AuditRules = {}) =>
  audit(lines, rules).map((fault) => fault.replace(/^.*?: /, ""));

Deno.test("audit() accepts a status request, and then a legacy ping", () => {
  assertEquals(
    faults([
      ...connection(0, [STATUS, ["0700"], PING, [PING]]),
      ...connection(1, [STATUS]),
      ...connection(2, ["fe01", ["ff0000"]]),
      ...connection(3, ["fe"]),
      ...connection(5, [FULL_PING]),
      ...connection(4, []),
    ]),
    [],
  );
});

Deno.test("audit() reports malformed requests, and too many requests", () => {
  assertEquals(faults(connection(0, [STATUS.slice(0, -4)])).length, 1);
  assertEquals(faults(connection(0, ["feed"])), ["no complete request of 2 bytes: feed"]);
  const half16 = connection(1, ["fe01fa"]); // an incomplete ping: servers wait for the rest
  assertEquals(faults([...connection(0, [STATUS]), ...half16]).length, 1);
  assertEquals(faults(connection(0, ["fe01"])), ["a legacy ping before a status request"]);
  const early = connection(0, [STATUS, PING]);
  assertEquals(faults(early), [`a ping before the status: ${PING}`]);
  const twice = connection(0, [STATUS, ["07"], PING, [PING], PING]);
  assertEquals(faults(twice), [`more bytes than the requests: ${PING}`]);
  const again = connection(0, [STATUS, ["07"], STATUS]);
  assertEquals(faults(again), [`no ping after a status: ${STATUS}`]);
  const late = connection(0, []).concat(connection(0, [STATUS]).slice(1, 2));
  assertEquals(faults(late), ["bytes on a connection that is not open"]);
});

Deno.test("audit() reports too many connections at a time, and counts connections for caps", () => {
  const open = (peer: string) => connection(0, [STATUS], { peer, closed: false });
  const peers = [1, 2, 3, 4, 5].map((port) => `127.0.0.1:${port}`);
  assertEquals(faults(peers.slice(0, 4).flatMap(open)), []);
  assertEquals(faults(peers.flatMap(open)), ["5 connections at once"]);
  assertEquals(faults([...peers.slice(0, 4), "127.0.0.2:5"].flatMap(open)), []);
  const two = [...connection(0, [STATUS]), ...connection(1, [STATUS])];
  assertEquals(faults(two, { hostRate: 4 }), []);
  assertEquals(faults(two, { hostRate: 3 }).length, 1);
  const excluded = [{ start: 0x7f010000, end: 0x7f020000 }];
  assertEquals(faults(connection(0, []), { excluded }), ["probed although excluded"]);
});
