/**
 * What each peer's program does: it asks every target of a list, so many at once, and reports when
 * it began, when the last answer was understood, and what was understood.
 *
 *     node PEER.mjs raknet|query TARGETS IN_FLIGHT TIMEOUT_MS REPORT
 *
 * One server is asked before the clock starts: gamedig opens a socket for every query that begins
 * while its first socket is still being bound, and would start with hundreds of them. Answers are
 * kept in memory and written when the clock has stopped, so that no writing slows a peer down.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { performance } from "node:perf_hooks";
import process from "node:process";

const [job, targets, inFlight, timeout, report] = process.argv.slice(2);

/**
 * Asks all targets.
 *
 * @param jobs By name: from host, port and timeout to a promise of what was understood.
 */
export async function askAll(jobs) {
  const ask = (host, port) => jobs[job](host, port, Number(timeout));
  const list = readFileSync(targets, "utf8").trim().split("\n").map((line) => line.split(":"));
  await ask(list[0][0], Number(list[0][1]));
  const rows = [];
  const begun = performance.now();
  let last = begun;
  let next = 0;
  const worker = async () => {
    while (next < list.length) {
      const [host, port] = list[next++];
      try {
        const row = await ask(host, Number(port));
        rows.push({ host, port: Number(port), ...row });
        last = performance.now();
      } catch {
        // a server that was not found is not counted
      }
    }
  };
  await Promise.all(Array.from({ length: Number(inFlight) }, worker));
  writeFileSync(report, JSON.stringify({ seconds: (last - begun) / 1000, rows }));
  process.exit();
}
