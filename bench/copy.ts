// deno-lint-ignore-file no-console
/**
 * Copies a database of version 2 in SQLite to PostgreSQL and from there to another SQLite file. The
 * first copy is killed when it has half of the observations, and the same command continues it.
 *
 *     deno run -A bench/copy.ts [--servers 100000] [--observations 10]
 *
 * Each line of the table has the number of rows, and the digests of the original rows (`start`), of
 * those in PostgreSQL (`there`) and of those in the second file (`back`). The exit code is 1 unless
 * all are equal. The table `scans` has columns that version 2 does not have. Its rows in PostgreSQL are
 * therefore compared only with those in the second file. Times, the CPU time and
 * the largest memory of each copy are printed too.
 */
import type { Database, Value } from "../src/store/database/database.ts";
import { openSqlite } from "../src/store/database/sqlite.ts";
import { startPostgres } from "../tests/postgres/server.ts";
import { createOldTables, oldObservation, oldServer } from "../tests/store/copy/old_database.ts";
import { connect, withPostgres } from "../tests/store/databases.ts";
import { scanId } from "../tests/store/records.ts";
import { readOptions } from "./shared/options.ts";
import { table } from "./shared/table.ts";

const options = readOptions("the time and the digests of copies between databases", {
  servers: "100000",
  observations: "10",
});
const servers = Number(options.servers);
const observations = Number(options.observations);
const MAIN = new URL("../main.ts", import.meta.url).pathname;
/** Servers per statement. */
const PAGE = 1000;

/** Fills the tables of version 2. */
async function fill(database: Database): Promise<void> {
  await createOldTables(database, 2);
  const icon = "A".repeat(2000);
  const scans = Array.from({ length: observations }, (_, i) => ({
    id: scanId(i),
    kind: "sweep",
    state: "finished",
    started_at: i,
    shards: 1,
    config: "{}",
  }));
  await put(database, "scans", scans);
  const icons = Array.from({ length: Math.min(1000, servers) }, (_, i) => (
    { hash: `${i}`, data: icon, first_seen: i }
  ));
  await put(database, "favicons", icons);
  await database.transaction(async () => {
    for (let from = 0; from < servers; from += PAGE) {
      const numbers = Array.from({ length: Math.min(PAGE, servers - from) }, (_, i) => from + i);
      const page = numbers.map((i) => ({ i, row: serverOf(i) }));
      await put(database, "servers", page.map(({ row }) => row));
      await put(
        database,
        "observations",
        page.flatMap(({ i, row }) =>
          scans.map(({ id }, n) =>
            oldObservation(String(row.id), 1_000_000 * n + i, { scan_id: id })
          )
        ),
      );
      await put(
        database,
        "replies",
        page.map(({ i, row }) => (
          { server_id: row.id, protocol: "slp", seen_at: i, size: 400, data: icon.slice(800) }
        )),
      );
    }
  });
}

function serverOf(i: number): Record<string, Value> {
  return oldServer(`10.${i >> 16}.${i >> 8 & 255}.${i & 255}`, 25565, {
    motd: `§aServer ${i}`,
    name: `Server ${i}`,
    players: '["Ann","Bob"]',
    requested_as: i % 10 === 0 ? `s${i}.example.org` : null,
    favicon_hash: `${i % 1000}`,
  });
}

/** Inserts rows with equal columns. */
async function put(
  database: Database,
  name: string,
  rows: readonly Readonly<Record<string, Value>>[],
): Promise<void> {
  const columns = Object.keys(rows[0]);
  const sqlite = `insert into ${name} (${columns}) values (${columns.map(() => "?")})`;
  await database.bulk({ types: [], sqlite, postgres: "" }, rows.map((row) => Object.values(row)));
}

/** Runs a copy; returns its lines. It is killed as soon as `isDue` resolves to `true`. */
async function copy(from: string, to: string, isDue?: () => Promise<boolean>) {
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
  if (isDue !== undefined) {
    while (!await isDue()) await new Promise((resolve) => setTimeout(resolve, 2000));
    child.kill("SIGKILL");
  }
  const { stdout, code } = await child.output();
  clearInterval(timer);
  const seconds = (performance.now() - began) / 1000;
  const lines = new TextDecoder().decode(stdout).split("\n").filter((line) => line !== "");
  const state = code === 0 ? "copied" : "ended";
  console.log(`${state} in ${seconds.toFixed(1)} s, ${ticks / 100} s of CPU, ${most >> 10} MiB`);
  return lines.map((line) => JSON.parse(line));
}

/** A line of the output of `copy --json`. */
interface Compared {
  readonly table: string;
  readonly rows: number;
  readonly digest: string;
  readonly copied_digest: string;
  readonly equal: boolean;
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
  console.log(`${servers} servers, ${servers * observations} observations`);
  await withPostgres(server.url, async (url) => {
    await using database = await connect(url);
    const stored = async () => {
      const [{ n }] = await database.rows(
        "select count(*) as n from pg_class where relname = 'observations'",
      );
      if (n === 0) return 0; // the copy has made no tables yet
      return Number((await database.rows("select count(*) as n from observations"))[0].n);
    };
    console.log("version 2 in SQLite to PostgreSQL, killed in the middle:");
    await copy(old, url, async () => await stored() >= servers * observations / 2);
    console.log(`${await stored()} observations; the same command again:`);
    const there: Compared[] = await copy(old, url);
    console.log("PostgreSQL to SQLite:");
    const again: Compared[] = await copy(url, back);
    const lines = there.map((one) => {
      const returned = again.find((other) => other.table === one.table)!;
      const start = one.table === "scans" ? returned.digest : one.digest;
      const second = one.table === "scans" ? returned.digest : one.copied_digest;
      const digests = [start, second, returned.copied_digest];
      const isSame = one.equal && returned.equal && new Set(digests).size === 1;
      if (!isSame) Deno.exitCode = 1;
      const shown = digests.map((digest) => digest.slice(0, 16));
      return [one.table, one.rows, ...shown, isSame ? "equal" : "DIFFERENT"];
    });
    console.log(table(["table", "rows", "start", "there", "back", ""], lines));
    const [{ size }] = await database.rows("select pg_database_size(current_database()) as size");
    console.log(`${Math.round(Number(size) / 2 ** 20)} MiB in PostgreSQL`);
  });
} finally {
  await Deno.remove(folder, { recursive: true });
}
