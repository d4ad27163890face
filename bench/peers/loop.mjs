/**
 * What each peer's program does: it asks every target of a list, so many at once, writes what it
 * understood of each server as a line of JSON, and reports how long that took.
 *
 *     node PEER.mjs raknet|query TARGETS IN_FLIGHT TIMEOUT_MS ROWS REPORT
 *
 * One server is asked before the clock starts: gamedig opens a socket for every query that begins
 * while its first socket is still being bound, and would start with hundreds of them.
 */
import { createWriteStream, readFileSync, writeFileSync } from "node:fs";
import { performance } from "node:perf_hooks";
import process from "node:process";
import { finished } from "node:stream/promises";

const [job, targets, inFlight, timeout, rows, report] = process.argv.slice(2);

/** A GUID is a BigInt, which JSON does not know. */
const textOfBigInt = (_, value) => typeof value === "bigint" ? String(value) : value;

/**
 * Asks all targets.
 *
 * @param jobs By name: from host, port and timeout to a promise of what was understood.
 */
export async function askAll(jobs) {
  const ask = (host, port) => jobs[job](host, port, Number(timeout));
  const list = readFileSync(targets, "utf8").trim().split("\n").map((line) => line.split(":"));
  await ask(list[0][0], Number(list[0][1]));
  const out = createWriteStream(rows);
  const begun = performance.now();
  let next = 0;
  const worker = async () => {
    while (next < list.length) {
      const [host, port] = list[next++];
      try {
        const status = await ask(host, Number(port));
        out.write(`${JSON.stringify({ host, port: Number(port), status }, textOfBigInt)}\n`);
      } catch {
        // a server that was not found is not counted
      }
    }
  };
  await Promise.all(Array.from({ length: Number(inFlight) }, worker));
  out.end();
  await finished(out);
  writeFileSync(report, JSON.stringify({ seconds: (performance.now() - begun) / 1000 }));
  process.exit();
}
