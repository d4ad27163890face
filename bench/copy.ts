// deno-lint-ignore-file no-console
/**
 * Copies a database in SQLite to PostgreSQL and from there to another SQLite file. The first copy is
 * killed when it has half of the observations, and the same command continues it.
 *
 *     deno run -A bench/copy.ts [--servers 100000] [--observations 10]
 *
 * Each line of the table has the number of rows, and the digests of the original rows (`start`), of
 * those in PostgreSQL (`there`) and of those in the second file (`back`). The exit code is 1 unless
 * all are equal. Times, the CPU time and the largest memory of each copy are printed too: the resident
 * memory without the source, which SQLite maps.
 */
import { ATTACHMENTS, type RecordWithAttachments } from "../src/core/record.ts";
import type { Database } from "../src/store/database/database.ts";
import { openSqlite } from "../src/store/database/sqlite.ts";
import { createTables } from "../src/store/schema/create_tables.ts";
import { Store } from "../src/store/store.ts";
import { startPostgres } from "../tests/postgres/server.ts";
import { connect, withPostgres } from "../tests/store/databases.ts";
import { record, scanId } from "../tests/store/records.ts";
import { readOptions } from "./shared/options.ts";
import { table } from "./shared/table.ts";

const options = readOptions("the time and the digests of copies between databases", {
  servers: "100000",
  observations: "10",
});
const servers = Number(options.servers);
const observations = Number(options.observations);
const MAIN = new URL("../main.ts", import.meta.url).pathname;
/** Servers per transaction. */
const PAGE = 1000;
const ICON = "A".repeat(2000);

/** Makes the tables, and writes servers with several observations, icons and replies. */
async function fill(database: Database): Promise<void> {
  await createTables(database);
  const store = new Store(database, () => Promise.resolve());
  for (let from = 0; from < servers; from += PAGE) {
    const numbers = Array.from({ length: Math.min(PAGE, servers - from) }, (_, i) => from + i);
    await store.write(numbers.map(serverOf));
  }
  await database.transaction(async () => {
    for (let n = 2; n <= observations; n++) {
      await database.run("insert into scans (id, uuid, kind, state) values (?, ?, ?, ?)", [
        n,
        scanId(n),
        "sweep",
        "finished",
      ]);
      await database.run(
        "insert into observations select at + ? as at, server, ? as scan, latency_ms, " +
          "players_online, players_max, online, content from observations where scan = 1",
        [1_000_000 * n, n],
      );
    }
  });
}

function serverOf(i: number): RecordWithAttachments {
  return {
    ...record(25565, { host: `10.${i >> 16}.${i >> 8 & 255}.${i & 255}`, seen_at: i }),
    name: `Server ${i}`,
    players: ["Ann", "Bob"],
    requested_as: i % 10 === 0 ? `s${i}.example.org` : null,
    favicon_hash: `${i % 1000}`,
    [ATTACHMENTS]: { icon: ICON, replies: { slp: { size: 400, data: ICON.slice(800) } } },
  };
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
      most = Math.max(most, Number(/RssAnon:\s+(\d+)/.exec(status)?.[1] ?? 0));
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
  const [start, back] = ["start.db", "back.db"].map((name) => `${folder}/${name}`);
  {
    await using database = openSqlite(start);
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
    console.log("SQLite to PostgreSQL, killed in the middle:");
    await copy(start, url, async () => await stored() >= servers * observations / 2);
    console.log(`${await stored()} observations; the same command again:`);
    const there: Compared[] = await copy(start, url);
    console.log("PostgreSQL to SQLite:");
    const again: Compared[] = await copy(url, back);
    const lines = there.map((one) => {
      const returned = again.find((other) => other.table === one.table)!;
      const digests = [one.digest, one.copied_digest, returned.copied_digest];
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
