/** Covers src/scan/checkpoint/. */
import { assert, assertEquals, assertRejects } from "@std/assert";
import { formatAddress } from "../../../src/core/address.ts";
import { InputError } from "../../../src/core/errors.ts";
import { Random } from "../../../src/fleet/random.ts";
import { readCsv, readNdjson } from "../../../src/fleet/judge/verify_rows.ts";
import { serverId } from "../../../src/core/record.ts";
import { readCheckpoint } from "../../../src/scan/checkpoint/checkpoint_file.ts";
import { FakeDisk } from "../../fakes/disk.ts";
import { NO_STREAM_FAULTS } from "../../../src/testing/fake_streams.ts";
import type { Setting } from "../scan_harness.ts";
import { CHECKPOINT, OUTPUTS, PROGRAM, resumeScan, startScan } from "./resumable_scan.ts";
import { PROTOCOLS } from "../../../src/protocols/list.ts";
import { longTest } from "../../long.ts";

/** Replies arrive up to a second late, and each pass takes three seconds. */
const SETTING: Setting = {
  fleet: { servers: 40, hostile: 20, range: { start: 0x7f100000, end: 0x7f100080 }, seed: 14 },
  faults: { loss: 0, duplication: 0.1, delay: 100, jitter: 300 },
  streamFaults: { ...NO_STREAM_FAULTS, delay: 150, jitter: 300 },
  rates: { rate: 130, netRate: undefined, hostRate: undefined },
  cooldownMs: 2000,
  retries: 0,
};

/** The servers in the outputs. All outputs must have the same servers. */
function servers(disk: FakeDisk): string[] {
  const [csv, ndjson, json] = Object.keys(OUTPUTS).map((path) => disk.text(path)!);
  const ids = readNdjson(ndjson).map(serverId);
  assertEquals(readCsv(csv).map(serverId), ids);
  assertEquals(JSON.parse(json).map(serverId), ids);
  return ids.toSorted();
}

/** Every file of a scan. */
const PATHS = [...Object.keys(OUTPUTS), ...["", ".list", ".part"].map((end) => CHECKPOINT + end)];

const whole = new FakeDisk();
const first = await startScan(whole, SETTING);
const ALL = servers(whole);
const { operations } = whole;

/** Contents of disks from which a scan was resumed. */
const resumed = new Set<string>();

/**
 * Resumes the rest of a scan. Checks that no server is missing or duplicate. Equal contents of the
 * disk are resumed once: a resumed scan on the fake network depends on nothing else.
 */
async function goesOn(disk: FakeDisk, what: string): Promise<void> {
  const content = PATHS.map((path) => disk.bytes(path)?.toBase64()).join();
  if (resumed.has(content)) return;
  resumed.add(content);
  const before = disk.operations.length;
  const part = await resumeScan(disk, SETTING);
  if (part === undefined) assertEquals(disk.operations.length, before, what);
  else assertEquals([part.result.end.reason, part.failures], ["done", []], what);
  assertEquals(servers(disk), ALL, what);
}

const firstSaved = operations.findIndex(({ kind }) => kind === "rename") + 1;

Deno.test("a scan with a checkpoint finds the same servers as without, and removes the checkpoint", async () => {
  assertEquals([first.result.end.reason, first.failures], ["done", []]);
  assertEquals(ALL.length, first.result.verdict.expected);
  assert(ALL.length > 30, String(ALL.length));
  assertEquals(new Set(ALL).size, ALL.length);
  assertEquals([whole.bytes(CHECKPOINT), whole.bytes(`${CHECKPOINT}.list`)], [
    undefined,
    undefined,
  ]);
  await assertRejects(
    () => readCheckpoint(whole, CHECKPOINT, PROGRAM, PROTOCOLS),
    InputError,
    `Cannot resume "${CHECKPOINT}": there is no such file; a scan that finishes removes its`,
  );
  assertEquals(await resumeScan(whole, SETTING), undefined);
  assert(operations.filter(({ kind }) => kind === "rename").length >= 5, "saved each second");
});

longTest(
  "a scan killed at any file operation is resumed with every server once, in all outputs",
  async () => {
    for (let count = firstSaved; count <= operations.length; count++) {
      await goesOn(FakeDisk.after(operations, count), `${count}: ${operations[count]?.kind}`);
    }
  },
);

longTest("a scan killed during a write can be resumed", async () => {
  const random = new Random(5);
  const writes = operations.flatMap(({ kind }, i) => kind === "write" && i > firstSaved ? [i] : []);
  for (const count of writes) {
    const { bytes } = operations[count] as { bytes: Uint8Array };
    const torn = random.below(bytes.length);
    await goesOn(FakeDisk.after(operations, count, torn), `${count}, ${torn} bytes of it`);
  }
});

longTest("a scan killed at any byte of rows, list or checkpoint can be resumed", async () => {
  const middle = operations.findIndex(({ kind }, i) =>
    kind === "rename" && i > operations.length / 2
  );
  for (let count = middle, seen = 0; seen < 6; count++) {
    const operation = operations[count];
    if (operation.kind !== "write") continue;
    seen++;
    const step = operation.bytes.length > 200 ? 97 : 7;
    for (let torn = 0; torn <= operation.bytes.length; torn += step) {
      await goesOn(FakeDisk.after(operations, count, torn), `${count}, ${torn} bytes of it`);
    }
  }
});

longTest("a scan can be resumed after a system crash that loses unsynced data", async () => {
  const random = new Random(6);
  for (let i = 0; i < 60; i++) {
    const count = firstSaved + random.below(operations.length - firstSaved + 1);
    await goesOn(FakeDisk.crashed(operations, count, random), `crash ${i} at ${count}`);
  }
});

longTest("a scan that is killed repeatedly finishes", async () => {
  const random = new Random(7);
  let disk = FakeDisk.after(operations, firstSaved + 10);
  let rounds = 0;
  for (let part = 0.02;; part += 0.02, rounds++) {
    const begun = disk.operations.length;
    if (await resumeScan(disk, SETTING) === undefined) break;
    // Each run lasts for a fraction of the previous operations, and longer each time.
    const did = disk.operations.length - begun;
    const lived = begun + Math.ceil(did * Math.min(1, part + random.below(100) / 1000));
    disk = FakeDisk.after(disk.operations, lived, random.below(40));
  }
  assertEquals(servers(disk), ALL);
  assert(rounds > 10, `${rounds} rounds`);
});

Deno.test("an output that is shorter than its checkpoint is refused, and nothing is truncated", async () => {
  const disk = FakeDisk.after(operations, Math.floor(operations.length * 0.8));
  const { outputs } = await readCheckpoint(disk, CHECKPOINT, PROGRAM, PROTOCOLS);
  disk.put("rows.ndjson", disk.bytes("rows.ndjson")!.subarray(0, outputs[1]! - 1));
  const before = ["rows.csv", "rows.ndjson", `${CHECKPOINT}.list`].map((path) => disk.text(path));
  await assertRejects(() => resumeScan(disk, SETTING), InputError, '"rows.ndjson" has ');
  const after = ["rows.csv", "rows.ndjson", `${CHECKPOINT}.list`].map((path) => disk.text(path));
  assertEquals(after, before);
});

/** A disk at a time when the list contained servers that the checkpoint did not count. */
async function aheadOfItsCheckpoint() {
  for (let count = operations.length;; count--) {
    const disk = FakeDisk.after(operations, count);
    const named = (disk.text(`${CHECKPOINT}.list`) ?? "").split("\n")
      .filter((line) => line.startsWith("+ ")).flatMap((line) => line.split(" ").slice(2));
    if (disk.bytes(CHECKPOINT) === undefined) continue;
    const { rows } = await readCheckpoint(disk, CHECKPOINT, PROGRAM, PROTOCOLS);
    if (rows >= 5 && named.length >= rows + 4) return { disk, rows, named };
  }
}

Deno.test("rows after the checkpoint that a database lacks are written again, and earlier missing ones refused", async () => {
  const { disk, rows, named } = await aheadOfItsCheckpoint();
  const missing = new Set(named.slice(-2));
  const begun = disk.operations.length;
  const part = await resumeScan(disk, SETTING, missing);
  assertEquals([part!.result.end.reason, servers(disk)], ["done", ALL]);
  const again = disk.operations.slice(begun).map((one) =>
    one.kind === "write" ? new TextDecoder().decode(one.bytes) : ""
  ).join("");
  const isAgain = (id: string) => again.includes(`"host":"${id.split(":")[0]}"`);
  assertEquals(named.slice(-2).map(isAgain), [true, true]);
  assertEquals(named.slice(0, rows).filter(isAgain), []);

  const { disk: other } = await aheadOfItsCheckpoint();
  const paths = [...Object.keys(OUTPUTS), `${CHECKPOINT}.list`];
  const before = paths.map((path) => other.text(path));
  await assertRejects(
    () => resumeScan(other, SETTING, new Set([named[0], ...missing])),
    InputError,
    `Cannot resume: "rows.csv" lacks 1 of the ${rows} rows that the scan had written; restore it`,
  );
  assertEquals(paths.map((path) => other.text(path)), before);
});

/** A scan on a disk with a failing operation. */
async function failing(prepare: (disk: FakeDisk) => void) {
  const disk = new FakeDisk();
  prepare(disk);
  const part = await startScan(disk, SETTING);
  return { disk, ...part };
}

/** The name of the file of an operation. */
const isList = (path: string) => path === `${CHECKPOINT}.list`;
const isPart = (path: string) => path === `${CHECKPOINT}.part`;

Deno.test("a checkpoint that cannot be saved is reported once, and the scan continues", async () => {
  for (const where of [isList, isPart]) {
    let calls = 0;
    const { disk, result, failures } = await failing((disk) => {
      disk.fault = ({ kind }, path) =>
        kind === "write" && where(path) && ++calls > 4
          ? new Error("the disk is broken")
          : undefined;
    });
    assertEquals([result.end.reason, failures], ["done", ["the disk is broken"]]);
    assertEquals(servers(disk), ALL);
    assert(calls > 8, "it was trying again");
    // The last saved checkpoint is still valid, and partial files do not disturb.
    disk.fault = () => undefined;
    await goesOn(disk, "after the fault");
  }
});

Deno.test("a deleted list file is reported once, and the scan cannot be resumed", async () => {
  const disk = new FakeDisk();
  const controller = new AbortController();
  const { result, failures, resumable } = await startScan(disk, {
    ...SETTING,
    signal: controller.signal,
    prepare: (network) => {
      network.after(3000, () => void disk.remove(`${CHECKPOINT}.list`));
      network.after(6000, () => controller.abort());
    },
  });
  assertEquals([result.end.reason, resumable], ["interrupted", false]);
  assertEquals(failures, ["the list beside it has changed: it was deleted"]);
  const kept = await startScan(new FakeDisk(), { ...SETTING, maxRuntimeMs: 3000 });
  assertEquals([kept.result.end.reason, kept.resumable], ["max-runtime", true]);
});

Deno.test("a list file with temporary write errors has no gap", async () => {
  let calls = 0;
  const { disk, result, failures } = await failing((disk) => {
    disk.fault = ({ kind }, path) =>
      kind === "write" && isList(path) && ++calls > 5 && calls < 12 ? new Error("full") : undefined;
  });
  assertEquals([result.end.reason, failures], ["done", ["full"]]);
  assertEquals([servers(disk), disk.bytes(CHECKPOINT)], [ALL, undefined]);
  for (let count = firstSaved; count <= disk.operations.length; count += 3) {
    await goesOn(FakeDisk.after(disk.operations, count), `${count}`);
  }
});

Deno.test("a full disk ends a scan with a valid checkpoint; with free space the scan is resumed", async () => {
  const needed = Object.keys(OUTPUTS).reduce((sum, path) => sum + whole.bytes(path)!.length, 0);
  for (const share of [0.1, 0.3, 0.5, 0.7, 0.9]) {
    const { disk, result } = await failing((disk) => disk.room = Math.floor(share * needed));
    assertEquals(result.end.reason, "failed");
    assert(/No space left/.test(result.end.error!.message));
    const { state } = await readCheckpoint(disk, CHECKPOINT, PROGRAM, PROTOCOLS);
    assert(
      state === "failed" || state === "running",
      "the last save may have failed for lack of space",
    );
    disk.room = Infinity;
    await goesOn(disk, `${share} of the room`);
  }
});

Deno.test("a resumed scan does not query addresses that opted out", async () => {
  const list = (disk: FakeDisk) => disk.text(`${CHECKPOINT}.list`) ?? "";
  const saved = operations.map((_, count) => FakeDisk.after(operations, count))
    .find((disk) => list(disk).includes("! "))!;
  const [, address] = /^! (.*)$/m.exec(list(saved))!;
  const part = await resumeScan(saved, {
    ...SETTING,
    prepare: (network) => void (network.record = true),
  });
  const { network: { sent } } = part!.result;
  assert(sent.length > 100);
  assertEquals(sent.filter(({ to }) => formatAddress(to.address) === address), []);
});

Deno.test("counters continue in a resumed scan", async () => {
  const half = FakeDisk.after(operations, Math.floor(operations.length / 2));
  const { counters, rows } = await readCheckpoint(half, CHECKPOINT, PROGRAM, PROTOCOLS);
  const part = await resumeScan(half, SETTING);
  const { state } = part!.result;
  assertEquals(state.written, ALL.length);
  assert(rows > 5 && counters.sent > 20 && state.sent > counters.sent);
  assertEquals(state.firstProbeAt, first.result.state.firstProbeAt);
});

longTest("a changed clock and a suspended machine are reported and change no row", async () => {
  for (const jump of [-3.6e6, 3.6e6]) {
    const jumps: number[] = [];
    const disk = new FakeDisk();
    const part = await startScan(disk, {
      ...SETTING,
      onClockJump: (ms) => jumps.push(ms),
      prepare: (network) =>
        void network.after(1500, () => {
          const { wall } = network;
          network.wall = () => wall.call(network) + jump;
        }),
    });
    assertEquals([part.result.end.reason, jumps], ["done", [jump]]);
    assertEquals(servers(disk), ALL);
    for (let count = firstSaved; count <= disk.operations.length; count += 5) {
      await goesOn(FakeDisk.after(disk.operations, count), `${count}, ${jump}`);
    }
  }
});
