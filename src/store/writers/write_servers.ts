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
import { ChangedMeanwhile, insertInto, updateOf } from "../database/database.ts";
import { detectChanges, type DetectionRules, type Transition } from "../events/detect.ts";
import type { EventBody } from "../events/watch_event.ts";
import { addressSort } from "../rows/addresses.ts";
import { readTexts } from "../rows/json_cells.ts";
import { SERVER_COLUMNS, type ServerValues, serverValues } from "../rows/server_values.ts";
import type { ServerIdentity } from "../rows/identity.ts";
import { type KnownServer, readKnownServers } from "../rows/known_servers.ts";
import { insertStates, updateStates } from "../rows/server_state.ts";
import { flagsIn, writeFlags } from "../rows/server_flags.ts";
import { addTags } from "../rows/server_tags.ts";
import { storableTime } from "../rows/stored_values.ts";

/** A server to write: its last reply, and its state after that. */
export interface ServerWrite {
  readonly identity: ServerIdentity;
  readonly record: ServerRecord;
  /** `scans.id` of the reply; `null`: unknown. */
  readonly scan: number | null;
  readonly online: boolean;
  /** Number of scans in a row without a reply. */
  readonly missedScans: number;
  /** The failed polls after the reply, because of which the server is offline again. Default: unknown. */
  readonly outage?: Transition["outage"];
  /** When the server was first found, Unix milliseconds. */
  readonly firstSeen: number;
  /** When the server was last probed, Unix milliseconds. */
  readonly probedAt: number;
  /** When the server last replied, Unix milliseconds; `null`: never. */
  readonly repliedAt: number | null;
  /** When the server published the names of players, Unix milliseconds. Default: with its last reply. */
  readonly playersAt?: number;
  /** The column `lacking_parts`, as `lackingPartsText()` makes it. Default: no part is lacking. */
  readonly lacking?: string;
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
export interface WriteRules extends DetectionRules {
  /** Whether a write replaces a row that has the same time as the write. */
  readonly replacesSameTime: boolean;
  /** Whether a write of a known server changes nothing. */
  readonly onlyNew?: boolean;
  /** Whether a new server gets an event `online`. */
  readonly reportsNew: boolean;
  /** Tags that the servers get, besides those that they have. Default: none. */
  readonly tags?: readonly string[];
}

/** Columns of `servers` that an insert fills in addition to {@linkcode SERVER_COLUMNS}. */
const TIMES: readonly ColumnDefinition[] = [
  ["first_seen", "timestamptz"],
  ["changed_at", "timestamptz"],
];

/** The column that only SQLite has. */
const ADDRESS_SORT: ColumnDefinition = ["address_sort", "text"];

/** Inserts servers. SQLite has one more column, `address_sort`, as the last one. */
export const INSERT_SERVER: BulkStatement = insertInto(
  "servers",
  [...SERVER_COLUMNS, ...TIMES],
  "on conflict (key) do nothing",
  [ADDRESS_SORT],
);

const UPDATE_SERVER: BulkStatement = (() => {
  const columns = [...SERVER_COLUMNS, TIMES[1]];
  const key: readonly ColumnDefinition[] = [["of_id", "integer"]];
  const condition = "old.id = new.of_id";
  return {
    ...updateOf("servers", columns, key, condition),
    sqlite: updateOf("servers", [...columns, ADDRESS_SORT], key, condition).sqlite,
  };
})();

const UPDATE_FIRST_SEEN = updateOf("servers", [["first_seen", "timestamptz"]], [
  ["of_id", "integer"],
  ["before", "timestamptz"],
], "old.id = new.of_id and old.first_seen > new.before");

const UPDATE_CHANGED_AT = updateOf("servers", [["changed_at", "timestamptz"]], [
  ["of_id", "integer"],
], "old.id = new.of_id");

/** Writes the names of players of servers, and when the servers published them. */
export const UPSERT_PLAYERS = insertInto(
  "server_players",
  [
    ["server", "integer"],
    ["names", "jsonb"],
    ["seen_at", "timestamptz"],
    ["same_since", "timestamptz"],
  ],
  "on conflict (server) do update set names = excluded.names, seen_at = excluded.seen_at, " +
    "same_since = excluded.same_since",
);

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
  const now = database.now();
  const inOrder = writes.toSorted((a, b) => a.identity.key < b.identity.key ? -1 : 1);
  const all = inOrder.map((write): Draft => {
    const values = serverValues(write.record, write.identity);
    return { write, values, id: 0, before: known.get(write.identity.key), wins: true, events: [] };
  });
  await insertServers(database, all.filter(({ before }) => before === undefined), now);
  const [inserted, winners]: [Draft[], Draft[]] = [[], []];
  for (const one of all) {
    const { write, before } = one;
    if (before === undefined) {
      inserted.push(one);
      continue;
    }
    one.id = before.id;
    one.wins = isReplaced(before, write, rules, now);
    if (one.wins) winners.push(one);
  }
  for (const list of [all, inserted, winners]) list.sort((a, b) => a.id - b.id);
  await insertStates(database, inserted.map(stateRow));
  await updateStates(database, winners.map(stateUpdate));
  await findEvents(database, rules.reportsNew ? [...inserted, ...winners] : winners, rules);
  const different = winners.filter((one) => isDifferent(one) || one.before!.changedAt > now);
  await writeFlags(database, inserted.map(flagsOf), different.map(flagsOf));
  await updateRows(database, different, now);
  await updateFirstSeen(database, all.filter(({ before }) => before !== undefined));
  await writePlayers(database, [...inserted, ...winners], now);
  const { tags = [] } = rules;
  await addTags(database, all.map(({ id }) => ({ id, tags })));
  return all;
}

/** A {@linkcode WrittenServer} while it is being written: its id, `before` and events may be set later. */
type Draft = { -readonly [name in keyof WrittenServer]: WrittenServer[name] };

async function findEvents(
  database: Database,
  written: readonly Draft[],
  rules: WriteRules,
): Promise<void> {
  const found = await detectChanges(
    database,
    written.map(({ id, before, values, write }): Transition => {
      const { record, online, probedAt: at, outage } = write;
      return { id, before, values, record, online, at, outage };
    }),
    rules,
  );
  for (const [i, one] of written.entries()) one.events = found[i].events;
}

/**
 * Whether a write replaces the stored row.
 *
 * @throws Error when another program has removed the state of the server.
 */
export function isReplaced(
  { key, state }: Pick<KnownServer, "key" | "state">,
  { probedAt }: Pick<ServerWrite, "probedAt">,
  { replacesSameTime, onlyNew = false }: Pick<WriteRules, "replacesSameTime" | "onlyNew">,
  now: number,
): boolean {
  if (state === undefined) {
    throw new Error(`server ${JSON.stringify(key)} has no row in server_state`);
  }
  const { probedAt: stands } = state;
  if (onlyNew) return false;
  return probedAt > stands || (replacesSameTime && probedAt === stands) || stands > now;
}

/**
 * Inserts servers, and sets their ids. If another writer has inserted a server first, `before` is set to
 * that row.
 *
 * @param servers Servers in the order of their keys.
 * @throws ChangedMeanwhile
 */
async function insertServers(
  database: Database,
  servers: readonly Draft[],
  now: number,
): Promise<void> {
  if (servers.length === 0) return;
  const rows = servers.map(({ write: { firstSeen, identity }, values: { columns } }) => {
    columns.push(storableTime(firstSeen) ?? 0, now);
    if (database.engine === "sqlite") columns.push(addressSort(identity.address));
    return columns;
  });
  const ids = await database.insert(INSERT_SERVER, rows);
  const others = servers.filter((one, i) => {
    one.id = ids[i] ?? 0;
    return ids[i] === undefined;
  });
  const keys = others.map(({ write }) => write.identity.key);
  const known = await readKnownServers(database, keys, { attempt: 1 });
  for (const one of others) {
    one.before = known.get(one.write.identity.key);
    if (one.before === undefined) {
      throw new ChangedMeanwhile("other programs keep removing servers");
    }
  }
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
    write.lacking ?? "",
  ];
}

/** Values of STATE_COLUMNS, and the version of the row that was read. */
function stateUpdate(one: Draft): Value[] {
  const row = stateRow(one);
  row.push(one.before!.state!.version);
  return row;
}

function flagsOf({ id, values }: Pick<WrittenServer, "id" | "values">) {
  return { id, flags: flagsIn(values.columns) };
}

/** Whether a known server's columns differ, or the server went online or offline. */
function isDifferent({ before, values, write: { online } }: Draft): boolean {
  return before!.digest !== values.digest || before!.state!.online !== online;
}

/** Updates the rows of servers that differ. A `changed_at` after the current time is replaced too. */
async function updateRows(
  database: Database,
  different: readonly Draft[],
  now: number,
): Promise<void> {
  await database.bulk(
    UPDATE_SERVER,
    different.map(({ before, values, write: { online, identity }, id }) => {
      const isChanged = before!.content !== values.content || before!.state!.online !== online ||
        before!.changedAt > now;
      const row = values.columns.slice(0, SERVER_COLUMNS.length);
      row.push(isChanged ? now : before!.changedAt);
      if (database.engine === "sqlite") row.push(addressSort(identity.address));
      row.push(id);
      return row;
    }),
  );
}

/** Updates `first_seen` of servers that were first found earlier than the database contains. */
async function updateFirstSeen(
  database: Database,
  written: readonly Draft[],
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

/**
 * Writes the names of players of servers whose replies have them. Earlier names stay if a reply has
 * none: a watch without `--names`, a protocol without names, or an empty server does not refute them.
 * Later names stay too, unless their time is in the future.
 */
async function writePlayers(
  database: Database,
  written: readonly Draft[],
  now: number,
): Promise<void> {
  const rows = written.flatMap(({ id, before, values: { players }, write }): Value[][] => {
    const { playersAt, repliedAt, probedAt } = write;
    const at = storableTime(playersAt ?? repliedAt ?? probedAt) ?? 0;
    const stands = before?.playersAt ?? -Infinity;
    if (players === null || at < stands && stands <= now) return [];
    const isSame = hasSameNames(before?.players ?? null, String(players));
    return [[id, players, at, isSame ? Math.min(before!.playersSince ?? at, at) : at]];
  });
  await database.bulk(UPSERT_PLAYERS, rows);
}

/** Whether two lists, which are JSON texts, have the same names in any order. */
function hasSameNames(before: string | null, now: string): boolean {
  if (before === null) return false;
  const [old, names] = [readTexts(before), readTexts(now)];
  return old !== null && old.length === names?.length && new Set(old).isSubsetOf(new Set(names));
}

/** Marks servers as changed now. `ids`: `servers.id`, in order. */
export async function markChanged(database: Database, ids: readonly number[]): Promise<void> {
  await database.bulk(UPDATE_CHANGED_AT, ids.map((id) => [database.now(), id]));
}
