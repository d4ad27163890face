/** The outputs of a scan that is killed: their servers at any time, and their errors at the end. */
import { serverId, type ServerRecord } from "../../src/core/record.ts";
import { readCsv, readNdjson } from "../../src/fleet/judge/verify_rows.ts";
import type { Random } from "../../src/fleet/random.ts";
import type { Database } from "../../src/store/database/database.ts";
import { openPostgres } from "../../src/store/database/postgres.ts";
import { parsePostgres } from "../../src/store/database/postgres_url.ts";
import { openSqlite } from "../../src/store/database/sqlite.ts";
import { storedServers } from "../../tests/store/databases.ts";
import { fileEvent, type Moment, textOf } from "./moments.ts";

/** The outputs of one scan. */
export interface Outputs {
  /** The values of `-o`. */
  readonly paths: readonly string[];
  /** The path of the checkpoint. */
  readonly checkpoint: string;
  /**
   * Chooses a random event of an output. A kill at this moment may leave the output partly written.
   */
  readonly border: () => Moment;
  /** The servers that each output contains now. */
  readonly held: () => Promise<Set<string>[]>;
  /** The rows at the end. */
  readonly rows: () => Promise<ServerRecord[]>;
  /** The errors at the end, except those of rows. */
  readonly faults: (ids: readonly string[]) => Promise<string[]>;
}

/** The complete lines of a text. A kill may leave the last line incomplete. */
const wholeLines = (text: string) => text.slice(0, text.lastIndexOf("\n") + 1);

/** The outputs CSV, NDJSON and SQLite of one scan. */
export function fileOutputs(folder: string, random: Random): Outputs {
  const [csv, ndjson] = [`${folder}/rows.csv`, `${folder}/rows.ndjson`];
  const database = `${folder}/servers.db`;
  const checkpoint = `${csv}.checkpoint`;
  const events: readonly [name: string, kind: Deno.FsEvent["kind"], path: string, most: number][] =
    [
      ["a row is written", "modify", ndjson, 60],
      ["the list grows", "modify", `${checkpoint}.list`, 60],
      ["the database's log grows", "modify", `${database}-wal`, 60],
      ["the next checkpoint is created", "create", `${checkpoint}.part`, 6],
      ["the next checkpoint is written", "modify", `${checkpoint}.part`, 6],
      ["the next checkpoint replaces the old one", "rename", checkpoint, 6],
    ];
  const csvIds = async () => {
    const text = wholeLines(await textOf(csv));
    return text === "" ? [] : readCsv(text).map(serverId);
  };
  const rows = async () => readNdjson(wholeLines(await textOf(ndjson)));
  return {
    paths: [csv, ndjson, database],
    checkpoint,
    border() {
      const [name, kind, path, most] = random.pick(events);
      return fileEvent({ name, folder, kind, path, nth: 1 + random.below(most) });
    },
    async held() {
      await using open = openSqlite(database);
      return [
        new Set(await csvIds()),
        new Set((await rows()).map(serverId)),
        await heldBy(open),
      ];
    },
    rows,
    async faults(ids) {
      await using open = openSqlite(database);
      const [{ integrity_check: integrity }] = await open.rows("pragma integrity_check");
      const faults = await databaseFaults(open, ids);
      if ((await csvIds()).join() !== ids.join()) faults.push("CSV and NDJSON differ");
      if (integrity !== "ok") faults.push(`integrity ${integrity}`);
      return faults;
    },
  };
}

/** A PostgreSQL database as the only output of a scan. */
export function postgresOutput(folder: string, url: string, random: Random): Outputs {
  const location = parsePostgres(url);
  const open = () => openPostgres(location, "the server", location.password);
  const busy = "select count(*) as n from pg_stat_activity where pid <> pg_backend_pid() and " +
    "application_name = 'blocksweep' and (state = 'idle in transaction' or query = 'commit')";
  return {
    paths: [url],
    checkpoint: `${folder}/postgres.checkpoint`,
    border() {
      const nth = 1 + random.below(20);
      return {
        name: `within a transaction (${nth})`,
        async come() {
          await using database = await open();
          for (let seen = 0; seen < nth;) {
            const [{ n }] = await database.rows(busy);
            seen += Number(n);
            await new Promise((resolve) => setTimeout(resolve, 1));
          }
        },
      };
    },
    async held() {
      await using database = await open();
      return [await heldBy(database)];
    },
    async rows() {
      await using database = await open();
      return await storedServers(database);
    },
    async faults(ids) {
      await using database = await open();
      return await databaseFaults(database, ids);
    },
  };
}

/** The servers of a database; none if the scan was killed before it created the tables. */
async function heldBy(database: Database): Promise<Set<string>> {
  const rows = await database.rows("select key as id from servers").catch(() => []);
  return new Set(rows.map(({ id }) => String(id)));
}

/**
 * The errors of a database. It must contain exactly these servers, one observation of each, and one
 * finished scan.
 */
async function databaseFaults(database: Database, ids: readonly string[]): Promise<string[]> {
  const held = await heldBy(database);
  const [{ n, servers, scans }] = await database.rows(
    "select count(*) as n, count(distinct server) as servers, count(distinct scan) as scans " +
      "from observations",
  );
  const [finished] = await database.rows(
    "select count(*) as n from scans where state = 'finished'",
  );
  const counted = [n, servers, scans, finished.n].join();
  const wanted = [ids.length, ids.length, 1, 1].join();
  const faults: string[] = [];
  if ([...held].sort().join() !== ids.toSorted().join()) {
    faults.push("a database has other servers");
  }
  if (counted !== wanted) {
    faults.push(`observations, servers, scans, finished: ${counted}, not ${wanted}`);
  }
  return faults;
}
