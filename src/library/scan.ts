/**
 * Finds servers from a program.
 *
 * @module
 */
import project from "../../deno.json" with { type: "json" };
import { Interrupted } from "../app/mod.ts";
import { prepareScan, readScan, runPreparedScan } from "../app/scan/mod.ts";
import type { ServerRecord } from "../core/record.ts";
import type { Sink } from "../sinks/sink.ts";
import { callContext, signalOf } from "./common_options.ts";
import { givenOptions, textList } from "./given_options.ts";
import { iterateTask, type Results } from "./iterate_task.ts";
import type { ScanOptions } from "./scan_options.ts";

/**
 * Scans targets, and yields a record of each server as soon as the server is found. When the loop is
 * left, the scan ends and its sockets are closed.
 *
 * The rules of the command line apply. Public addresses, and more than 1,048,576 private addresses,
 * need `iHavePermission`. Reserved addresses and those in the opt-out file are not probed. Names that
 * are not local must not resolve to private addresses. Rate and caps apply, except on loopback. Needs
 * `--allow-net`, `--allow-env` and `--allow-read` (`--allow-write` to record opt-outs and to write
 * outputs), and `"unstable": ["net"]` in deno.json.
 *
 * @param targets Addresses, ranges (`10.0.0.0/24`, `10.0.0.1-10.0.0.99`) and names, each optionally
 * with a port.
 * @throws InputError for targets or options that cannot be used; ShortageError when no file
 * descriptor is free.
 *
 * @example Servers in a range
 * ```ts
 * import { scan } from "blocksweep";
 * import { SimulatedNetwork } from "blocksweep/testing";
 * import { assertEquals } from "@std/assert";
 *
 * const network = new SimulatedNetwork(); // in place of the network of this machine
 * network.addServer({ host: "10.0.0.7", software: "bds", status: { name: "Lobby" } });
 *
 * const found: string[] = [];
 * const search = async () => {
 *   for await (const server of scan(["10.0.0.0/24"], { network })) {
 *     found.push(`${server.host}:${server.port} ${server.name}`);
 *   }
 * };
 * await network.run(search());
 * assertEquals(found, ["10.0.0.7:19132 Lobby"]);
 * ```
 */
export function scan(
  targets: readonly string[],
  options: ScanOptions = {},
): AsyncGenerator<ServerRecord, void, undefined> {
  return iterateTask((results) => run(targets, options, results));
}

async function run(
  words: readonly string[],
  options: ScanOptions,
  results: Results<ServerRecord>,
): Promise<void> {
  const { request, writes } = await readScan(
    givenOptions("scan", textList("targets", words), options),
    {
      ...callContext("scan", options),
      program: project.version,
      takesRows: true,
      writeRows: (bytes) => Deno.stdout.write(bytes),
    },
  );
  await using _rows = request.resumed?.writtenRows;
  const scan = await prepareScan(request);
  if (options.signal?.aborted) return;
  const ran = await runPreparedScan(scan, writes, {
    signal: AbortSignal.any([signalOf(options), results.left]),
    abandon: results.left,
    begin: () => [sinkOf(results)],
  }).catch((error) => {
    if (!(error instanceof Interrupted)) throw error; // the signal ended the wait for a reader
  });
  if (ran?.end.error !== undefined) throw ran.end.error;
}

/**
 * A sink that passes records to the loop, one by one. The scan waits until each record is taken.
 */
function sinkOf({ add }: Results<ServerRecord>): Sink {
  let taken = 0;
  return {
    async write(records) {
      for (const record of records) {
        await add(record);
        taken++;
      }
    },
    flush: () => Promise.resolve(),
    position: () => taken,
    [Symbol.asyncDispose]: () => Promise.resolve(),
  };
}
