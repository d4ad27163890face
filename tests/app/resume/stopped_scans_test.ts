/** Covers src/app/resume/: scans that a signal or a time limit stops. */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { serverId } from "../../../src/core/record.ts";
import { readNdjson, verifyAgainstManifest } from "../../../src/fleet/judge/verify_rows.ts";
import { parseCheckpoint } from "../../../src/scan/checkpoint/checkpoint_file.ts";
import {
  ENVIRONMENT,
  finish,
  type Finished,
  programWords,
  run,
  start,
  until,
} from "../../cli/program.ts";
import { fleetAt, inFolder, put, SELECTION, text } from "./stopped_programs.ts";
import { PROTOCOLS } from "../../../src/protocols/list.ts";
import { VERSION } from "../../../src/app/metrics/build_info.ts";
import { longTest } from "../../long.ts";

/** Creates a program `blocksweep` in a folder, as `deno task install` does. */
async function install(folder: string): Promise<void> {
  const words = programWords([]).map((word) => `'${word}'`).join(" ");
  await put(`${folder}/blocksweep`, `#!/bin/sh\nexec ${words} "$@"\n`);
  await Deno.chmod(`${folder}/blocksweep`, 0o755);
}

/** Runs a line in a shell whose PATH contains a folder. */
async function shell(line: string, folder: string): Promise<Finished> {
  const PATH = `${folder}:${Deno.env.get("PATH")}`;
  const child = new Deno.Command("sh", {
    args: ["-c", line],
    env: { ...ENVIRONMENT, PATH },
    stdin: "null",
    stdout: "piped",
    stderr: "piped",
  }).spawn();
  return await finish(child);
}

/** When a scan is stopped. The two scans run at the same time, each on a fleet of its own. */
const POINTS = {
  /** Early: when few rows are written. */
  early: {
    isReached: ({ written }) => written >= 3,
    runtime: "1s",
    fleet: fleetAt(0x7f250000, 0),
    targets: "127.37.0.0/23",
  },
  /**
   * Late: when TCP has finished. In a fleet without slow hosts, that is before the end of a default
   * scan.
   */
  late: {
    isReached: ({ pass, tcp }) => pass >= 3 && tcp.pass === 4 && tcp.position === tcp.pass_size,
    runtime: "3s",
    fleet: fleetAt(0x7f3e0000, 0),
    targets: "127.62.0.0/23",
  },
} satisfies Record<string, Point>;

/** A moment of a scan, and the targets of the scan. */
interface Point {
  /** Whether the status file shows that the scan has reached this point. */
  readonly isReached: (status: ReturnType<typeof JSON.parse>) => boolean;
  /** The time from the start of a scan to this moment. */
  readonly runtime: string;
  readonly fleet: ReturnType<typeof fleetAt>;
  readonly targets: string;
}

/** Stops a default scan. Returns its output. */
async function stopped(way: string, point: Point, output: string): Promise<Finished> {
  const args = ["scan", point.targets, "-o", output];
  if (way === "--max-runtime") return await run([...args, way, point.runtime]);
  const status = `${output}.status`;
  const child = start([...args, "--status-file", status]);
  await until(child, async () => point.isReached(JSON.parse(await text(status))));
  child.kill(way as Deno.Signal);
  return await finish(child);
}

/** Stops a scan, and continues it with the commands that its parts print. */
async function stopAndContinue(way: string, point: Point, folder: string): Promise<void> {
  await using _fleet = await point.fleet.open();
  await install(folder);
  const output = `${folder}/rows of servers.ndjson`;
  let part = await stopped(way, point, output);
  assertEquals(part.code, way === "--max-runtime" ? 0 : 130, part.stderr);
  const { marks } = parseCheckpoint(await text(`${output}.checkpoint`), VERSION, "it", PROTOCOLS);
  if (way !== "--max-runtime" && point === POINTS.late) assertEquals(marks.tcp.pass, 5);
  for (let parts = 1;; parts++) {
    const [, command] = /^continue with: (.*)$/m.exec(part.stderr) ?? [];
    if (command === undefined) break;
    assert(parts < 40, "each run gets further");
    part = await shell(command, folder);
    assertEquals(part.code, 0, part.stderr);
  }
  assertStringIncludes(part.stderr, "done in ");
  const rows = readNdjson(await text(output));
  const ids = rows.map(serverId);
  // A stopped scan waits five seconds for a slow host, and flags the row of this host.
  const cut = rows.filter(({ flags }) => flags.includes("cutShort")).map(serverId);
  const { found, faults } = verifyAgainstManifest(point.fleet.entries, rows, SELECTION, "ndjson");
  assertEquals([ids.length, new Set(ids).size, found], [60, 60, 60]);
  assertEquals(faults.filter((fault) => !cut.some((id) => fault.startsWith(`${id} `))), []);
}

for (const way of ["SIGINT", "SIGTERM", "--max-runtime"]) {
  longTest(
    `a scan stopped by ${way}, early or late, continues with the printed command`,
    async () => {
      const ends = await Promise.allSettled(
        Object.values(POINTS).map((point) =>
          inFolder((folder) => stopAndContinue(way, point, folder))
        ),
      );
      for (const end of ends) if (end.status === "rejected") throw end.reason;
    },
  );
}
