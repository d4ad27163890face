/** The steps of a scan's run. Covers src/app/scan/run_scan.ts and src/app/scan/open_scan.ts. */
import { assertEquals } from "@std/assert";
import { DatabaseSync } from "node:sqlite";
import { prepareScan } from "../../../src/app/scan/prepare_scan.ts";
import { readScan } from "../../../src/app/scan/read_scan.ts";
import { runPreparedScan } from "../../../src/app/scan/run_scan.ts";
import { contextOf } from "../../../src/library/common_options.ts";
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

Deno.test("the path of the checkpoint is told before databases record the start", async () => {
  await inFolder(async (folder) => {
    const [csv, db] = [`${folder}/a.csv`, `${folder}/a.db`];
    const network = new SimulatedNetwork();
    const options = { network, output: [csv, db] };
    const request = await readScan(givenOptions("scan", ["10.0.0.1"], options), {
      ...contextOf("scan", options),
      program: "1.0.0",
      takesRows: true,
      writeRows: () => Promise.resolve(0),
    });
    await using _opened = request.opened;
    const scan = await prepareScan(request);
    const told: unknown[] = [];
    await network.run(runPreparedScan(scan, {
      signal: AbortSignal.abort(),
      onCheckpoint: (path) => told.push([path, countScans(db)]),
    }));
    assertEquals(told, [[`${csv}.checkpoint`, 0], [undefined, 1]]);
  });
});
