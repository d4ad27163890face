/** The steps of a scan's run. Covers src/app/scan/run_scan.ts, src/app/scan/open_scan.ts and src/app/resume/open_with_checkpoint.ts. */
import { assertEquals } from "@std/assert";
import { DatabaseSync } from "node:sqlite";
import { prepareScan } from "../../../src/app/scan/prepare_scan.ts";
import { readScan } from "../../../src/app/scan/read_scan.ts";
import { runPreparedScan } from "../../../src/app/scan/run_scan.ts";
import { callContext } from "../../../src/library/common_options.ts";
import { givenOptions } from "../../../src/library/given_options.ts";
import { SimulatedNetwork } from "../../../src/testing/simulated_network.ts";
import { inFolder } from "../resume/stopped_programs.ts";

/** The number of scans that a database lists. */
function countScans(path: string): unknown {
  const database = new DatabaseSync(path);
  try {
    return database.prepare("SELECT count(*) AS scans FROM scans").get()?.scans;
  } finally {
    database.close();
  }
}

/** A scan that was interrupted before its first probe. */
async function interrupted(output: readonly string[], checkpoint?: string) {
  const lines: string[] = [];
  const told: (string | undefined)[] = [];
  const network = new SimulatedNetwork();
  const options = { network, output, checkpoint };
  const { request, writes } = await readScan(givenOptions("scan", ["10.0.0.1"], options), {
    ...callContext("scan", options),
    program: "1.0.0",
    takesRows: true,
    writeRows: () => Promise.resolve(0),
    warn: (line) => {
      lines.push(line);
    },
  });
  const { state, checkpoint: path } = await network.run(
    runPreparedScan(await prepareScan(request), writes, {
      signal: AbortSignal.abort(),
      onCheckpoint: (path) => told.push(path),
    }),
  );
  assertEquals(told, [path, undefined]);
  return { path: path!, lines, id: state.scanId };
}

const contentOf = (path: string) =>
  Promise.all([path, `${path}.list`].map((one) => Deno.readTextFile(one)));

Deno.test("a scan into a database leaves the checkpoints of interrupted scans as they are", async () => {
  await inFolder(async (folder) => {
    const db = `${folder}/a.db`;
    const first = await interrupted([db]);
    const kept = await contentOf(first.path);
    const [second, third] = [await interrupted([db]), await interrupted([db])];
    assertEquals([first.path, second.path, third.path], [
      `${db}.checkpoint`,
      `${db}.2.checkpoint`,
      `${db}.3.checkpoint`,
    ]);
    assertEquals(await contentOf(first.path), kept);
    assertEquals([first.lines, second.lines, third.lines], [[], [], []]);
    // A file that this scan starts over is none of theirs.
    assertEquals((await interrupted([db, `${folder}/new.csv`])).path, `${db}.4.checkpoint`);
    assertEquals(await contentOf(first.path), kept);
    await Promise.all([second.path, `${second.path}.list`].map((path) => Deno.remove(path)));
    assertEquals((await interrupted([db])).path, second.path);
  });
});

Deno.test("a scan that starts a file over names the interrupted scan whose checkpoint it replaces", async () => {
  await inFolder(async (folder) => {
    const csv = `${folder}/a.csv`;
    const first = await interrupted([csv]);
    const second = await interrupted([csv]);
    const line = (path: string, scan: string) =>
      `blocksweep: replaced "${path}": ${scan} can no longer be resumed`;
    assertEquals([first.lines, second.lines], [
      [],
      [line(second.path, `the interrupted scan ${first.id}`)],
    ]);
    assertEquals([first.path, second.path], [`${csv}.checkpoint`, `${csv}.checkpoint`]);
    const database = `${folder}/b.db`;
    const mixed = await interrupted([database, csv]);
    const { path, lines: [replaced] } = await interrupted([database, csv]);
    assertEquals([path, replaced], [
      `${database}.checkpoint`,
      line(mixed.path, `the interrupted scan ${mixed.id}`),
    ]);
    const named = `${folder}/named`;
    await Deno.writeTextFile(named, '{"scanId": "\x1b[31m"}');
    const { lines } = await interrupted([`${folder}/a.db`], named);
    assertEquals(lines, [line(named, "the interrupted scan")]);
    const empty = `${folder}/empty`;
    await Deno.writeTextFile(empty, "");
    assertEquals((await interrupted([`${folder}/c.csv`], empty)).lines, []);
  });
});

Deno.test("the path of the checkpoint is told before databases record the start", async () => {
  await inFolder(async (folder) => {
    const [csv, db] = [`${folder}/a.csv`, `${folder}/a.db`];
    const network = new SimulatedNetwork();
    const options = { network, output: [csv, db] };
    const { request, writes } = await readScan(givenOptions("scan", ["10.0.0.1"], options), {
      ...callContext("scan", options),
      program: "1.0.0",
      takesRows: true,
      writeRows: () => Promise.resolve(0),
    });
    const scan = await prepareScan(request);
    const told: unknown[] = [];
    await network.run(runPreparedScan(scan, writes, {
      signal: AbortSignal.abort(),
      onCheckpoint: (path) => told.push([path, countScans(db)]),
    }));
    assertEquals(told, [[`${csv}.checkpoint`, 0], [undefined, 1]]);
  });
});
