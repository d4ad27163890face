// deno-lint-ignore-file no-console
/**
 * Requests thousands of targets from `/probe` of a watch at once, over real sockets of loopback, and
 * checks the limits of `/probe` against the log of the simulated servers.
 *
 *     deno run -A bench/probes.ts [--targets 10000] [--servers 3000] [--connections 10000,24]
 *
 * Of the targets, `--servers` have a simulated Bedrock server that replies after 200 ms; nothing
 * replies at the others. For each number in `--connections`, all targets are requested with so many
 * connections at a time, each without a protocol and then with one. Exits with 1 unless all of this
 * is true:
 *
 * - each response has status 200, 429 or 503; more than 32 connections at a time are closed;
 * - never more than 16 servers are between their first request and their last reply;
 * - no server gets two pings within 5 seconds;
 * - the memory of the watch grows by less than 128 MiB;
 * - the watch then still probes a server, writes no error, and ends;
 * - the rows of its servers, observations and events are the same as before.
 */
import { DatabaseSync } from "node:sqlite";
import type { WitnessLine } from "../src/fleet/witness_log.ts";
import { readOptions } from "./shared/options.ts";
import { programWords, runTimed, scanCommand, startFleet, takenBy } from "./shared/processes.ts";
import { table } from "./shared/table.ts";

const options = readOptions("the limits of /probe under thousands of requests at once", {
  targets: "10000",
  servers: "3000",
  connections: "10000,24",
});
const [targets, servers] = [options.targets, options.servers].map(Number);
const rounds = options.connections.split(",").map(Number);
const PORT = 9151;
const RANGE = "127.126.0.0/16";
/** The probed addresses without a server. */
const SILENT = "127.127";
const ALLOWED = `${RANGE},${SILENT}.0.0/16`;
/** Number of servers that the watch polls itself. */
const WATCHED = 5;
const [MAX_CONNECTIONS, MAX_PROBES, REPEAT_MS, MAX_GROWTH_MIB] = [32, 16, 5000, 128];

/** The status of a response, or `closed` if there was none. */
async function statusOf(path: string): Promise<string> {
  try {
    using conn = await Deno.connect({ hostname: "127.0.0.1", port: PORT });
    await conn.write(new TextEncoder().encode(`GET ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n`));
    const response = await new Response(conn.readable).text();
    return /^HTTP\/1\.1 (\d+) /.exec(response)?.[1] ?? "closed";
  } catch (error) {
    const { ConnectionReset, ConnectionRefused, BrokenPipe } = Deno.errors;
    const kinds = [ConnectionReset, ConnectionRefused, BrokenPipe];
    if (kinds.some((kind) => error instanceof kind)) return "closed";
    throw error;
  }
}

/** The rows that a probe must not change, as text. */
function rowsOf(path: string): string {
  using database = new DatabaseSync(path, { readOnly: true });
  const tables = ["servers", "server_state", "observations", "events"];
  const rows = (name: string) => database.prepare(`select * from ${name} order by 1, 2`).all();
  return JSON.stringify(
    tables.map(rows),
    (_, value) => ArrayBuffer.isView(value) ? `${value}` : value,
  );
}

/** Maximum number of servers that were between their first request and their last reply. */
function maxAtOnce(lines: readonly WitnessLine[]): number {
  const borders: [at: number, change: number][] = [];
  for (const ofHost of Map.groupBy(lines, ({ host }) => host).values()) {
    let [first, last] = [ofHost[0].at, ofHost[0].at];
    for (const { at } of ofHost) {
      if (at - last > REPEAT_MS / 2) { // a later probe
        borders.push([first, 1], [last, -1]);
        first = at;
      }
      last = at;
    }
    borders.push([first, 1], [last, -1]);
  }
  borders.sort(([a, one], [b, other]) => a - b || one - other);
  let [count, most] = [0, 0];
  for (const [, change] of borders) most = Math.max(most, count += change);
  return most;
}

/** The shortest time between two pings of a server, milliseconds. */
function shortestPause(lines: readonly WitnessLine[]): number {
  const pings = lines.filter(({ way, hex }) => way === "in" && hex.startsWith("01"));
  let shortest = Infinity;
  for (const ofHost of Map.groupBy(pings, ({ host }) => host).values()) {
    for (let i = 1; i < ofHost.length; i++) {
      shortest = Math.min(shortest, ofHost[i].at - ofHost[i - 1].at);
    }
  }
  return shortest;
}

const wait = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));

async function page(path: string): Promise<string> {
  const response = await fetch(`http://127.0.0.1:${PORT}${path}`).catch(() => undefined);
  return await response?.text() ?? "";
}

/** Starts the watch, and waits until it has polled its servers and written the results. */
async function startWatch(database: string, optOuts: string) {
  const [program, ...words] = programWords();
  const child = new Deno.Command(program, {
    args: [
      ...[...words, "watch", database, "--interval", "1h", "--quiet", "--opt-out-file", optOuts],
      ...["--metrics", String(PORT), "--probe", "--probe-allow", ALLOWED],
    ],
    env: { DENO_NO_UPDATE_CHECK: "1", NO_COLOR: "1" },
    stdout: "null",
    stderr: "piped",
  }).spawn();
  const output = child.output();
  while (!(await page("/healthz")).includes(`"polls":${WATCHED},`)) await wait(200);
  await wait(3000);
  return { child, output };
}

/** Requests all targets, first without and then with a protocol, and returns the number of responses by status. */
async function request(
  hosts: readonly string[],
  connections: number,
): Promise<Map<string, number>> {
  const counts = new Map<string, number>();
  let next = 0;
  const client = async () => {
    while (next < targets) {
      const i = next++;
      const silent = `${SILENT}.${i >> 8}.${i & 255}:19132`;
      const target = i % 2 === 1 ? hosts[i >> 1] ?? silent : silent;
      for (const query of ["", "&protocol=raknet"]) {
        const status = await statusOf(`/probe?target=${target}${query}`);
        counts.set(status, (counts.get(status) ?? 0) + 1);
      }
    }
  };
  await Promise.all(Array.from({ length: connections }, client));
  return counts;
}

/** A check: what was checked, the result, and whether it is as it should be. */
type Check = readonly [name: string, result: string, isRight: boolean];

/** What an attack has shown. */
interface Outcome {
  readonly checks: Check[];
  /** The servers of the watch. */
  readonly watched: ReadonlySet<string>;
}

async function attack(folder: string, log: string): Promise<Outcome> {
  const more = ["--log", log, "--delay", "100ms"];
  await using fleet = await startFleet({ servers, software: "bds", range: RANGE, folder, more });
  const hosts = fleet.entries.map(({ host, port }) => `${host}:${port}`);
  const watched = hosts.splice(0, WATCHED);
  const [database, optOuts] = [`${folder}/servers.db`, `${folder}/out.txt`];
  await runTimed(scanCommand([...watched, "-o", database, "--opt-out-file", optOuts]));
  const { child, output } = await startWatch(database, optOuts);
  const before = rowsOf(database);
  const { resident } = (await takenBy(child.pid))!;
  const checks: Check[] = [];
  for (const connections of rounds) {
    const begun = performance.now();
    const counts = await request(hosts, connections);
    const seconds = ((performance.now() - begun) / 1000).toFixed(1);
    const isAllowed = (status: string) =>
      ["200", "429", "503"].includes(status) ||
      status === "closed" && connections > MAX_CONNECTIONS;
    const memory = (await takenBy(child.pid))!.resident.toFixed(0);
    checks.push([
      `${targets} targets, ${connections} at a time, in ${seconds} s; then ${memory} MiB`,
      [...counts].sort().map(([status, n]) => `${status}: ${n}`).join(", "),
      [...counts.keys()].every(isAllowed),
    ]);
  }
  const { peak } = (await takenBy(child.pid))!;
  const growth = peak - resident;
  await wait(2 * REPEAT_MS); // all probes end, and each server may be probed again
  const isSame = rowsOf(database) === before;
  const works = (await page(`/probe?target=${hosts[0]}`)).includes("\nprobe_success 1\n");
  child.kill("SIGINT");
  const { code, stderr } = await output;
  const said = new TextDecoder().decode(stderr).trim();
  checks.push(
    [
      "memory before, and growth at the peak, MiB",
      `${resident.toFixed(0)}, ${growth.toFixed(0)}`,
      growth < MAX_GROWTH_MIB,
    ],
    ["a probe afterwards", works ? "success" : "failure", works],
    ["exit code and messages", `${code} ${said}`.trim(), code === 130 && said === ""],
    ["rows of the watch", isSame ? "unchanged" : "changed", isSame],
  );
  return { checks, watched: new Set(watched) };
}

const folder = await Deno.makeTempDir({ prefix: "blocksweep-probes-" });
try {
  const log = `${folder}/log.ndjson`;
  const { checks, watched } = await attack(folder, log);
  const text = (await Deno.readTextFile(log)).trim();
  // The servers of the watch are left out, because the scan and the watch have probed them too.
  const lines: WitnessLine[] = text.split("\n").map((line) => JSON.parse(line))
    .filter(({ host }) => !watched.has(host));
  const [atOnce, pause] = [maxAtOnce(lines), shortestPause(lines)];
  checks.push(
    ["servers probed at once, maximum", `${atOnce}`, atOnce > 0 && atOnce <= MAX_PROBES],
    ["time between two pings of a server, minimum, ms", pause.toFixed(0), pause >= REPEAT_MS],
  );
  const rows = checks.map(([name, result, ok]) => [name, result, ok ? "ok" : "WRONG"]);
  console.log(table(["check", "result", ""], rows));
  if (checks.some(([, , ok]) => !ok)) Deno.exitCode = 1;
} finally {
  await Deno.remove(folder, { recursive: true });
}
