/** Covers src/core/checked_values.ts. */
import { assert, assertEquals, assertMatch } from "@std/assert";
import {
  formatConfiguration,
  lastingOptions,
  orderDigest,
} from "../../../src/app/resume/scan_configuration.ts";
import { optionsOf } from "../../../src/app/options/option_table.ts";
import { readArgs } from "../../../src/cli/options/parse_arguments.ts";
import { planOutputs } from "../../../src/app/outputs/plan_outputs.ts";
import { planScan } from "../../../src/app/targets/scan_plan.ts";
import { checkMarks, readResumed, resumeLine } from "../../../src/app/resume/read_resumed_scan.ts";
import { scanChoice, scanSelection } from "../../../src/app/scan/scan_choice.ts";
import { scanLimits } from "../../../src/app/engines/scan_rates.ts";
import { planDatabases } from "../../../src/app/databases/database_plan.ts";
import { spillPath } from "../../../src/app/scan/scan_databases.ts";
import { summary } from "../../../src/cli/term/scan_summary.ts";
import { composeTargets } from "../../../src/app/targets/find_targets.ts";
import { readOptions } from "../../cli/command_line.ts";
import { InputError } from "../../../src/core/errors.ts";
import { systemClock } from "../../../src/net/clock.ts";
import { emptyRecord, FIELDS, serverId } from "../../../src/core/record.ts";
import { countFrom, readCheckpoint, sha256 } from "../../../src/scan/checkpoint/checkpoint_file.ts";
import { WrittenRows, writtenRowsPath } from "../../../src/scan/checkpoint/written_rows.ts";
import { CheckpointWriter } from "../../../src/scan/checkpoint/checkpoint_writer.ts";
import { newState } from "../../../src/scan/setup/scan_state.ts";
import { systemDisk } from "../../../src/sinks/file_operations.ts";
import { ndjsonFormat } from "../../../src/sinks/json.ts";
import { openFile } from "../../../src/sinks/file_output.ts";
import { TextSink } from "../../../src/sinks/sink.ts";
import { PROTOCOLS } from "../../../src/protocols/list.ts";
import { longTest } from "../../long.ts";

type Json = null | boolean | number | string | Json[] | { [name: string]: Json };

const SCAN_ID = "01928d5e-0000-7000-8000-000000000000";
const OTHER_ID = "01928d5e-1234-7000-8000-000000000000";
const ARGS = [
  ...["127.16.0.0/24", "127.16.1.1:25570", "--exclude", "127.16.0.9", "--seed", "5"],
  ...["--rate", "100", "--verify", "--retries", "1"],
];

/** An interrupted scan: its checkpoint and its list. */
async function interrupted(folder: string): Promise<{ path: string; output: string }> {
  const output = `${folder}/rows.ndjson`;
  const path = `${output}.checkpoint`;
  const given = lastingOptions(readArgs("scan", [...ARGS, "-o", output]), 5, optionsOf("scan"));
  const choice = scanChoice(readOptions("scan", given), () => 5);
  const found = {
    inclusions: [
      { range: { start: 0x7f100000, end: 0x7f100100 }, port: undefined },
      { range: { start: 0x7f100101, end: 0x7f100102 }, port: 25570 },
    ],
    excluded: [{ start: 0x7f100009, end: 0x7f10000a }],
    known: [{ endpoint: { address: 0x7f100007, port: 25565 }, protocols: ["slp", "query"] }],
    names: new Map([[0x7f100101, "a.example"]]),
    services: new Map([[0x7f100101 * 65536 + 25570, {
      name: "a.example",
      service: { host: "mc.a.example", port: 25570 },
    }]]),
  };
  const { targets } = composeTargets(found, []);
  const responders = [{ address: 0x7f100005, port: 19132 }];
  const order = orderDigest(targets, choice);
  const configuration = formatConfiguration({
    ...{ scanId: SCAN_ID, given, found, responders, order },
  });
  const format = ndjsonFormat(FIELDS);
  const opened = await openFile(output, format, false);
  await using sink = new TextSink(opened.output, format);
  const state = { ...newState(SCAN_ID, 0), firstProbeAt: 1.8e12, lastRowAt: 1.8e12, sent: 7 };
  const start = { pass: 1, position: 0 };
  const writer = await CheckpointWriter.start(
    {
      ...{ disk: systemDisk, path, clock: systemClock, configuration },
      identity: {
        ...{ program: "1.2.3", scanId: SCAN_ID, seed: 5, shard: "1/1" },
        key: "0123456789abcdef",
      },
      sinks: [sink],
      offsets: [0],
      onFailure: (error) => {
        throw error;
      },
    },
    await WrittenRows.claim(systemDisk, writtenRowsPath(path)),
    { udp: start, tcp: start },
    state,
  );
  for (const host of [1, 2]) {
    const records = [emptyRecord({ address: 0x7f100000 + host, port: 19132 }, 5)];
    await sink.write(records);
    await writer.accepted(records.map(serverId));
  }
  await writer.optedOut(0x7f100003);
  const marks = { udp: { pass: 2, position: 100 }, tcp: { pass: 3, position: 0 } };
  await writer.end(marks, { ...state, ended: "interrupted" });
  return { path, output };
}

/** Reads a checkpoint, and shows everything from it. The outputs are not truncated. */
async function resume(path: string, folder: string): Promise<void> {
  const checkpoint = await readCheckpoint(systemDisk, path, "1.2.3", PROTOCOLS);
  const resumed = await readResumed(
    path,
    checkpoint,
    readArgs("scan", ["--resume", path]),
    optionsOf("scan"),
    PROTOCOLS,
  );
  await using left = resumed.writtenRows;
  const { given, configuration } = resumed;
  const options = readOptions("scan", given);
  const choice = scanChoice(options, () => 5, checkpoint.marks);
  const outputs = planOutputs(options, undefined);
  const stores = planDatabases(options);
  const named = composeTargets(configuration.found, []);
  const limits = scanLimits(options, named.targets, choice);
  const plan = planScan({ ...scanSelection(choice, named), limits });
  checkMarks(checkpoint.marks, plan.passes, path);
  const files = outputs.map((output) => output.path);
  const spill = spillPath([`${folder}/x.csv`], checkpoint.scanId);
  assert(spill.startsWith(`${folder}/spill-0`), spill);
  const { responders, offsets } = left.cut(
    [...files, ...stores.locations.map(() => "-")]
      .map((name) => ({ name, length: name === "-" ? null : 1e9 })),
  );
  assert(offsets.every((offset) => offset === null || offset >= 0));
  const state = newState(checkpoint.scanId, 0);
  // three rows were written after the checkpoint was saved
  const optOuts = checkpoint.counters.optedOut + 3;
  countFrom(state, checkpoint.counters, { rows: responders.length, optOuts });
  assertEquals([state.written, state.optedOut], [responders.length, optOuts]);
  const lines = [
    resumeLine(resumed, state.written, plan),
    ...summary(state, { reason: "done", marks: checkpoint.marks }, {
      outputs: stores.locations,
      databases: stores.locations,
      retries: 1,
      given: new Map(),
      clock: systemClock,
    }),
  ];
  for (const line of lines) assertEquals(/NaN|undefined|Infinity|object/.exec(line), null, line);
}

/** Returns whether a checkpoint is accepted, or the line of the error. */
async function outcome(path: string, folder: string): Promise<string> {
  try {
    await resume(path, folder);
    return "taken";
  } catch (error) {
    if (!(error instanceof InputError)) throw error;
    return error.message;
  }
}

const signed = (body: string) => `${body}sha256 ${sha256(body)}\n`;

/** Writes an edited checkpoint and list file with correct checksums. */
async function forge(path: string, checkpoint: Json, lines: readonly string[]): Promise<void> {
  const list = lines.map((line) => `${line}\n`).join("");
  const edited = structuredClone(checkpoint) as Record<string, Json>;
  if (typeof edited.list === "object" && edited.list !== null && "sha256" in edited.list) {
    const { bytes } = edited.list;
    const known = new TextEncoder().encode(list).subarray(0, Math.max(0, Number(bytes)));
    if (edited.list.sha256 === "list") edited.list.sha256 = sha256(known);
  }
  if (edited.configuration === "head") edited.configuration = sha256(`${lines[0]}\n`);
  await Deno.writeTextFile(path, signed(`${JSON.stringify(edited, null, 2)}\n`));
  await Deno.writeTextFile(`${path}.list`, list);
}

const HOSTILE: readonly Json[] = [
  ...[-1, -7, 0, 1, 2, 1.5, 2 ** 53, 1e300, null, true, false, "", "x", "0", "1:0", "../../x"],
  ...["/etc/passwd", "\u0000\u001b[2J\u202e\n", "9".repeat(400), "__proto__", [], [null], [-5]],
  ...[["x"], [[[]]], {}, { x: 1 }, { __proto__: 1, length: 1e9 }, [1, 2, 3], ["a", "b"], ["true"]],
];

/** Every place in a value, with a function that sets another value there; and unknown fields. */
function* placesOf(value: Json, path: readonly (string | number)[] = []): Generator<
  readonly (string | number)[]
> {
  if (path.length > 0) yield path;
  if (typeof value !== "object" || value === null) return;
  for (const name of Array.isArray(value) ? value.keys() : Object.keys(value)) {
    yield* placesOf((value as Record<string, Json>)[name], [...path, name]);
  }
  if (!Array.isArray(value)) yield [...path, "unknown"];
}

function withValue(value: Json, [name, ...rest]: readonly (string | number)[], to?: Json): Json {
  const copy = structuredClone(value) as Record<string | number, Json>;
  if (rest.length > 0) copy[name] = withValue(copy[name], rest, to);
  else if (to === undefined) delete copy[name];
  else copy[name] = to;
  return copy as Json;
}

/** Runs a test with an interrupted scan. */
async function withInterrupted(
  test: (scan: {
    readonly folder: string;
    readonly path: string;
    readonly checkpoint: Record<string, Json>;
    readonly lines: readonly string[];
  }) => Promise<void>,
): Promise<void> {
  const folder = await Deno.makeTempDir();
  try {
    const { path } = await interrupted(folder);
    const [body] = (await Deno.readTextFile(path)).split("sha256 ");
    const lines = (await Deno.readTextFile(`${path}.list`)).trimEnd().split("\n");
    const checkpoint = JSON.parse(body);
    // These two are replaced by new checksums.
    checkpoint.list.sha256 = "list";
    checkpoint.configuration = "head";
    assertEquals(await outcome(path, folder), "taken");
    await test({ folder, path, checkpoint, lines });
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

Deno.test("a checkpoint with other fields, or with another list, has another version", () =>
  withInterrupted(({ checkpoint, lines }) => {
    const head: Json = JSON.parse(lines[0].slice("blocksweep rows ".length));
    const names = [checkpoint, head].map((json) =>
      [...new Set(placesOf(json).map((place) => place.map(nameOf).join(".")))].toSorted().join("\n")
    );
    const { checkpoint: version } = checkpoint as { readonly checkpoint: number };
    const [saved, list] = names.map((text) => sha256(text).slice(0, 12));
    const wanted = { version: 10, saved: "24af018f3571", list: "0562a4b420ca" };
    const advice =
      "raise VERSION in src/scan/checkpoint/checkpoint_file.ts, and write the new digests here";
    assertEquals({ version, saved, list }, wanted, `${advice}:\n${names.join("\n\n")}`);
    return Promise.resolve();
  }));

/** The name of a part of a place. All items of a list have the same name. */
function nameOf(part: string | number): string {
  return typeof part === "number" ? "#" : part;
}

longTest(
  "a checkpoint that was edited together with its checksum is refused in one line, or valid",
  () =>
    withInterrupted(async ({ folder, path, checkpoint, lines }) => {
      await forge(path, checkpoint, lines);
      assertEquals(await outcome(path, folder), "taken");
      let [taken, refused] = [0, 0];
      for (const place of placesOf(checkpoint)) {
        for (const value of [...HOSTILE, undefined]) {
          await forge(path, withValue(checkpoint, place, value), lines);
          const what = await outcome(path, folder);
          if (what === "taken") taken++;
          else {
            refused++;
            assertMatch(what, /^Cannot resume "/, `${place} = ${JSON.stringify(value)}`);
          }
        }
      }
      assert(taken > 50 && refused > 1000, `${taken} taken, ${refused} refused`);
    }),
);

longTest(
  "a list file that was edited together with its checksums is refused in one line, or valid",
  () =>
    withInterrupted(async ({ folder, path, checkpoint, lines }) => {
      const [head, ...rows] = lines;
      const configuration: Json = JSON.parse(head.slice("blocksweep rows ".length));
      let [taken, refused] = [0, 0];
      const judge = async (edited: readonly string[], name: string) => {
        const bytes = new TextEncoder().encode(edited.join("\n") + "\n").length;
        await forge(path, withValue(checkpoint, ["list", "bytes"], bytes), edited);
        const what = await outcome(path, folder);
        if (what === "taken") taken++;
        else {
          refused++;
          assertMatch(what, /^Cannot /, name);
        }
      };
      for (const place of placesOf(configuration)) {
        for (const value of [...HOSTILE, undefined]) {
          const edited = JSON.stringify(withValue(configuration, place, value));
          await judge(
            [`blocksweep rows ${edited}`, ...rows],
            `${place} = ${JSON.stringify(value)}`,
          );
        }
      }
      for (const line of ["", "+", "+ 1", "+ x 127.0.0.1:1", "! x", "? 1", "+ - 127.0.0.1:1"]) {
        for (let at = 0; at <= rows.length; at++) {
          await judge([head, ...rows.toSpliced(at, 1, line)], line);
        }
      }
      for (const edited of ["", "blocksweep rows ", "blocksweep rows {", "{}"]) {
        await judge([edited, ...rows], edited);
      }
      assert(taken > 50 && refused > 1000, `${taken} taken, ${refused} refused`);
    }),
);

Deno.test("errors name the field, its value and the expected value", () =>
  withInterrupted(async ({ folder, path, checkpoint, lines }) => {
    const count = "must be a whole number from 0 to";
    const cases: [place: (string | number)[], value: Json | undefined, message: string][] = [
      [["outputs", 0], -5, `outputs[0] is -5, and ${count}`],
      [["outputs"], [1, 2], "the lengths of outputs are [1,2] in its checkpoint, and ["],
      [["marks", "udp", "position"], -7, `marks.udp.position is -7, and ${count}`],
      [["marks", "udp", "pass"], 0, "marks.udp.pass is 0, and must be a whole number from 1 to"],
      [["marks", "udp", "pass"], 9, "from 9:100: there are 4 passes; the last position is 5:0"],
      [["marks", "tcp", "pass"], 9, "there are 4 TCP passes; the last position is 5:0"],
      [["scanId"], "../../x", 'scanId is "../../x", and must be a UUIDv7'],
      [["scanId"], SCAN_ID.replace("-7", "-4"), "must be a UUIDv7"],
      [["key"], "zz", 'key is "zz", and must be 16 hexadecimal digits'],
      [["scanId"], OTHER_ID, `its scanId is ${OTHER_ID}, and the list beside it has ${SCAN_ID}`],
      [["seed"], 6, "its seed is 6, and the list beside it has 5"],
      [["shard"], "1/2", "its shard is 1/2, and the list beside it has 1/1"],
      [["state"], "done", "must be one of running, incomplete, interrupted, max-runtime, failed"],
      [["rows"], 1, "it names 2 rows, and its checkpoint counts 1"],
      [["savedAt"], 1e16, "savedAt is 10000000000000000, and"],
      [["counters", "sent"], "1", `counters.sent is "1", and ${count}`],
      [["counters", "canaries", "lost"], 3, "must be no more than were sent, 0"],
      [["counters", "tcp", "counts", "open"], undefined, "counters.tcp.counts.open is missing"],
      [["counters", "written"], 1, "there is no field counters.written"],
      [["list"], null, "list is null, and must be an object"],
    ];
    for (const [place, value, message] of cases) {
      await forge(path, withValue(checkpoint, place, value), lines);
      const what = await outcome(path, folder);
      assert(what.includes(message), `${place}: ${what}`);
      assert(what.startsWith(`Cannot resume "${path}`), what);
    }
    const edits: [from: string, to: string, message: string][] = [
      ['"--', '"--', "taken"],
      ['"rate":["100"]', '"rate":100', "options.rate is 100, and must be a list"],
      ['"rate":["100"]', '"rate":["1","2"]', "and must be a list of one text"],
      ['"rate":["100"]', '"speed":["100"]', "there is no field options.speed"],
      ['"verify":["true"]', '"verify":["no"]', 'options.verify is ["no"], and must be ["true"]'],
      ['"127.16.0.0-127.16.0.255"', '"127.16.0.9-127.16.0.1"', "include[0][0] is "],
      ["25570]]", "70000]]", "include[1][1] is 70000, and must be a whole number from 1 to 65535"],
      ['"a.example"]]', '"a b"]]', 'names[0][1] is "a b", and must be a host name'],
    ];
    for (const [from, to, message] of edits) {
      const edited = lines.with(0, lines[0].replace(from, to));
      const bytes = new TextEncoder().encode(edited.join("\n") + "\n").length;
      await forge(path, withValue(checkpoint, ["list", "bytes"], bytes), edited);
      const what = await outcome(path, folder);
      assert(what.includes(message), `${to}: ${what}`);
    }
  }));
