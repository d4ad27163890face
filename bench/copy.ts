// deno-lint-ignore-file no-console
/**
 * Copies a database of version 2 with 100,000 servers and 1,000,000 observations to PostgreSQL and back to
 * SQLite, and kills the first copy once. Prints times, the largest memory, and whether digests are equal.
 *
 *     deno run -A bench/copy.ts
 */
import { openSqlite } from "../src/store/database/sqlite.ts";
import type { Database } from "../src/store/database/database.ts";
import { startPostgres } from "../tests/postgres/server.ts";
import { createOldTables, oldObservation, oldServer } from "../tests/store/copy/old_database.ts";
import { connect, withPostgres } from "../tests/store/databases.ts";
import { scanId } from "../tests/store/records.ts";

const SERVERS = 100_000;
const OBSERVATIONS = 10;
const MAIN = new URL("../main.ts", import.meta.url).pathname;

/** Fills the tables of version 2. */
async function fill(database: Database): Promise<void> {
  await createOldTables(database, 2);
  const hostOf = (i: number) => `10.${i >> 16}.${i >> 8 & 255}.${i & 255}`;
  const icon = "A".repeat(2000);
  await database.transaction(async () => {
    for (let i = 0; i < OBSERVATIONS; i++) {
      await put(database, "scans", {
        ...{ id: scanId(i), kind: "sweep", state: "finished", started_at: i, shards: 1 },
        config: "{}",
      });
    }
    for (let i = 0; i < SERVERS; i++) {
      const server = oldServer(hostOf(i), 25565, {
        ...{ motd: `§aServer ${i}`, name: `Server ${i}`, players: '["Ann","Bob"]' },
        ...{ requested_as: i % 10 === 0 ? `s${i}.example.org` : null, favicon_hash: `${i % 1000}` },
      });
      await put(database, "servers", server);
      const id = String(server.id);
      for (let n = 0; n < OBSERVATIONS; n++) {
        const seen = oldObservation(id, 1_000_000 * n + i, { scan_id: scanId(n) });
        await put(database, "observations", seen);
      }
      const reply = {
        server_id: id,
        protocol: "slp",
        seen_at: i,
        size: 400,
        data: icon.slice(800),
      };
      await put(database, "replies", reply);
      if (i < 1000) await put(database, "favicons", { hash: `${i}`, data: icon, first_seen: i });
    }
  });
}

async function put(
  database: Database,
  table: string,
  row: Readonly<Record<string, string | number | null>>,
): Promise<void> {
  const names = Object.keys(row);
  const sql = `insert into ${table} (${names}) values (${names.map(() => "?")})`;
  await database.run(sql, Object.values(row));
}

/** Runs a copy; returns its lines, time and largest memory. */
async function copy(from: string, to: string, killAfterMs?: number) {
  const began = performance.now();
  const child = new Deno.Command("deno", {
    args: ["run", "-A", "--no-check", MAIN, "copy", from, to, "--json"],
    stdout: "piped",
    stderr: "inherit",
  }).spawn();
  let [most, ticks] = [0, 0];
  const timer = setInterval(() => {
    try {
      const status = Deno.readTextFileSync(`/proc/${child.pid}/status`);
      most = Math.max(most, Number(/VmHWM:\s+(\d+)/.exec(status)?.[1] ?? 0));
      const fields = Deno.readTextFileSync(`/proc/${child.pid}/stat`).split(") ")[1].split(" ");
      ticks = Number(fields[11]) + Number(fields[12]); // user and system time, 1/100 s
    } catch (error) {
      if (!(error instanceof Deno.errors.NotFound)) throw error; // the process has ended
    }
  }, 100);
  if (killAfterMs !== undefined) setTimeout(() => child.kill("SIGKILL"), killAfterMs);
  const { stdout, code } = await child.output();
  clearInterval(timer);
  const seconds = (performance.now() - began) / 1000;
  const lines = new TextDecoder().decode(stdout).split("\n").filter((line) => line !== "");
  const state = code === 0 ? "copied" : "ended";
  console.log(`${state} in ${seconds.toFixed(1)} s, ${ticks / 100} s of CPU, ${most >> 10} MiB`);
  return lines.map((line) => JSON.parse(line));
}

await using server = await startPostgres();
const folder = await Deno.makeTempDir();
try {
  const [old, back] = ["old.db", "back.db"].map((name) => `${folder}/${name}`);
  {
    await using database = openSqlite(old);
    await database.script("pragma journal_mode = wal");
    await fill(database);
  }
  await withPostgres(server.url, async (url) => {
    console.log("version 2 in SQLite to PostgreSQL, killed after 15 s:");
    await copy(old, url, 15_000);
    const there = await copy(old, url);
    console.log("PostgreSQL to SQLite:");
    const again = await copy(url, back);
    // Scans have columns that version 2 does not have, so their digests cannot be compared.
    for (const { table, rows, digest, equal } of there.filter((one) => one.table !== "scans")) {
      const returned = again.find((one) => one.table === table);
      const isSame = equal && returned.equal && returned.digest === digest;
      console.log(`${table}: ${rows} rows, ${isSame ? "equal there and back" : "DIFFERENT"}`);
    }
    await using database = await connect(url);
    const [{ size }] = await database.rows("select pg_database_size(current_database()) as size");
    console.log(`${Math.round(Number(size) / 2 ** 20)} MiB in PostgreSQL`);
  });
} finally {
  await Deno.remove(folder, { recursive: true });
}
