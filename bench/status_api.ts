// deno-lint-ignore-file no-console
/**
 * Measures `serve --status-api database` beside the JSON API: 200 clients at once request the statuses of
 * 10,000 servers of a database, on kept connections.
 *
 *     deno run -A bench/status_api.ts --sqlite FILE [--clients 200] [--addresses 10000] [--rounds 3]
 *
 * FILE is a database of bench/web.ts. The routes are measured in turns; each round requests each address
 * once. `per second` and the times, which a client waits for a whole answer, are medians of the rounds. The
 * memory of `serve` is measured before the first request and after all; Linux only. `busy` counts
 * answers with status 503 of a database that took longer than a second. Exits with 1 if an answer has
 * another status than these.
 */
import { openSqlite } from "../src/store/database/sqlite.ts";
import { freePort } from "../tests/fakes/free_port.ts";
import { readOptions } from "./shared/options.ts";
import { median, table } from "./shared/table.ts";
import { inTurns } from "./shared/turns.ts";

const options = readOptions("requests a second of the status API beside the JSON API", {
  sqlite: "",
  clients: "200",
  addresses: "10000",
  rounds: "3",
});
const [clients, addresses, rounds] = [options.clients, options.addresses, options.rounds]
  .map(Number);
const MAIN = new URL("../main.ts", import.meta.url).pathname;

interface Server {
  readonly id: number;
  readonly key: string;
}

/** Paths of the routes for a server. */
const ROUTES: Readonly<Record<string, (server: Server) => string>> = {
  "/api/servers/ID": ({ id }) => `/api/servers/${id}`,
  "/3/ADDRESS": ({ key }) => `/3/${key}`,
  "/v2/status/java/ADDRESS": ({ key }) => `/v2/status/java/${key}`,
  "/banner/ADDRESS": ({ key }) => `/banner/${key}`,
};

async function serversOf(file: string): Promise<Server[]> {
  await using database = openSqlite(file, { readOnly: true });
  const sql =
    "select id, key from servers where id % (select max(id) / ? from servers) = 0 limit ?";
  const rows = await database.rows(sql, [addresses, addresses]);
  return rows.map(({ id, key }) => ({ id: Number(id), key: String(key) }));
}

/** Reads one answer of a connection, and returns its status. */
async function readAnswer(conn: Deno.TcpConn, buffer: Uint8Array): Promise<number> {
  let [size, whole] = [0, Infinity];
  let status = 0;
  while (size < whole) {
    const read = await conn.read(buffer.subarray(size));
    if (read === null) throw new Error("the connection ended");
    size += read;
    if (status > 0) continue;
    const text = new TextDecoder("latin1").decode(buffer.subarray(0, size));
    const end = text.indexOf("\r\n\r\n");
    if (end < 0) continue;
    status = Number(text.slice(9, 12));
    whole = end + 4 + Number(/\r\ncontent-length: (\d+)/i.exec(text)?.[1] ?? 0);
  }
  return status;
}

/** Requests paths one after another, and returns the milliseconds that each took. */
async function request(
  port: number,
  paths: Iterator<string>,
  statuses: Map<number, number>,
): Promise<number[]> {
  using conn = await Deno.connect({ hostname: "127.0.0.1", port });
  const buffer = new Uint8Array(262_144);
  const times: number[] = [];
  for (let next = paths.next(); !next.done; next = paths.next()) {
    const begun = performance.now();
    const lines = `GET ${next.value} HTTP/1.1\r\nhost: 127.0.0.1:${port}\r\n\r\n`;
    await conn.write(new TextEncoder().encode(lines));
    const status = await readAnswer(conn, buffer);
    statuses.set(status, (statuses.get(status) ?? 0) + 1);
    times.push(performance.now() - begun);
  }
  return times;
}

/** The resident memory of a process, MB. */
function memoryOf(pid: number): number {
  const status = Deno.readTextFileSync(`/proc/${pid}/status`);
  return Math.round(Number(/VmRSS:\s+(\d+)/.exec(status)![1]) / 1024);
}

const servers = await serversOf(options.sqlite);
const port = freePort();
const serving = new Deno.Command("deno", {
  args: [
    ...["run", "-A", "--quiet", "--unstable-lazy-dynamic-imports", MAIN, "serve", options.sqlite],
    ...["--port", String(port), "--status-api", "database"],
  ],
  env: { DENO_NO_UPDATE_CHECK: "1", NO_COLOR: "1" },
  stdin: "null",
  stdout: "piped",
  stderr: "inherit",
}).spawn();
for await (const bytes of serving.stdout.values({ preventCancel: true })) {
  if (new TextDecoder().decode(bytes).includes("Ctrl-C")) break;
}
for (let isCounted = false; !isCounted;) {
  const response = await fetch(`http://127.0.0.1:${port}/api/facets`);
  isCounted = response.status === 200;
  await response.body?.cancel();
  if (!isCounted) await new Promise((done) => setTimeout(done, 200));
}
const before = memoryOf(serving.pid);
const runs = await inTurns(Object.keys(ROUTES), rounds, async (name) => {
  const paths = servers.map((server) => ROUTES[name](server))[Symbol.iterator]();
  const statuses = new Map<number, number>();
  const begun = performance.now();
  const times = (await Promise.all(
    Array.from({ length: clients }, () => request(port, paths, statuses)),
  )).flat().sort((a, b) => a - b);
  for (const status of statuses.keys()) {
    if (status !== 200 && status !== 503) throw new Error(`${name}: status ${status}`);
  }
  return {
    busy: statuses.get(503) ?? 0,
    perSecond: times.length / (performance.now() - begun) * 1000,
    half: times[times.length >> 1],
    most: times[Math.floor(times.length * 0.99)],
  };
});
const after = memoryOf(serving.pid);
serving.kill("SIGTERM");
await serving.status;
console.log(table(
  ["route", "per second", "median ms", "99th ms", "busy"],
  [...runs].map(([name, all]) => [
    name,
    Math.round(median(all.map(({ perSecond }) => perSecond))),
    Math.round(median(all.map(({ half }) => half))),
    Math.round(median(all.map(({ most }) => most))),
    Math.round(median(all.map(({ busy }) => busy))),
  ]),
));
console.log(`memory of serve: ${before} MB before, ${after} MB after`);
