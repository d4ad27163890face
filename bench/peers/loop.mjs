/**
 * The loop of each peer's program. It queries every target of a list, with a limited number of
 * concurrent queries. It writes the decoded status of each server as a line of JSON, and reports
 * how long all queries took.
 *
 *     node PEER.mjs raknet|query|slp TARGETS IN_FLIGHT TIMEOUT_MS ROWS REPORT
 *
 * One server is queried before the clock starts, because gamedig opens a new socket for every query
 * that begins before its first socket is bound. Otherwise it would start with hundreds of sockets.
 */
import { createWriteStream, readFileSync, writeFileSync } from "node:fs";
import { performance } from "node:perf_hooks";
import process from "node:process";
import { finished } from "node:stream/promises";

const [job, targets, inFlight, timeout, rows, report] = process.argv.slice(2);

/** Converts a BigInt, such as a GUID, to text, because JSON has no BigInt. */
const textOfBigInt = (_, value) => typeof value === "bigint" ? String(value) : value;

/**
 * Queries all targets.
 *
 * @param jobs By name, a function that queries a host and port with a timeout and returns a promise
 * of the status.
 */
export async function queryAll(jobs) {
  const query = (host, port) => jobs[job](host, port, Number(timeout));
  const list = readFileSync(targets, "utf8").trim().split("\n").map((line) => line.split(":"));
  await query(list[0][0], Number(list[0][1]));
  const out = createWriteStream(rows);
  const begun = performance.now();
  let next = 0;
  const worker = async () => {
    while (next < list.length) {
      const [host, port] = list[next++];
      try {
        const status = await query(host, Number(port));
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
