/**
 * Writes rows of servers: inserts new ones, and updates only what changed.
 *
 * Every writer updates rows of `server_state` in the order of `server` before the wide rows of
 * `servers`, and inserts new servers in the order of `key`. So writers lock rows in one order.
 *
 * @module
 */
import type { ServerRecord } from "../../core/record.ts";
import type { BulkStatement, ColumnDefinition, Database, Value } from "../database/database.ts";
import { insertInto, placeholder } from "../database/database.ts";
import { SERVER_COLUMNS, type ServerValues, serverValues } from "./server_values.ts";
import type { ServerIdentity } from "./identity.ts";
import { type KnownServer, readKnownServers } from "./known_servers.ts";
import { storableTime } from "./stored_values.ts";

/** A server to write: its last reply, and its state after that. */
export interface ServerWrite {
  readonly identity: ServerIdentity;
  readonly record: ServerRecord;
  /** `scans.id` of the reply; `null`: unknown. */
  readonly scan: number | null;
  readonly online: boolean;
  readonly failures: number;
  /** When the server was first found, Unix milliseconds. */
  readonly firstSeen: number;
  /** When the server was last probed, Unix milliseconds. */
  readonly probedAt: number;
  /** When the server last replied, Unix milliseconds; `null`: never. */
  readonly repliedAt: number | null;
}

/** What became of a {@linkcode ServerWrite}. */
export interface WrittenServer {
  readonly write: ServerWrite;
  readonly values: ServerValues;
  /** `servers.id`. */
  readonly id: number;
  /** What the database knew before; `undefined`: nothing. */
  readonly before: KnownServer | undefined;
  /** Whether the row has the written reply. `false`: it has a newer one. */
  readonly wins: boolean;
}

/** Which writes change a known server. */
export interface WriteRules {
  /** Whether a write of the same time as the row's changes the row. */
  readonly replacesSameTime: boolean;
  /** Whether a write of a server that is known changes nothing. */
  readonly onlyNew?: boolean;
}

/** Columns of `servers` beside {@linkcode SERVER_COLUMNS} in an insert. */
const TIMES: readonly ColumnDefinition[] = [
  ["first_seen", "timestamptz"],
  ["changed_at", "timestamptz"],
];

/** Inserts servers. SQLite has the column `address_sort` besides, as the last one. */
export const INSERT_SERVER: BulkStatement = (() => {
  const columns = [...SERVER_COLUMNS, ...TIMES];
  const conflict = "on conflict (key) do nothing";
  return {
    ...insertInto("servers", columns, conflict),
    sqlite: insertInto("servers", [...columns, ["address_sort", "text"]], conflict).sqlite,
  };
})();

/** Columns of the table `server_state`. */
export const STATE_COLUMNS: readonly ColumnDefinition[] = [
  ["server", "integer"],
  ["scan", "integer"],
  ["probed_at", "timestamptz"],
  ["replied_at", "timestamptz"],
  ["latency_ms", "double precision"],
  ["players_online", "integer"],
  ["players_max", "integer"],
  ["failures", "integer"],
  ["online", "boolean"],
];

const INSERT_STATE = insertInto("server_state", STATE_COLUMNS, "on conflict (server) do nothing");

/**
 * Builds the statement that updates rows by a key, for columns followed by parameters of the condition.
 *
 * @param condition The condition; `new.NAME` is a parameter, in the order of the list.
 */
function update(
  table: string,
  columns: readonly ColumnDefinition[],
  parameters: readonly ColumnDefinition[],
  condition: string,
): BulkStatement {
  const all = [...columns, ...parameters];
  const names = all.map(([name]) => name).join(", ");
  const arrays = all.map(([, type], i) => `$${i + 1}::${type}[]`).join(", ");
  const sets = columns.map(([name, type]) => `${name} = ${placeholder(type)}`).join(", ");
  return {
    types: all.map(([, type]) => type),
    sqlite: `update ${table} as old set ${sets} where ${condition.replace(/new\.\w+/g, "?")}`,
    postgres: `update ${table} as old set ${
      columns.map(([name]) => `${name} = new.${name}`).join(", ")
    } from unnest(${arrays}) as new (${names}) where ${condition}`,
  };
}

/** The row of the state is older, or its time is in the future: the clock of its writer was ahead. */
const OLDER = "(old.probed_at <= new.until or old.probed_at > new.now)";

const STATE_KEY: readonly ColumnDefinition[] = [
  ["of_server", "integer"],
  ["until", "timestamptz"],
  ["now", "timestamptz"],
];

const UPDATE_STATE = update(
  "server_state",
  STATE_COLUMNS.slice(1),
  STATE_KEY,
  `old.server = new.of_server and ${OLDER}`,
);

const UPDATE_SERVER: BulkStatement = (() => {
  const columns = [...SERVER_COLUMNS, TIMES[1]];
  const key: readonly ColumnDefinition[] = [["of_id", "integer"]];
  const condition = "old.id = new.of_id";
  const withSort: readonly ColumnDefinition[] = [["address_sort", "text"], ...columns];
  return {
    ...update("servers", columns, key, condition),
    sqlite: update("servers", withSort, key, condition).sqlite,
  };
})();

const UPDATE_FIRST_SEEN = update("servers", [["first_seen", "timestamptz"]], [
  ["of_id", "integer"],
  ["before", "timestamptz"],
], "old.id = new.of_id and old.first_seen > new.before");

const UPDATE_CHANGED_AT = update("servers", [["changed_at", "timestamptz"]], [
  ["of_id", "integer"],
], "old.id = new.of_id");

/** Writes the names of players of servers. */
export const UPSERT_PLAYERS = insertInto(
  "server_players",
  [["server", "integer"], ["names", "jsonb"], ["changed_at", "timestamptz"]],
  "on conflict (server) do update set names = excluded.names, changed_at = excluded.changed_at",
);

const DELETE_PLAYERS: BulkStatement = {
  types: ["integer"],
  sqlite: "delete from server_players where server = ?",
  postgres: "delete from server_players where server = any ($1::integer[])",
};

/**
 * Writes servers. The caller has begun a transaction.
 *
 * @param writes At most one per key.
 * @param known What {@linkcode readKnownServers} read in this transaction, for the keys of all writes.
 */
export async function writeServers(
  database: Database,
  writes: readonly ServerWrite[],
  known: ReadonlyMap<string, KnownServer>,
  rules: WriteRules,
): Promise<WrittenServer[]> {
  const valued = writes.map((write) => ({
    write,
    values: serverValues(write.record, write.identity),
  }));
  const fresh = await insertServers(
    database,
    valued.filter(({ write }) => !known.has(write.identity.key)),
  );
  const written = valued.map(({ write, values }): WrittenServer => {
    const { key } = write.identity;
    const inserted = fresh.get(key);
    const before = known.get(key) ?? (inserted?.state === undefined ? undefined : inserted);
    const { id } = (before ?? inserted)!;
    const wins = before === undefined || isReplaced(before, write, rules, database.now());
    return { write, values, id, before, wins };
  });
  written.sort((a, b) => a.id - b.id);
  const inserted = written.filter(({ before }) => before === undefined);
  await insertStates(database, inserted);
  const standing = await updateStates(
    database,
    written.filter(({ before, wins }) => before !== undefined && wins),
  );
  await updateRows(database, standing);
  await updateFirstSeen(database, written.filter(({ before }) => before !== undefined));
  await writePlayers(database, [...inserted, ...standing]);
  return written;
}

/** Whether a write replaces what the database knows. */
export function isReplaced(
  { state }: KnownServer,
  { probedAt }: Pick<ServerWrite, "probedAt">,
  { replacesSameTime, onlyNew = false }: WriteRules,
  now: number,
): boolean {
  const { probedAt: stands } = state!;
  if (onlyNew) return false;
  return probedAt > stands || (replacesSameTime && probedAt === stands) || stands > now;
}

/** A write with the values of its columns. */
type Valued = Pick<WrittenServer, "write" | "values">;

/** Inserts servers, and returns the rows with their ids. Another writer may insert them first. */
async function insertServers(
  database: Database,
  writes: readonly Valued[],
): Promise<ReadonlyMap<string, KnownServer>> {
  if (writes.length === 0) return new Map();
  const rows = writes.map(({ write: { firstSeen, probedAt }, values: { columns } }) => [
    ...columns.slice(0, -1),
    storableTime(firstSeen) ?? 0,
    storableTime(probedAt) ?? 0,
    columns.at(-1)!,
  ]);
  rows.sort(([a], [b]) => a! < b! ? -1 : 1);
  await database.bulk(INSERT_SERVER, rows);
  return await readKnownServers(database, writes.map(({ write }) => write.identity.key));
}

async function insertStates(database: Database, written: readonly WrittenServer[]): Promise<void> {
  await database.bulk(INSERT_STATE, written.map((one) => [one.id, ...stateValues(one)]));
}

/** Values of {@linkcode STATE_COLUMNS}, without the server. */
function stateValues({ write, values }: Valued): Value[] {
  const { record: { latency_ms: latency } } = write;
  return [
    write.scan,
    storableTime(write.probedAt) ?? 0,
    storableTime(write.repliedAt),
    Number.isFinite(latency) ? latency : null,
    values.playersOnline,
    values.playersMax,
    write.failures,
    write.online ? 1 : 0,
  ];
}

/**
 * Updates the states of known servers, which locks them against other writers.
 *
 * @returns The servers whose state stands, with what the database knows about them now: another writer
 * may have changed them since they were read.
 */
async function updateStates(
  database: Database,
  winners: readonly WrittenServer[],
): Promise<readonly WrittenServer[]> {
  const now = database.now();
  await database.bulk(
    UPDATE_STATE,
    winners.map((one) => [...stateValues(one), one.id, storableTime(one.write.probedAt) ?? 0, now]),
  );
  // A transaction of SQLite is the only one that writes.
  if (database.engine === "sqlite" || winners.length === 0) return winners;
  const keys = winners.map(({ write }) => write.identity.key);
  const current = await readKnownServers(database, keys);
  return winners.flatMap((one) => {
    const { before, write: { identity: { key }, probedAt } } = one;
    const known = current.get(key);
    return known?.state?.probedAt === (storableTime(probedAt) ?? 0)
      ? [{ ...one, before: { ...known, state: before!.state } }]
      : [];
  });
}

/** Updates the rows of servers whose columns differ, or that went online or offline. */
async function updateRows(database: Database, written: readonly WrittenServer[]): Promise<void> {
  const different = written.filter(({ before, values, write: { online } }) =>
    before!.digest !== values.digest || before!.state!.online !== online
  );
  await database.bulk(
    UPDATE_SERVER,
    different.map(({ before, values, write: { online, probedAt }, id }) => {
      const isChanged = before!.content !== values.content || before!.state!.online !== online;
      const at = storableTime(probedAt) ?? 0;
      const columns = values.columns.slice(0, -1);
      const sort = database.engine === "sqlite" ? [values.columns.at(-1)!] : [];
      return [...sort, ...columns, isChanged ? at : before!.changedAt, id];
    }),
  );
}

/** Updates when servers were first found, where that was earlier than the database knows. */
async function updateFirstSeen(
  database: Database,
  written: readonly WrittenServer[],
): Promise<void> {
  const earlier = written.filter(({ before, write }) => write.firstSeen < before!.firstSeen);
  await database.bulk(
    UPDATE_FIRST_SEEN,
    earlier.map(({ id, write: { firstSeen } }) => {
      const at = storableTime(firstSeen) ?? 0;
      return [at, id, at];
    }),
  );
}

/** Writes the names of players where they differ from those before. */
async function writePlayers(database: Database, written: readonly WrittenServer[]): Promise<void> {
  const different = written.filter(({ before, values: { players } }) =>
    normalized(before?.players ?? null) !== players
  );
  const [listed, unlisted] = [true, false].map((isListed) =>
    different.filter(({ values: { players } }) => (players !== null) === isListed)
  );
  await database.bulk(
    UPSERT_PLAYERS,
    listed.map(({ id, values: { players }, write: { probedAt } }) => [
      id,
      players,
      storableTime(probedAt) ?? 0,
    ]),
  );
  await database.bulk(DELETE_PLAYERS, unlisted.map(({ id }) => [id]));
}

/** JSON text in the form of JSON.stringify: PostgreSQL adds spaces. */
function normalized(json: string | null): string | null {
  return json === null ? null : JSON.stringify(JSON.parse(json));
}

/** Marks servers as changed at a time: `[time, id]`, in the order of ids. */
export async function markChanged(
  database: Database,
  changes: readonly (readonly [at: number, id: number])[],
): Promise<void> {
  await database.bulk(UPDATE_CHANGED_AT, changes.map(([at, id]) => [storableTime(at) ?? 0, id]));
}

const UPDATE_FAILED = update(
  "server_state",
  [["online", "boolean"], ["failures", "integer"], ["probed_at", "timestamptz"]],
  STATE_KEY,
  `old.server = new.of_server and ${OLDER}`,
);

/** A known server that did not reply. */
export interface FailedServer {
  /** `servers.id`. */
  readonly id: number;
  readonly online: boolean;
  readonly failures: number;
  /** When the server was probed, Unix milliseconds. */
  readonly at: number;
  /** Only rows that were probed no later than this are updated, Unix milliseconds. Default: `at`. */
  readonly until?: number;
}

/** Writes the state of servers that did not reply, in the order of their ids. */
export async function writeFailures(
  database: Database,
  failed: readonly FailedServer[],
): Promise<void> {
  const now = database.now();
  const inOrder = failed.toSorted((a, b) => a.id - b.id);
  await database.bulk(
    UPDATE_FAILED,
    inOrder.map(({ id, online, failures, at, until = at }) => [
      online ? 1 : 0,
      failures,
      storableTime(at) ?? 0,
      id,
      storableTime(until) ?? 0,
      now,
    ]),
  );
}
