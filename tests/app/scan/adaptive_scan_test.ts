/**
 * Adaptive scans by a program: their end, resuming with another budget, and known servers.
 *
 * Covers src/app/scan/open_discovery.ts and src/app/resume/read_resumed_scan.ts.
 */
import { assert, assertEquals, assertRejects } from "@std/assert";
import { InputError } from "../../../src/core/errors.ts";
import { serverId } from "../../../src/core/record.ts";
import { scan } from "../../../src/library/scan.ts";
import type { ScanOptions } from "../../../src/library/scan_options.ts";
import { SimulatedNetwork } from "../../../src/testing/simulated_network.ts";
import { inFolder } from "../resume/stopped_programs.ts";

const RANGE = "10.0.0.0/20";

/**
 * Runs an adaptive scan of 4,096 addresses with 60 servers on the default port.
 *
 * @param most Number of rows after which it is interrupted. Default: it is not.
 */
async function scanAdaptively(options: ScanOptions, most = Infinity) {
  const network = new SimulatedNetwork();
  network.datagrams.record = true;
  const all = network.addFleet({ range: RANGE, servers: 60, software: ["bds"] });
  const stop = new AbortController();
  const words = options.resume === undefined ? [RANGE] : [];
  const settings = { adaptive: true, seed: 5, protocol: ["raknet"], ports: "19132", rate: 100 };
  const given = options.resume === undefined ? { ...settings, ...options } : options;
  const rows: string[] = [];
  await network.run((async () => {
    for await (const row of scan(words, { ...given, network, signal: stop.signal })) {
      if (rows.push(serverId(row)) === most) stop.abort();
    }
  })());
  const probed = new Set(network.datagrams.sent.map(({ to }) => `${to.address}:${to.port}`));
  return { all: all.map(serverId).toSorted(), found: rows.toSorted(), probed };
}

/** What the status file of a scan has about its passes. */
async function adaptiveIn(path: string) {
  return JSON.parse(await Deno.readTextFile(path)).adaptive;
}

Deno.test("an adaptive scan ends when its budget is spent", () =>
  inFolder(async (folder) => {
    const statusFile = `${folder}/status.json`;
    const { found, probed } = await scanAdaptively({ budget: 1000, statusFile });
    const { spent, budget, ended } = await adaptiveIn(statusFile);
    assertEquals([spent, budget, ended], [1000, 1000, "budget"]);
    assert(found.length > 0 && found.length < 60, `${found.length} found`);
    assert(probed.size > 900 && probed.size <= 1000 + found.length, `${probed.size} probed`);
  }));

Deno.test("an interrupted adaptive scan is resumed with a larger budget, and writes each server once", () =>
  inFolder(async (folder) => {
    const [output, statusFile] = [[`${folder}/a.csv`], `${folder}/status.json`];
    const first = await scanAdaptively({ budget: 2000, output }, 10);
    const resume = `${output}.checkpoint`;
    const refused = { resume, netBudget: 5 };
    await assertRejects(
      () => scanAdaptively(refused),
      InputError,
      "these options cannot be changed",
    );
    // at this rate a new scan would need a larger budget than the 2,000 of the first run
    const faster = { resume, rate: 500 };
    const between = await scanAdaptively(faster, 2);
    assert(between.found.length >= 2, `${between.found.length} found`);
    // With 100 %, the last pass may repeat targets near servers, and leave out others.
    const second = await scanAdaptively({ resume, budget: "200%", statusFile });
    const { spent, ended } = await adaptiveIn(statusFile);
    assertEquals(ended, "nothing-left");
    assert(spent > 4096 && spent <= 8192, `${spent} spent`);
    assert(first.found.length >= 10 && first.found.length < 30, `${first.found.length} found`);
    assertEquals([...first.found, ...between.found, ...second.found].toSorted(), first.all);
    const rows = (await Deno.readTextFile(output[0])).trimEnd().split("\n");
    assertEquals(rows.length, 1 + 60);
  }));

Deno.test("an adaptive scan ends when passes find fewer servers than --stop-below", () =>
  inFolder(async (folder) => {
    const statusFile = `${folder}/status.json`;
    await scanAdaptively({ budget: "100%", stopBelow: 500_000, statusFile });
    const { spent, ended } = await adaptiveIn(statusFile);
    assertEquals(ended, "stop-below");
    assert(spent < 4096, `${spent}`);
  }));

Deno.test("the known servers of an adaptive scan are probed first", () =>
  inFolder(async (folder) => {
    const known = `${folder}/known.txt`;
    const { all } = await scanAdaptively({ budget: 500 });
    await Deno.writeTextFile(known, `${all.join("\n")}\n192.0.2.1:19132\n`);
    const { found, probed } = await scanAdaptively({ budget: 500, known });
    assertEquals(found, all);
    assert(!probed.has(`${0xc0000201}:19132`), "a known server outside the targets was probed");
  }));
