import { assert, assertEquals, assertNotEquals, assertThrows } from "@std/assert";
import { parseEndpoint } from "../../../src/core/address.ts";
import { readCommandLine, readOptions } from "../../cli/command_line.ts";
import type { GivenOptions } from "../../../src/app/options/given_options.ts";
import type { OptionsOf } from "../../../src/app/options/option_table.ts";
import type { OutputPlan } from "../../../src/app/outputs/plan_outputs.ts";
import { planScan } from "../../../src/app/targets/scan_plan.ts";
import { checkMarks } from "../../../src/app/resume/read_resumed_scan.ts";
import { scanChoice } from "../../../src/app/scan/scan_choice.ts";
import { continueCommand, resumeCommand } from "../../../src/cli/term/scan_continuation.ts";
import { InputError } from "../../../src/core/errors.ts";
import { readCsv } from "../../../src/fleet/judge/verify_rows.ts";
import { FIELDS, serverId } from "../../../src/core/record.ts";
import { readCheckpoint } from "../../../src/scan/checkpoint/checkpoint_file.ts";
import type { Marks } from "../../../src/scan/setup/low_water_mark.ts";
import { ndjsonFormat } from "../../../src/sinks/json.ts";
import { compose } from "../../../src/targets/compose.ts";
import { FakeDisk } from "../../fakes/disk.ts";
import { NO_STREAM_FAULTS } from "../../../src/testing/fake_streams.ts";
import { PORTS, type Result, scanFleet, selectionFor, type Setting } from "../scan_harness.ts";
import { CHECKPOINT, PROGRAM, resumeScan, startScan } from "./resumable_scan.ts";
import { PROTOCOLS } from "../../../src/protocols/list.ts";
import { longTest } from "../../long.ts";

/** A default scan: UDP and TCP at the same time, two passes of each protocol. */
const DEFAULT: Setting = {
  fleet: { servers: 30, hostile: 10, range: { start: 0x7f100000, end: 0x7f100060 }, seed: 12 },
  faults: { loss: 0, duplication: 0.1, delay: 60, jitter: 200 },
  streamFaults: { ...NO_STREAM_FAULTS, delay: 60, jitter: 200 },
  rates: { rate: 130, netRate: undefined, hostRate: undefined },
  cooldownMs: 1000,
};

/**
 * The same scan, but addresses without a host do not respond to connections. TCP finishes last.
 */
const SLOW_TCP: Setting = {
  ...DEFAULT,
  connections: 8,
  prepare: (_network, _hosts, streams) => void (streams.absent = "timeout"),
};

/**
 * The same scan without slow hosts and without a rate limit. UDP has more passes and pauses, and
 * finishes last.
 */
const NO_RATE: Setting = {
  ...DEFAULT,
  fleet: { ...DEFAULT.fleet, hostile: 0 },
  rates: { rate: undefined, netRate: undefined, hostRate: undefined },
};

/** Ways to stop a scan after some time. */
const WAYS: Readonly<Record<string, (setting: Setting, ms: number) => Setting>> = {
  "a signal": (setting, ms) => {
    const controller = new AbortController();
    const { signal } = controller;
    return {
      ...setting,
      signal,
      prepare: (network, ...others) => {
        setting.prepare?.(network, ...others);
        network.after(ms, () => controller.abort());
      },
    };
  },
  "--max-runtime": (setting, ms) => ({ ...setting, maxRuntimeMs: ms }),
};

const OUTPUT: OutputPlan = { path: "rows.ndjson", format: ndjsonFormat(FIELDS), readable: true };
const TARGETS = compose([{ range: DEFAULT.fleet.range, port: undefined }], {
  ...{ never: [], private: [], chosen: [] },
});

const GIVEN: GivenOptions = {
  words: ["127.16.0.0-127.16.0.95"],
  given: new Map([
    ["seed", ["5"]],
    ["output", ["rows.ndjson"]],
    ["protocol", ["raknet,slp,query"]],
  ]),
};
const OPTIONS = readOptions("scan", GIVEN);
const CHOICE = scanChoice(OPTIONS, () => NaN);
/** The options of a printed command. */
function read(command: string): OptionsOf<"scan"> {
  const words = command.split(" ");
  return readCommandLine("scan", words.slice(words.indexOf("scan") + 1)).options;
}

const PASSES = planScan({
  ...selectionFor({
    addresses: TARGETS,
    protocols: CHOICE.protocols,
    ports: (protocol) => PORTS[protocol],
  }),
  limits: {
    retries: OPTIONS.retries,
    rates: { rate: undefined, netRate: undefined, hostRate: undefined },
  },
}).passes;

/** The transports that have finished their passes. */
function sideOf({ marks: { udp, tcp } }: Result["end"]): string {
  const udpDone = udp.pass > PASSES.udp.sizes.length;
  const tcpDone = tcp.pass > PASSES.tcp.sizes.length;
  return udpDone ? tcpDone ? "both" : "udp" : tcpDone ? "tcp" : "none";
}

/**
 * Stops a scan at times spread over its whole duration. Resumes each run by the printed command.
 */
async function stopEverywhere(
  setting: Setting,
  points: number,
  resume: (stopped: Setting, what: string) => Promise<Result["end"]>,
): Promise<Map<string, number>> {
  const { network } = await scanFleet(setting);
  const whole = network.now() - 1000;
  const sides = new Map<string, number>();
  for (const [way, stop] of Object.entries(WAYS)) {
    for (let point = 0; point < points; point++) {
      const ms = Math.round(whole * (point + 0.5) / points);
      const end = await resume(stop(setting, ms), `${way} after ${ms} of ${whole} ms`);
      if (end.reason === "done") continue; // the last replies arrived just before the stop
      const side = sideOf(end);
      sides.set(side, (sides.get(side) ?? 0) + 1);
    }
  }
  return sides;
}

const csvIds = (disk: FakeDisk) => readCsv(disk.text("rows.csv")!).map(serverId).toSorted();

/** The servers that an uninterrupted scan finds. */
async function serversOf(setting: Setting): Promise<string[]> {
  return (await scanFleet(setting)).rows.map(serverId).toSorted();
}

for (
  const [name, setting, side] of [
    ["UDP first", SLOW_TCP, "udp"],
    ["TCP first", NO_RATE, "tcp"],
  ] as const
) {
  longTest(
    `after a stop at any time, ${name}, the printed --resume finds every server once`,
    async () => {
      const all = await serversOf(setting);
      const sides = await stopEverywhere(setting, 50, async (stopped, what) => {
        const disk = new FakeDisk();
        const { end } = (await startScan(disk, stopped)).result;
        if (end.reason !== "done") {
          const path = read(resumeCommand(CHECKPOINT)).resume!;
          const { marks } = await readCheckpoint(disk, path, PROGRAM, PROTOCOLS);
          checkMarks(marks, PASSES, path);
          assertEquals((await resumeScan(disk, setting))?.result.end.reason, "done", what);
        }
        assertEquals(csvIds(disk), all, what);
        assertEquals(disk.bytes(CHECKPOINT), undefined, what);
        return end;
      });
      for (const one of ["none", side]) {
        assert((sides.get(one) ?? 0) > 5, JSON.stringify([...sides]));
      }
    },
  );

  longTest(
    `after a stop at any time, ${name}, the printed --from finds every server once`,
    async () => {
      const all = await serversOf(setting);
      const sides = await stopEverywhere(setting, 40, async (stopped, what) => {
        const { end, rows } = await scanFleet(stopped);
        const first = rows.map(serverId);
        if (end.reason === "done") return end;
        const again = read(continueCommand(GIVEN, CHOICE, end.marks, [OUTPUT]));
        const { from: { udp: from, tcp: fromTcp }, seed } = scanChoice(again, () => NaN).order;
        checkMarks({ udp: from, tcp: fromTcp }, PASSES);
        assertEquals([from, fromTcp, seed], [end.marks.udp, end.marks.tcp, 5], what);
        const responders = first.map((id) => parseEndpoint(id)!);
        const second = await scanFleet({ ...setting, from, fromTcp, responders });
        const ids = [...first, ...second.rows.map(serverId)];
        assertEquals([second.end.reason, ids.toSorted()], ["done", all], what);
        return end;
      });
      for (const one of ["none", side]) {
        assert((sides.get(one) ?? 0) > 5, JSON.stringify([...sides]));
      }
    },
  );
}

Deno.test("a scan with a runtime as long as its cooldown makes progress in each run", async () => {
  const setting: Setting = { ...DEFAULT, maxRuntimeMs: 700, cooldownMs: 3000 };
  const disk = new FakeDisk();
  const marks = [(await startScan(disk, setting)).result.end.marks.udp];
  for (;;) {
    const part = await resumeScan(disk, setting);
    if (part === undefined) break;
    const { reason, marks: { udp: mark } } = part.result.end;
    if (reason !== "done") assertNotEquals(mark, marks.at(-1));
    marks.push(mark);
  }
  assert(marks.length > 3, `${marks.length} parts`);
  assertEquals(csvIds(disk), await serversOf(DEFAULT));
});

Deno.test("a finished transport counts as visited, and shows its last pass", async () => {
  const behind = { pass: 5, position: 0 };
  const udpDone = await scanFleet({ ...DEFAULT, from: behind, fromTcp: { pass: 2, position: 90 } });
  const { state } = udpDone;
  assertEquals([state.pass, state.position, state.size], [4, 96, 96]);
  assertEquals([state.visited, state.total], [6 * 96, 6 * 96]);
  const tcpDone = await scanFleet({ ...DEFAULT, fromTcp: { pass: 3, position: 0 } });
  const { tcp } = tcpDone.state;
  assertEquals([tcp.pass, tcp.position, tcp.size, tcp.sent], [2, 96, 96, 0]);
  assertEquals(tcpDone.state.visited, tcpDone.state.total);
});

Deno.test("the position after the last pass is valid for either transport, and no later one", () => {
  const udpOnly = { udp: PASSES.udp, tcp: { sizes: [], protocols: [] } };
  const at = (udp: string, tcp = "1:0"): Marks => {
    const [first, second] = [udp, tcp].map((text) => {
      const [pass, position] = text.split(":").map(Number);
      return { pass, position };
    });
    return { udp: first, tcp: second };
  };
  for (const marks of [at("5:0"), at("5:0", "3:0"), at("1:0", "3:0"), at("4:96", "2:96")]) {
    checkMarks(marks, PASSES);
    checkMarks(marks, PASSES, "a.checkpoint");
  }
  checkMarks(at("5:0"), udpOnly);
  const refused: [Marks, string][] = [
    [at("6:0"), "Cannot start from 6:0: there are 4 passes; the last position is 5:0"],
    [at("5:1"), "Cannot start from 5:1: there are 4 passes; the last position is 5:0"],
    [at("4:97"), "Cannot start from 4:97: pass 4 has 96 targets"],
    [at("5:0", "4:0"), "Cannot start from T:4:0: there are 2 TCP passes; the last position is 3:0"],
    [at("5:0", "3:1"), "Cannot start from T:3:1: there are 2 TCP passes"],
    [at("1:0", "2:97"), "Cannot start from T:2:97: TCP pass 2 has 96 targets"],
  ];
  for (const [marks, message] of refused) {
    assertThrows(() => checkMarks(marks, PASSES), InputError, message);
  }
  assertThrows(() => checkMarks(at("1:0", "2:0"), udpOnly), InputError, "there are 0 TCP passes");
  assertThrows(
    () => checkMarks(at("6:0"), PASSES, "a.checkpoint"),
    InputError,
    'Cannot resume "a.checkpoint" from 6:0: there are 4 passes',
  );
});
