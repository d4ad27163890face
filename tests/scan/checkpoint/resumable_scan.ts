/** Scans on a fake network that write a checkpoint to a fake disk, and are resumed from it. */
import { FIELDS } from "../../../src/core/record.ts";
import { countFrom, readCheckpoint } from "../../../src/scan/checkpoint/checkpoint_file.ts";
import { WrittenRows, writtenRowsPath } from "../../../src/scan/checkpoint/written_rows.ts";
import { resumeRows } from "../../../src/scan/checkpoint/resumed_rows.ts";
import {
  CheckpointWriter,
  type WriterOptions,
} from "../../../src/scan/checkpoint/checkpoint_writer.ts";
import { newState, type ScanState } from "../../../src/scan/setup/scan_state.ts";
import { csvFormat } from "../../../src/sinks/csv.ts";
import { jsonFormat, ndjsonFormat } from "../../../src/sinks/json.ts";
import { TextSink } from "../../../src/sinks/sink.ts";
import { FakeDisk } from "../../fakes/disk.ts";
import { FakeNetwork } from "../../../src/testing/fake_network.ts";
import { type Result, SCAN_ID, scanFleet, type Setting } from "../scan_harness.ts";
import { PROTOCOLS } from "../../../src/protocols/list.ts";

export const CHECKPOINT = "rows.csv.checkpoint";
export const PROGRAM = "1.2.3";
const KEY = new Uint8Array(8).fill(7);
export const OUTPUTS = {
  "rows.csv": csvFormat(FIELDS),
  "rows.ndjson": ndjsonFormat(FIELDS),
  "rows.json": jsonFormat(FIELDS),
};
const START = { pass: 1, position: 0 };

/** The result of a part of a scan. */
export interface Part {
  readonly result: Result;
  /** The reasons of failed saves. */
  readonly failures: readonly string[];
  /** Whether the scan can be resumed. */
  readonly resumable: boolean;
}

function writerOptions(
  disk: FakeDisk,
  network: FakeNetwork,
  failures: string[],
): Omit<WriterOptions, "sinks" | "offsets"> {
  return {
    disk,
    path: CHECKPOINT,
    clock: network,
    identity: { program: PROGRAM, scanId: SCAN_ID, seed: 5, shard: "1/1", key: KEY.toHex() },
    configuration: '{"words":["127.16.0.0/22"]}',
    onFailure: ({ message }) => failures.push(message),
  };
}

/** Runs a part of a scan, and closes its outputs. */
async function run(setting: Setting, network: FakeNetwork, keep: {
  readonly sinks: readonly TextSink[];
  readonly writer: CheckpointWriter;
  readonly state: ScanState;
}): Promise<Omit<Part, "failures">> {
  const { sinks, writer: checkpoint, state } = keep;
  const result = await scanFleet({ ...setting, network, sinks, checkpoint, key: KEY, state });
  for (const sink of sinks) await sink[Symbol.asyncDispose]();
  return { result, resumable: await checkpoint.end(result.end.marks, state) };
}

/** Starts a scan. */
export async function startScan(disk: FakeDisk, setting: Setting): Promise<Part> {
  const network = new FakeNetwork(1, setting.faults);
  const failures: string[] = [];
  const claimed = await WrittenRows.claim(disk, writtenRowsPath(CHECKPOINT));
  const sinks = Object.entries(OUTPUTS).map(([path, format]) =>
    new TextSink(disk.output(path), format)
  );
  const state = newState(SCAN_ID, network.now());
  const options = { ...writerOptions(disk, network, failures), sinks, offsets: [0, 0, 0] };
  const writer = await CheckpointWriter.start(options, claimed, { udp: START, tcp: START }, state);
  return { ...await run(setting, network, { sinks, writer, state }), failures };
}

/**
 * Resumes a scan; `undefined` when the scan has finished and therefore has no checkpoint.
 *
 * @param missing Servers whose rows are missing in outputs, as may happen in a database. Default:
 * none.
 */
export async function resumeScan(
  disk: FakeDisk,
  setting: Setting,
  missing?: ReadonlySet<string>,
): Promise<Part | undefined> {
  const network = new FakeNetwork(2, setting.faults);
  const failures: string[] = [];
  if (disk.bytes(CHECKPOINT) === undefined) return undefined;
  const checkpoint = await readCheckpoint(disk, CHECKPOINT, PROGRAM, PROTOCOLS);
  const left = await resumeRows(disk, writtenRowsPath(CHECKPOINT), checkpoint);
  const paths = Object.keys(OUTPUTS);
  const cut = left.cut(
    paths.map((name) => ({ name: `"${name}"`, length: disk.bytes(name)?.length ?? 0, missing })),
  );
  const sinks: TextSink[] = [];
  for (const [i, [path, format]] of Object.entries(OUTPUTS).entries()) {
    const output = disk.output(path);
    await output.truncate(cut.offsets[i]!);
    sinks.push(new TextSink(output, format, cut.offsets[i]!));
  }
  const list = await cut.open();
  const state = newState(SCAN_ID, network.now());
  const listed = { rows: cut.responders.length, optOuts: left.optedOut.length };
  countFrom(state, checkpoint.counters, listed);
  const options = { ...writerOptions(disk, network, failures), sinks, offsets: cut.offsets };
  const writer = CheckpointWriter.resume(options, list, cut.responders.length);
  const { udp: from, tcp: fromTcp } = checkpoint.marks;
  const optedOut = left.optedOut.map((address) => ({ start: address, end: Number(address) + 1 }));
  await writer.save(checkpoint.marks, state);
  const part = await run(
    { ...setting, from, fromTcp, optedOut, responders: cut.responders },
    network,
    { sinks, writer, state },
  );
  return { ...part, failures };
}
