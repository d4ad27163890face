import { assertEquals, assertThrows } from "@std/assert";
import { InputError } from "../../../src/core/errors.ts";
import { PROTOCOLS } from "../../../src/protocols/list.ts";
import {
  type Checkpoint,
  countersOf,
  formatCheckpoint,
  parseCheckpoint,
  sha256,
} from "../../../src/scan/checkpoint/checkpoint_file.ts";
import { newState } from "../../../src/scan/setup/scan_state.ts";

const CHECKPOINT: Checkpoint = {
  program: "1.0.0",
  savedAt: 1,
  scanId: "00000000-0000-7000-8000-000000000001",
  configuration: sha256(""),
  seed: null,
  shard: "1/1",
  key: "0123456789abcdef",
  state: "running",
  marks: { udp: { pass: 1, position: 0 }, tcp: { pass: 1, position: 0 } },
  outputs: [],
  rows: 0,
  list: { bytes: 1, sha256: sha256("") },
  counters: { ...countersOf(newState("", 0)), firstProbeAt: 1, lastRowAt: 2 },
};

/** The names of the fields of an object, with those of the objects in it. */
function namesIn(object: object): string {
  return Object.entries(object).map(([name, value]) => {
    const isObject = typeof value === "object" && value !== null && !Array.isArray(value);
    return isObject ? `${name} {${namesIn(value)}}` : name;
  }).sort().join(" ");
}

Deno.test("the fields of a checkpoint are those of its version: other fields need another version", () => {
  const [body] = formatCheckpoint(CHECKPOINT).split("sha256 ");
  const { checkpoint: version, ...fields } = JSON.parse(body);
  const canaries = "batchLost batchSquares batches firstFound lost secondFound sent stopped";
  const replies =
    "canary duplicate forged malformed omitted suppressing unsolicited unverified valid";
  const streams =
    "canary cancelled closed duplicate forged invalid open refused unqueried unreachable unresponsive valid";
  const floods = "addresses datagrams disturbed hosts passes {clean disturbed further}";
  const counters = `aliases canaries {${canaries}} dropped firstProbeAt floods {${floods}} ` +
    `inspectedInPart lastRowAt noStatus optedOut refused replies {${replies}} sent ` +
    `tcp {counts {${streams}} refused sent}`;
  const names = `configuration counters {${counters}} key list {bytes sha256} ` +
    "marks {tcp {pass position} udp {pass position}} outputs program rows savedAt scanId seed shard state";
  assertEquals([version, namesIn(fields)], [10, names]);
});

Deno.test("a checkpoint of another version is refused for its version, whatever its fields", () => {
  const whole = formatCheckpoint(CHECKPOINT);
  assertEquals(parseCheckpoint(whole, "1.0.0", "a", PROTOCOLS), CHECKPOINT);
  const [body] = whole.split("sha256 ");
  const older = JSON.parse(body);
  older.checkpoint = 8;
  delete older.counters.tcp.counts.closed;
  const text = `${JSON.stringify(older, null, 2)}\n`;
  assertThrows(
    () => parseCheckpoint(`${text}sha256 ${sha256(text)}\n`, "1.0.0", "a", PROTOCOLS),
    InputError,
    'Cannot resume "a": its format has version 8, and this program reads version 10',
  );
});
