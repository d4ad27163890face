// deno-lint-ignore-file no-console
/**
 * Shows that no live host is missing, whatever `--concurrency` says: every target is alive, and every
 * row is held against the fleet's manifest.
 *
 *     deno run --allow-read --allow-write --allow-run bench/complete.ts [--targets 20000]
 *         [--rounds 1] [--concurrency 16,256,2000] [--job raknet,query] [--engine portable]
 *
 * It needs Linux, and nobody else on the ports 19132 and 25565 of loopback. Scans run as users run
 * them, with one retry. `partial` counts rows that lack what a later answer would have told, `asked
 * again` probes of the second pass, `lost` datagrams that found a full buffer (the kernel's counter),
 * `rows/s` rows from the first probe to the last row, `CPU us` the process's time, start-up included,
 * by row.
 * Exits with 1 when something is missing or wrong.
 */
import { readNdjson, verifyAgainstManifest } from "../src/fleet/judge/verify_rows.ts";
import { type Job, jobOptions, JOBS, selectionOf, writeTargets } from "./shared/jobs.ts";
import { readOptions } from "./shared/options.ts";
import { runTimed, scanCommand, startFleet, udpCounters } from "./shared/processes.ts";
import { table } from "./shared/table.ts";

const options = readOptions({
  targets: "20000",
  rounds: "1",
  concurrency: "16,256,2000",
  job: "raknet,query",
  engine: "portable",
});
const folder = await Deno.makeTempDir({ prefix: "blocksweep-complete-" });
const lines: (string | number)[][] = [];
let wrong = 0;

async function check(job: Job, concurrency: string): Promise<void> {
  await using fleet = await startFleet({
    servers: Number(options.targets),
    software: job.software,
    folder,
  });
  const targets = await writeTargets(fleet.entries, folder);
  const [rows, metadata] = [`${folder}/rows.ndjson`, `${folder}/metadata.json`];
  const outputs = ["--output", rows, "--metadata-file", metadata];
  const before = await udpCounters();
  const { cpu } = await runTimed(
    scanCommand(
      [...jobOptions(job, targets), "--concurrency", concurrency, ...outputs],
      options.engine,
    ),
  );
  const after = await udpCounters();
  const read = readNdjson(await Deno.readTextFile(rows));
  const verdict = verifyAgainstManifest(fleet.entries, read, selectionOf(job), "ndjson");
  const { expected, found, right, partial, faults } = verdict;
  const { probes_sent, first_probe_at, last_row_at } = JSON.parse(
    await Deno.readTextFile(metadata),
  );
  lines.push([
    ...[job.name, Number(concurrency), expected, found, expected - found, right, partial],
    ...[faults.length, probes_sent - expected, after.RcvbufErrors - before.RcvbufErrors],
    Math.round(found / (last_row_at - first_probe_at) * 1000),
    cpu / found * 1e6,
  ]);
  wrong += faults.length + partial;
  for (const fault of faults.slice(0, 5)) console.error(`  ${fault}`);
}

try {
  for (const job of JOBS.filter(({ name }) => options.job.split(",").includes(name))) {
    for (const concurrency of options.concurrency.split(",")) {
      for (let round = 0; round < Number(options.rounds); round++) await check(job, concurrency);
    }
  }
} finally {
  await Deno.remove(folder, { recursive: true });
}
console.log(table(
  [
    ...["job", "concurrency", "alive", "found", "missing", "right", "partial", "faults"],
    ...["asked again", "lost", "rows/s", "CPU us"],
  ],
  lines,
));
Deno.exit(wrong > 0 ? 1 : 0);
