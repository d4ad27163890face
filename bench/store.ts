// deno-lint-ignore-file no-console
/**
 * Measures how many rows per second are written into databases, and the peak of memory. A loop that
 * runs only the SQL statements (`bare`) writes the same rows for comparison.
 *
 *     deno run --allow-read --allow-write --allow-env --allow-net=127.0.0.1 --allow-sys=uid --allow-run
 *         bench/store.ts [--records 200000] [--rounds 2] [--engines sqlite,postgres]
 *
 * It needs Linux. For PostgreSQL it needs Debian's `postgresql`, and starts a server of its own
 * with the default settings (fsync is on). Records come in batches of 1,000; the time to create
 * them does not count. The two programs write each batch alternately, each into a database of its
 * own, because a busy machine then slows both. The peak is that of a process that runs only one of
 * them. `insert` writes all records for the first time. `upsert` writes them again, as a second
 * scan that finds the same servers.
 *
 * The comparison favors `bare`: a loop that writes records would have to convert them too. For known rows
 * it favors `ours`, which reads what is stored, and then writes only what has changed.
 *
 * `ours` is what a scan calls (`Store.write`): it converts records to values, hashes the content,
 * searches for duplicate servers, finds events, and runs the transaction. `bare` gets these values,
 * computed outside of its time. It reads nothing, so it writes all columns of each row of the same tables
 * again. It runs the statements of a batch in one transaction: for SQLite prepared statements, row by row
 * (`ours` writes 16 rows of narrow tables with one statement); for PostgreSQL `insert ... select unnest`.
 * `share` is the rows per second of `ours` divided by those of `bare`, the median of the rounds.
 */
import { formatAddress } from "../src/core/address.ts";
import type { ServerRecord } from "../src/core/record.ts";
import {
  type BulkStatement,
  type Database,
  insertInto,
  type Value,
} from "../src/store/database/database.ts";
import { INSERT_EVENT } from "../src/store/events/write_events.ts";
import { addressSort } from "../src/store/rows/addresses.ts";
import { identityOf } from "../src/store/rows/identity.ts";
import { INSERT_OBSERVATION, observationValues } from "../src/store/writers/observation_rows.ts";
import { STATE_COLUMNS } from "../src/store/rows/server_state.ts";
import { INSERT_SERVER, UPSERT_PLAYERS } from "../src/store/writers/write_servers.ts";
import { SERVER_COLUMNS, serverValues } from "../src/store/rows/server_values.ts";
import { createTables } from "../src/store/schema/create_tables.ts";
import { openPostgres } from "../src/store/database/postgres.ts";
import { parsePostgres } from "../src/store/database/postgres_url.ts";
import { openSqlite } from "../src/store/database/sqlite.ts";
import { Store } from "../src/store/store.ts";
import { startPostgres } from "../tests/postgres/server.ts";
import { readOptions } from "./shared/options.ts";
import { readProc } from "./shared/processes.ts";
import { repliesOfFleet, rowOf } from "./shared/rows.ts";
import { median, table } from "./shared/table.ts";

const BATCH = 1000;
const BASE = 2000;

const scanId = (n: number) => `00000000-0000-7000-8000-00000000000${n}`;

const options = readOptions("rows per second into databases", {
  records: "200000",
  rounds: "2",
  engines: "sqlite,postgres",
  case: "", // this option and the next one are for processes that the benchmark starts
  places: "",
});
const records = Number(options.records);

/** Records of different kinds, each of another server. */
function* batches(scan: number): Iterable<ServerRecord[]> {
  const base = (["raknet", "query", "slp"] as const).flatMap((name) =>
    repliesOfFleet(name, Math.ceil(BASE / 3)).map(rowOf)
  );
  for (let at = 0; at < records; at += BATCH) {
    yield Array.from({ length: Math.min(BATCH, records - at) }, (_, i) => ({
      ...base[(at + i) % base.length],
      host: formatAddress(0x7f000000 + at + i),
      players_online: (at + i + scan) % 100,
      seen_at: 1.7e12 + scan * 1e6 + at,
      scan_id: scanId(scan),
    }));
  }
}

/** Writes a batch. */
type Write = (batch: readonly ServerRecord[]) => Promise<void>;

async function open(location: string): Promise<Database> {
  const postgres = location.startsWith("postgres:") ? parsePostgres(location) : undefined;
  const database = postgres === undefined
    ? openSqlite(location)
    : await openPostgres(postgres, "the server", postgres.password);
  await createTables(database);
  return database;
}

async function ours(location: string): Promise<Write> {
  const store = new Store(await open(location), () => Promise.resolve());
  return (batch) => store.write(batch);
}

/** The rows of a batch, by table. The id of a server is the index of its record, plus one. */
function rowsOf(batch: readonly ServerRecord[], first: number): Record<Table, Value[][]> {
  const rows: Record<Table, Value[][]> = {
    servers: [],
    state: [],
    players: [],
    replied: [],
    seen: [],
    events: [],
  };
  for (const [i, record] of batch.entries()) {
    const id = first + i + 1;
    const identity = identityOf(record)!;
    const values = serverValues(record, identity);
    const { columns, playersOnline, playersMax, players } = values;
    const { seen_at: at, latency_ms: latencyMs } = record;
    rows.servers.push([...columns, at, at, addressSort(identity.address)]);
    rows.state.push([id, 1, at, at, latencyMs, playersOnline, playersMax, 0, 1, ""]);
    if (players !== null) rows.players.push([id, players, at]);
    const event = crypto.randomUUID();
    rows.events.push([event, at, id, 1, "online", '{"offline_ms":null}']);
    rows.replied.push([record.scan_id === scanId(1) ? 1 : 2, id]);
    const scan = record.scan_id === scanId(1) ? 1 : 2;
    rows.seen.push(observationValues({ server: id, at, scan }, 0, { values, latencyMs }));
  }
  return rows;
}

const INSERT_SCAN_SERVER = insertInto(
  "scan_servers",
  [["scan", "integer"], ["server", "integer"]],
  "on conflict (scan, server) do nothing",
);

/** The tables that the loop writes. */
type Table = "servers" | "state" | "players" | "replied" | "seen" | "events";

const UPSERT_STATE = insertInto(
  "server_state",
  STATE_COLUMNS,
  `on conflict (server) do update set ${
    STATE_COLUMNS.slice(1).map(([name]) => `${name} = excluded.${name}`).join(", ")
  }`,
);

const UPSERT_SERVER: BulkStatement = (() => {
  const columns = SERVER_COLUMNS.slice(1).map(([name]) => `${name} = excluded.${name}`).join(", ");
  const upsert = (sql: string) => sql.replace("do nothing", `do update set ${columns}`);
  const { types, sqlite, postgres } = INSERT_SERVER;
  return { types, sqlite: upsert(sqlite), postgres: upsert(postgres) };
})();

/** The statement without its form for SQLite that writes several rows. */
function rowByRow(statement: BulkStatement): BulkStatement {
  return { ...statement, sqliteBlock: undefined };
}

/** A function that runs only the statements that change rows. `timed` adds up their time. */
async function bare(location: string, timed: Timed): Promise<Write> {
  const database = await open(location);
  const begin = { kind: "sweep", at: 0, config: "{}" } as const;
  const store = new Store(database);
  for (const scan of [1, 2]) await store.begin({ id: scanId(scan), ...begin });
  let written = 0;
  return (batch) => {
    const isFirst = written < records;
    const rows = rowsOf(batch, written % records);
    written += batch.length;
    return timed(() =>
      database.transaction(async () => {
        await database.bulk(UPSERT_SERVER, rows.servers);
        await database.bulk(rowByRow(UPSERT_PLAYERS), rows.players);
        await database.bulk(rowByRow(UPSERT_STATE), rows.state);
        await database.bulk(rowByRow(INSERT_OBSERVATION), rows.seen);
        await database.bulk(rowByRow(INSERT_SCAN_SERVER), rows.replied);
        if (isFirst) await database.bulk(rowByRow(INSERT_EVENT), rows.events);
      })
    );
  };
}

/** Runs work and adds its time to a sum. */
type Timed = (work: () => void | Promise<void>) => Promise<void>;

/**
 * The result of a child process: rows per second of each program, and the peak of its memory, MiB.
 */
interface Measured {
  readonly speeds: Readonly<Record<string, readonly number[]>>;
  readonly peak: number;
}

/** Writes all records twice. Each batch is written by all programs, in alternating order. */
async function measure(names: readonly string[], places: readonly string[]): Promise<Measured> {
  const spent = new Map<string, number>();
  const ways: { name: string; write: Write }[] = [];
  for (const [i, name] of names.entries()) {
    const timed: Timed = async (work) => {
      const begun = performance.now();
      await work();
      spent.set(name, spent.get(name)! + performance.now() - begun);
    };
    const store = name === "bare" ? undefined : await ours(places[i]);
    const write: Write = store === undefined
      ? await bare(places[i], timed)
      : (batch) => timed(() => store(batch));
    ways.push({ name, write });
  }
  const speeds: Record<string, number[]> = Object.fromEntries(names.map((name) => [name, []]));
  for (const scan of [1, 2]) {
    for (const name of names) spent.set(name, 0);
    for (const batch of batches(scan)) {
      for (const { write } of ways) await write(batch);
      ways.reverse();
    }
    for (const name of names) speeds[name].push(1000 * records / spent.get(name)!);
  }
  const [, peak] = /^VmHWM:\s+(\d+) kB/m.exec(await readProc(`/proc/${Deno.pid}/status`))!;
  return { speeds, peak: Number(peak) / 1024 };
}

async function child(names: string, places: readonly string[]): Promise<Measured> {
  const { code, stdout } = await new Deno.Command("deno", {
    args: [
      ...["run", "--allow-read", "--allow-write", "--allow-env", "--allow-net=127.0.0.1"],
      ...["--allow-run", import.meta.filename!, "--case", names, "--places", places.join(" ")],
      ...["--records", options.records],
    ],
    env: { DENO_NO_UPDATE_CHECK: "1" },
    stdin: "null",
    stderr: "inherit",
  }).output();
  if (code !== 0) throw new Error(`${names} failed`);
  return JSON.parse(new TextDecoder().decode(stdout));
}

/** Measures an engine. Returns lines of the table. */
async function compare(
  engine: string,
  newPlace: () => Promise<string>,
): Promise<(string | number)[][]> {
  const both: Measured[] = [];
  for (let round = 0; round < Number(options.rounds); round++) {
    both.push(await child("bare,ours", [await newPlace(), await newPlace()]));
  }
  const lines: (string | number)[][] = [];
  for (const name of ["bare", "ours"]) {
    const { peak } = await child(name, [await newPlace()]);
    const speed = (i: number) => Math.round(median(both.map(({ speeds }) => speeds[name][i])));
    const share = (i: number) =>
      median(both.map(({ speeds }) => speeds[name][i] / speeds.bare[i])).toFixed(2);
    lines.push([`${engine} ${name}`, speed(0), speed(1), share(0), share(1), Math.round(peak)]);
  }
  return lines;
}

async function compareAll(): Promise<void> {
  const folder = await Deno.makeTempDir({ prefix: "blocksweep-store-" });
  await using stack = new AsyncDisposableStack();
  stack.defer(() => Deno.remove(folder, { recursive: true }));
  const lines: (string | number)[][] = [];
  let made = 0;
  for (const engine of options.engines.split(",")) {
    if (engine === "sqlite") {
      lines.push(...await compare(engine, () => Promise.resolve(`${folder}/${made++}.db`)));
      continue;
    }
    await using server = await startPostgres("on");
    const admin = parsePostgres(`${server.url}postgres`);
    lines.push(
      ...await compare(engine, async () => {
        await using database = await openPostgres(admin, "the server", admin.password);
        await database.script(`create database list${++made}`);
        return `${server.url}list${made}`;
      }),
    );
  }
  const head = ["case", "insert rows/s", "upsert rows/s", "insert share", "upsert share"];
  console.log(table([...head, "peak MiB"], lines));
}

if (options.case === "") await compareAll();
else {
  console.log(JSON.stringify(await measure(options.case.split(","), options.places.split(" "))));
  Deno.exit(); // exits explicitly, because the databases are still open
}
