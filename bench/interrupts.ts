// deno-lint-ignore-file no-console
/**
 * Stops a default scan by SIGINT, by SIGTERM and by `--max-runtime`, at times spread over its whole
 * duration. It then runs each printed command in a shell until no command is printed, and shows
 * that every server is in both outputs exactly once.
 *
 *     deno run --allow-read --allow-write --allow-run --allow-env=PATH bench/interrupts.ts
 *         [--points 50] [--range 127.16.0.0/22] [--servers 200] [--rate RATE]
 *
 * It needs a POSIX shell. No other program may use the usual ports of loopback. The three ways run
 * at the same time. A time counts from the moment when the first checkpoint is saved. `udp` and
 * `tcp` are pass and position at which the first run stopped; `runs` is the number of processes
 * of the scan. The summary also has the number of rows with the flag `cutShort`: rows of hosts for
 * which a stopped scan did not wait.
 *
 * Exits with 1 when a printed command is refused, or a server is missing, duplicate or wrong.
 */
import { countOf } from "../src/core/quantities.ts";
import { readCsv, readNdjson, verifyAgainstManifest } from "../src/fleet/judge/verify_rows.ts";
import { serverId } from "../src/core/record.ts";
import { USUAL_PROTOCOLS } from "../src/protocols/list.ts";
import { usualSelection } from "./shared/jobs.ts";
import { marksOf, textOf } from "./shared/moments.ts";
import { readOptions } from "./shared/options.ts";
import { programWords, type RunningFleet, startFleet } from "./shared/processes.ts";
import { table } from "./shared/table.ts";

const options = readOptions("a default scan that is stopped at many times and resumed", {
  points: "50",
  range: "127.16.0.0/22",
  servers: "200",
  software: "bds,pocketmine,paper,vanilla",
  rate: "",
});
const WAYS = ["SIGINT", "SIGTERM", "--max-runtime"] as const;
const folder = await Deno.makeTempDir({ prefix: "blocksweep-interrupts-" });
const scan = ["scan", options.range, ...options.rate === "" ? [] : ["--rate", options.rate]];

/** The result of stopping a scan at one time. */
interface Outcome {
  /** The marks at which the first run stopped; `done` if it had finished. */
  readonly stopped: string;
  readonly runs: number;
  /** Number of rows with the flag `cutShort`. */
  readonly cut: number;
  /** The errors that were found. */
  readonly faults: readonly string[];
}

/** Runs a line in a shell whose PATH contains the program. */
async function shell(line: string): Promise<{ code: number; printed: string }> {
  const env = { PATH: `${folder}:${Deno.env.get("PATH")}`, NO_COLOR: "1" };
  const command = new Deno.Command("sh", { args: ["-c", line], env, stdin: "null" });
  const { code, stderr } = await command.output();
  return { code, printed: new TextDecoder().decode(stderr) };
}

/** Starts the scan, and stops it a given time after its first checkpoint. */
async function stop(way: typeof WAYS[number], ms: number, outputs: readonly string[]) {
  const words = [...scan, ...outputs.flatMap((path) => ["-o", path])];
  if (way === "--max-runtime") words.push(way, `${ms}ms`);
  const [program, ...args] = [...programWords(), ...words];
  const env = { DENO_NO_UPDATE_CHECK: "1", NO_COLOR: "1" };
  const begun = performance.now();
  const child = new Deno.Command(program, {
    ...{ args, env, stdin: "null", stdout: "null", stderr: "piped" },
  }).spawn();
  const printed = new Response(child.stderr).text();
  let over = false;
  child.status.then(() => over = true);
  if (way !== "--max-runtime") {
    while (!over && await textOf(`${outputs[0]}.checkpoint`) === "") await wait(1);
    await wait(ms);
    if (!over) child.kill(way);
  }
  const { code } = await child.status;
  return { code, printed: await printed, elapsed: performance.now() - begun };
}

function wait(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

async function tryPoint(
  way: typeof WAYS[number],
  ms: number,
  fleet: RunningFleet,
): Promise<Outcome> {
  const outputs = ["csv", "ndjson"].map((suffix) => `${folder}/${way}-${ms}.${suffix}`);
  const checkpoint = `${outputs[0]}.checkpoint`;
  const first = await stop(way, ms, outputs);
  const saved = await textOf(checkpoint);
  const stopped = saved === "" ? "done" : marksOf(saved).join(" ");
  const faults: string[] = [];
  let { code, printed } = first;
  let runs = 1;
  for (; runs < 100; runs++) {
    const [, command] = /^continue with: (.*)$/m.exec(printed) ?? [];
    const expected = command !== undefined && way !== "--max-runtime" && runs === 1 ? 130 : 0;
    if (code !== expected) faults.push(`run ${runs} ended with ${code}: ${printed}`);
    if (command === undefined) break;
    ({ code, printed } = await shell(command));
  }
  if (await textOf(checkpoint) !== "") faults.push("the checkpoint was not removed");
  const [csv, ndjson] = await Promise.all(outputs.map(textOf));
  const rows = readNdjson(ndjson);
  const selection = usualSelection(USUAL_PROTOCOLS.map(({ name }) => name));
  const verdict = verifyAgainstManifest(fleet.entries, rows, selection, "ndjson");
  const cut = rows.filter(({ flags }) => flags.includes("cutShort")).map(serverId);
  faults.push(...verdict.faults.filter((fault) => !cut.some((id) => fault.startsWith(`${id} `))));
  const ids = rows.map(serverId);
  if (verdict.found !== verdict.expected) faults.push(`${verdict.found} of ${verdict.expected}`);
  if (new Set(ids).size !== ids.length) faults.push("a server is in the output twice");
  if (readCsv(csv).map(serverId).join() !== ids.join()) faults.push("CSV and NDJSON differ");
  return { stopped, runs, cut: cut.length, faults };
}

let wrong = 0;
try {
  const words = programWords().map((word) => `'${word}'`).join(" ");
  await Deno.writeTextFile(`${folder}/blocksweep`, `#!/bin/sh\nexec ${words} "$@"\n`);
  await Deno.chmod(`${folder}/blocksweep`, 0o755);
  await using fleet = await startFleet({
    servers: Number(options.servers),
    software: options.software,
    range: options.range,
    tcp: true,
    folder,
  });
  const whole = await stop(
    "--max-runtime",
    3_600_000,
    ["csv", "ndjson"].map((one) => `${folder}/whole.${one}`),
  );
  const [, seconds] = /^done in ([\d.]+) s/m.exec(whole.printed) ?? [];
  if (seconds === undefined) throw new Error(`the scan did not end: ${whole.printed}`);
  const lines: (string | number)[][] = [];
  const totals = WAYS.map(() => ({ stopped: 0, oneSide: 0, runs: 0, cut: 0, faults: 0 }));
  for (let i = 0; i < Number(options.points); i++) {
    const ms = Math.round(1000 * Number(seconds) * (i + 0.5) / Number(options.points));
    const outcomes = await Promise.all(WAYS.map((way) => tryPoint(way, ms, fleet)));
    lines.push([
      ms,
      ...outcomes.flatMap(({ stopped, runs, faults }) => [
        ...[stopped, runs, faults.length === 0 ? "right" : `${faults.length} FAULTS`],
      ]),
    ]);
    for (const [j, { stopped, runs, cut, faults }] of outcomes.entries()) {
      const [udp, tcp] = stopped.split(" ").map((mark) => mark.split(":")[0]);
      if (stopped !== "done") totals[j].stopped++;
      if ((udp === "5") !== (tcp === "3")) totals[j].oneSide++;
      totals[j].runs += runs;
      totals[j].cut += cut;
      totals[j].faults += faults.length;
      for (const fault of faults.slice(0, 5)) console.error(`  ${WAYS[j]} at ${ms} ms: ${fault}`);
    }
  }
  wrong = totals.reduce((sum, { faults }) => sum + faults, 0);
  const heads = WAYS.flatMap((way) => [`${way}: udp tcp`, "runs", "rows"]);
  console.log(table(["ms", ...heads], lines));
  for (const [j, { stopped, oneSide, runs, cut, faults }] of totals.entries()) {
    console.log(
      `${WAYS[j]}: tried at ${
        countOf(lines.length, "time")
      } within ${seconds} s, ${stopped} before the end, ` +
        `${oneSide} with only UDP or TCP done, ${runs} processes, ${cut} rows cut short, ${faults} faults`,
    );
  }
} finally {
  await Deno.remove(folder, { recursive: true });
}
Deno.exit(wrong === 0 ? 0 : 1);
