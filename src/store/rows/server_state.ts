/**
 * Writes rows of the table `server_state`: what each probe of a server changes.
 *
 * Every writer updates rows of `server_state` in the order of `server` before it updates rows of
 * `servers`. So writers lock rows in one order, and the lock of a state covers the rest of the server.
 * An update names the version of the row that was read before (compare and set): when another
 * transaction has changed the row since, the transaction runs again.
 *
 * @module
 */
import {
  type BulkStatement,
  ChangedMeanwhile,
  type ColumnDefinition,
  type Database,
  insertInto,
  updateOf,
  type Value,
} from "../database/database.ts";
import { storableTime } from "./stored_values.ts";

/** Columns of the table `server_state`. */
export const STATE_COLUMNS: readonly ColumnDefinition[] = [
  ["server", "integer"],
  ["scan", "integer"],
  ["probed_at", "timestamptz"],
  ["replied_at", "timestamptz"],
  ["latency_ms", "double precision"],
  ["players_online", "integer"],
  ["players_max", "integer"],
  ["missed_scans", "integer"],
  ["online", "boolean"],
  ["lacking_parts", "text"],
];

const INSERT_STATE = insertInto("server_state", STATE_COLUMNS, "on conflict (server) do nothing");
/** Inserts the row of a server that was not watched yet. */
const INSERT_UPTIME = insertInto(
  "server_uptime",
  [["server", "integer"]],
  "on conflict (server) do nothing",
);

const VERSION: readonly ColumnDefinition[] = [["of_server", "integer"], ["version", "text"]];

/** Builds the statement that updates states of a version. */
function updateVersion(columns: readonly ColumnDefinition[]): BulkStatement {
  const [key, isVersion] = ["old.server = new.of_server", "old.xmin::text = new.version"];
  return {
    ...updateOf("server_state", columns, VERSION, `${key} and ${isVersion}`),
    // A transaction of SQLite is the only one that writes.
    sqlite: updateOf("server_state", columns, VERSION, `${key} and new.version = ''`).sqlite,
  };
}

const UPDATE_STATE = updateVersion(STATE_COLUMNS.slice(1));
const UPDATE_UNANSWERED = updateVersion([
  ["online", "boolean"],
  ["missed_scans", "integer"],
  ["probed_at", "timestamptz"],
]);

/** Inserts the states of new servers: values of {@linkcode STATE_COLUMNS}, and their unknown uptimes. */
export async function insertStates(
  database: Database,
  rows: readonly (readonly Value[])[],
): Promise<void> {
  await database.bulk(INSERT_STATE, rows);
  await database.bulk(INSERT_UPTIME, rows.map(([server]) => [server]));
}

/**
 * Updates states of known servers: values of {@linkcode STATE_COLUMNS} and the version, in the order of
 * servers.
 *
 * @throws ChangedMeanwhile
 */
export async function updateStates(
  database: Database,
  rows: readonly (readonly Value[])[],
): Promise<void> {
  const keyLast = rows.map(([server, ...values]) => [
    ...values.slice(0, -1),
    server,
    values.at(-1)!,
  ]);
  await updateAll(database, UPDATE_STATE, keyLast);
}

/** A known server that did not reply. */
export interface UnansweredServer {
  /** `servers.id`. */
  readonly id: number;
  /** Whether the server counts as online. */
  readonly online: boolean;
  /** Number of scans in a row without a reply. */
  readonly missedScans: number;
  /** When the server was probed, Unix milliseconds. */
  readonly at: number;
  /** The version of the row that was read. */
  readonly version: string;
}

/**
 * Updates the states of servers that did not reply, in the order of their ids.
 *
 * @throws ChangedMeanwhile
 */
export async function writeUnanswered(
  database: Database,
  servers: readonly UnansweredServer[],
): Promise<void> {
  const inOrder = servers.toSorted((a, b) => a.id - b.id);
  await updateAll(
    database,
    UPDATE_UNANSWERED,
    inOrder.map(({ id, online, missedScans, at, version }) => [
      online ? 1 : 0,
      missedScans,
      storableTime(at) ?? 0,
      id,
      version,
    ]),
  );
}

async function updateAll(
  database: Database,
  statement: BulkStatement,
  rows: readonly (readonly Value[])[],
): Promise<void> {
  const changed = await database.bulk(statement, rows);
  if (changed < rows.length) {
    throw new ChangedMeanwhile("other programs keep changing the same servers");
  }
}
