/**
 * Writes rows of servers: inserts new ones, and updates only what changed.
 *
 * Every writer updates rows of `server_state` in the order of `server` before the wide rows of
 * `servers`, and inserts new servers in the order of `key`. So writers lock rows in one order.
 *
 * @module
 */
import type { ServerRecord } from "../../core/record.ts";
import type { Protocol } from "../../protocols/protocol.ts";
import type { BulkStatement, ColumnDefinition, Database, Value } from "../database/database.ts";
import { insertInto, isInList, listValue, updateOf } from "../database/database.ts";
import { detectChanges, type Transition } from "../events/detect.ts";
import type { EventBody } from "../events/watch_event.ts";
import { SERVER_COLUMNS, type ServerValues, serverValues } from "./server_values.ts";
import type { ServerIdentity } from "./identity.ts";
import { type KnownServer, readKnownServers } from "./known_servers.ts";
import { readTexts } from "./json_cells.ts";
import { insertStates, updateStates } from "./server_state.ts";
import { type LackingParts, lackingPartsText } from "../kept/lacking_parts.ts";
import { flagsIn, writeFlags } from "./server_flags.ts";
import { storableTime } from "./stored_values.ts";

/** A server to write: its last reply, and its state after that. */
export interface ServerWrite {
  readonly identity: ServerIdentity;
  readonly record: ServerRecord;
  /** `scans.id` of the reply; `null`: unknown. */
  readonly scan: number | null;
  readonly online: boolean;
  /** Number of scans in a row without a reply. */
  readonly missedScans: number;
  /** Why the server is offline again after the reply. Default: unknown. */
  readonly outage?: Transition["outage"];
  /** When the server was first found, Unix milliseconds. */
  readonly firstSeen: number;
  /** When the server was last probed, Unix milliseconds. */
  readonly probedAt: number;
  /** When the server last replied, Unix milliseconds; `null`: never. */
  readonly repliedAt: number | null;
  /** The parts of the status that the reply lacks, and that keep their values. Default: none. */
  readonly lacking?: LackingParts;
}

/** The result of a {@linkcode ServerWrite}. */
export interface WrittenServer {
  readonly write: ServerWrite;
  readonly values: ServerValues;
  /** `servers.id`. */
  readonly id: number;
  /** The stored data of the server before the write; `undefined`: there was no row. */
  readonly before: KnownServer | undefined;
  /** Whether the row has the written reply. `false`: it has a newer one. */
  readonly wins: boolean;
  /** The events of the change. */
  readonly events: readonly EventBody[];
}

/** Which writes change a known server. */
export interface WriteRules {
  /** Whether a write replaces a row that has the same time as the write. */
  readonly replacesSameTime: boolean;
  /** Whether a write of a known server changes nothing. */
  readonly onlyNew?: boolean;
  /** Whether a new server gets an event `online`. */
  readonly reportsNew: boolean;
  /** Every protocol of the program. */
  readonly allProtocols: readonly Protocol[];
}

/** Columns of `servers` that an insert fills in addition to {@linkcode SERVER_COLUMNS}. */
const TIMES: readonly ColumnDefinition[] = [
  ["first_seen", "timestamptz"],
  ["changed_at", "timestamptz"],
];

/** Inserts servers. SQLite has one more column, `address_sort`, as the last one. */
export const INSERT_SERVER: BulkStatement = (() => {
  const columns = [...SERVER_COLUMNS, ...TIMES];
  const conflict = "on conflict (key) do nothing";
  return {
    ...insertInto("servers", columns, conflict),
    sqlite: insertInto("servers", [...columns, ["address_sort", "text"]], conflict).sqlite,
  };
})();

const UPDATE_SERVER: BulkStatement = (() => {
  const columns = [...SERVER_COLUMNS, TIMES[1]];
  const key: readonly ColumnDefinition[] = [["of_id", "integer"]];
  const condition = "old.id = new.of_id";
  const withSort: readonly ColumnDefinition[] = [["address_sort", "text"], ...columns];
  return {
    ...updateOf("servers", columns, key, condition),
    sqlite: updateOf("servers", withSort, key, condition).sqlite,
  };
})();

const UPDATE_FIRST_SEEN = updateOf("servers", [["first_seen", "timestamptz"]], [
  ["of_id", "integer"],
  ["before", "timestamptz"],
], "old.id = new.of_id and old.first_seen > new.before");

const UPDATE_CHANGED_AT = updateOf("servers", [["changed_at", "timestamptz"]], [
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
  const written = valued.map(({ write, values }): Unreported => {
    const { key } = write.identity;
    const before = known.get(key) ?? fresh.known.get(key);
    const id = before?.id ?? fresh.ids.get(key)!;
    const wins = before === undefined || isReplaced(before, write, rules, database.now());
    return { write, values, id, before, wins };
  });
  written.sort((a, b) => a.id - b.id);
  const inserted = written.filter(({ before }) => before === undefined);
  const winners = written.filter(({ before, wins }) => before !== undefined && wins);
  await insertStates(database, inserted.map(stateRow));
  const versioned = winners.map((one) => [...stateRow(one), one.before!.state!.version]);
  await updateStates(database, versioned);
  const reported = rules.reportsNew ? [...inserted, ...winners] : winners;
  const events = await detectChanges(database, reported.map(transitionOf), rules.allProtocols);
  const different = winners.filter(isDifferent);
  await writeFlags(database, inserted.map(flagsOf), different.map(flagsOf));
  await updateRows(database, different);
  await updateFirstSeen(database, written.filter(({ before }) => before !== undefined));
  await writePlayers(database, [...inserted, ...winners]);
  return written.map((one) => ({ ...one, events: events.get(one.id) ?? [] }));
}

/** A write before its events are known. */
type Unreported = Omit<WrittenServer, "events">;

function transitionOf({ id, before, values, write }: Unreported): Transition {
  const { record, online, probedAt: at, outage } = write;
  return { id, before, values, record, online, at, outage };
}

/** Whether a write replaces the stored row. */
export function isReplaced(
  { state }: KnownServer,
  { probedAt }: Pick<ServerWrite, "probedAt">,
  { replacesSameTime, onlyNew = false }: Pick<WriteRules, "replacesSameTime" | "onlyNew">,
  now: number,
): boolean {
  const { probedAt: stands } = state!;
  if (onlyNew) return false;
  return probedAt > stands || (replacesSameTime && probedAt === stands) || stands > now;
}

/** A write with the values of its columns. */
type Valued = Pick<WrittenServer, "write" | "values">;

/** Servers that were not known before their insertion. */
interface InsertedServers {
  /** `servers.id` by key. */
  readonly ids: ReadonlyMap<string, number>;
  /** The rows of servers that another writer has inserted first, by key. */
  readonly known: ReadonlyMap<string, KnownServer>;
}

/** Inserts servers. */
async function insertServers(
  database: Database,
  writes: readonly Valued[],
): Promise<InsertedServers> {
  if (writes.length === 0) return { ids: new Map(), known: new Map() };
  const rows = writes.map(({ write: { firstSeen, probedAt }, values: { columns } }) => [
    ...columns.slice(0, -1),
    storableTime(firstSeen) ?? 0,
    storableTime(probedAt) ?? 0,
    columns.at(-1)!,
  ]);
  rows.sort(([a], [b]) => a! < b! ? -1 : 1);
  const inserted = await database.bulk(INSERT_SERVER, rows);
  const keys = writes.map(({ write }) => write.identity.key);
  const numbers = await database.rows(
    `select id, key from servers where ${isInList(database, "key", "text")}`,
    [listValue(database, keys)],
  );
  const ids = new Map(numbers.map(({ id, key }) => [String(key), Number(id)]));
  if (inserted === writes.length) return { ids, known: new Map() };
  const known = await readKnownServers(database, keys, { attempt: 1 });
  const others = [...known].filter(([, { state }]) => state !== undefined);
  return { ids, known: new Map(others) };
}

/** Values of STATE_COLUMNS. */
function stateRow({ id, write, values }: Pick<WrittenServer, "id" | "write" | "values">): Value[] {
  const { record: { latency_ms: latency } } = write;
  return [
    id,
    write.scan,
    storableTime(write.probedAt) ?? 0,
    storableTime(write.repliedAt),
    Number.isFinite(latency) ? latency : null,
    values.playersOnline,
    values.playersMax,
    write.missedScans,
    write.online ? 1 : 0,
    lackingPartsText(write.lacking ?? {}),
  ];
}

function flagsOf({ id, values }: Pick<WrittenServer, "id" | "values">) {
  return { id, flags: flagsIn(values.columns) };
}

/** Whether a known server's columns differ, or the server went online or offline. */
function isDifferent({ before, values, write: { online } }: Unreported): boolean {
  return before!.digest !== values.digest || before!.state!.online !== online;
}

/** Updates the rows of servers that differ. */
async function updateRows(database: Database, different: readonly Unreported[]): Promise<void> {
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

/** Updates `first_seen` of servers that were first found earlier than the database contains. */
async function updateFirstSeen(
  database: Database,
  written: readonly Unreported[],
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

/** Writes the names of players of servers whose names have changed. */
async function writePlayers(database: Database, written: readonly Unreported[]): Promise<void> {
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
  const names = readTexts(json);
  return names === null ? null : JSON.stringify(names);
}

/** Marks servers as changed at a time: `[time, id]`, in the order of ids. */
export async function markChanged(
  database: Database,
  changes: readonly (readonly [at: number, id: number])[],
): Promise<void> {
  await database.bulk(UPDATE_CHANGED_AT, changes.map(([at, id]) => [storableTime(at) ?? 0, id]));
}
