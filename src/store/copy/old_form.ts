/**
 * The tables of a database of the versions 1 to 3, for a copy. In these versions the key of a
 * server is `host:port`, and the key of a scan is its identity. One table contains both the last
 * reply and the state of a server.
 *
 * The servers are numbered by the time of their last reply, the newest first. Of several servers
 * that were requested by one name, the newest therefore gets the name as its key, and the others
 * get their addresses.
 *
 * @module
 */
import { FIELDS, type ServerRecord } from "../../core/record.ts";
import {
  type ColumnDefinition,
  type Database,
  isInList,
  listValue,
  type Row,
  type Value,
} from "../database/database.ts";
import { byAddress, identityOf, type ServerIdentity } from "../rows/identity.ts";
import { SERVER_COLUMNS, serverValues } from "../rows/server_values.ts";
import { fieldOf } from "../rows/stored_record.ts";
import { storableTime } from "../rows/stored_values.ts";
import { TABLE_COLUMNS } from "../schema/table_columns.ts";
import { canonicalValue, type CopiedRow, type CopiedTable } from "./copied_table.ts";
import { flagsTable } from "./current_form.ts";
import { otherOldTables } from "./old_tables.ts";
import { numberedServers, oldBatches, OldScans } from "./old_rows.ts";

/** Names of columns that differ from those of the record's fields. */
const COLUMN_OF: Partial<Record<keyof ServerRecord, string>> = {
  seen_at: "last_online",
  scan_id: "last_scan",
};

/**
 * The tables of a database of an old form.
 *
 * @param target The database that the rows are written to. No server of the source gets a name that a
 * server of the target already has.
 */
export async function oldTables(source: Database, target: Database): Promise<CopiedTable[]> {
  const scans = await OldScans.read(source);
  const servers = serversTable(source, target);
  return [
    scans.table(source),
    servers,
    stateTable(source, scans),
    playersTable(source),
    flagsTable(servers),
    ...await otherOldTables(source, scans),
  ];
}

/** The columns of a table in the target. */
function columnsOf(table: string): ColumnDefinition[] {
  const { columns } = TABLE_COLUMNS.find(({ name }) => name === table)!;
  return columns.map(({ name, type }) => [name, type] as ColumnDefinition);
}

/** A server of the old form. */
interface OldServer {
  /** Its number in the target. */
  readonly id: number;
  readonly row: Row;
  readonly record: ServerRecord;
  readonly identity: ServerIdentity;
}

/** The server of a row; `undefined` when its host is not an address. */
function serverOf(row: Row): OldServer | undefined {
  const record: Record<string, unknown> = {};
  for (const { name } of FIELDS) record[name] = fieldOf(name, row[COLUMN_OF[name] ?? name]);
  record.seen_at ??= row.last_seen;
  const identity = identityOf(record as unknown as ServerRecord);
  if (identity === undefined) return undefined;
  return { id: Number(row.number), row, record: record as unknown as ServerRecord, identity };
}

/** Reads all servers in the order of their numbers. */
function readServers(source: Database) {
  return oldBatches(source, {
    from: `${numberedServers(source)} n join servers s on s.id = n.old_id`,
    select: "n.number, s.*",
    key: [["n.number", "number", "bigint"]],
  });
}

function serversTable(source: Database, target: Database): CopiedTable {
  const columns = columnsOf("servers");
  const read = readServers(source);
  const convert = ({ id, row, record }: OldServer, identity: ServerIdentity): CopiedRow => {
    const { columns: filled } = serverValues(record, identity);
    const values: Record<string, Value> = {
      id,
      first_seen: storableTime(Number(row.first_seen)) ?? 0,
      changed_at: storableTime(Number(row.last_seen)) ?? 0,
      tags: "[]",
      notes: null,
    };
    SERVER_COLUMNS.forEach(([name], i) => values[name] = filled[i]);
    return {
      values: columns.map((column) => canonicalValue(column, values[column[0]], "servers")),
      position: [id],
    };
  };
  return {
    name: "servers",
    columns,
    leftOut: read.leftOut,
    async *rows(after) {
      for await (const batch of read.batches(after, serverOf)) {
        const taken = await takenKeys(target, batch);
        yield batch.map((server) => {
          const { identity, id } = server;
          const isTaken = taken.get(identity.key) !== undefined && taken.get(identity.key) !== id;
          return convert(server, isTaken ? byAddress(identity) : identity);
        });
      }
    },
  };
}

/**
 * The server that gets each name of a batch as its key: a server of the target, else the first
 * server of the batch.
 */
async function takenKeys(
  target: Database,
  batch: readonly OldServer[],
): Promise<ReadonlyMap<string, number>> {
  const named = batch.filter(({ identity }) => identity.hostname !== null);
  const taken = new Map<string, number>();
  if (named.length === 0) return taken;
  const rows = await target.rows(
    `select id, key from servers where ${isInList(target, "key", "text")}`,
    [listValue(target, named.map(({ identity }) => identity.key))],
  );
  for (const { id, key } of rows) taken.set(String(key), Number(id));
  for (const { id, identity: { key } } of named) if (!taken.has(key)) taken.set(key, id);
  return taken;
}

function stateTable(source: Database, scans: OldScans): CopiedTable {
  const columns = columnsOf("server_state");
  const read = readServers(source);
  const convert = ({ id, row, record, identity }: OldServer): CopiedRow => {
    const { playersOnline, playersMax } = serverValues(record, identity);
    const values: Record<string, Value> = {
      server: id,
      scan: scans.numberOf(record.scan_id) ?? null,
      probed_at: storableTime(Number(row.last_seen)) ?? 0,
      replied_at: storableTime(row.last_online as number | null),
      latency_ms: record.latency_ms,
      players_online: playersOnline,
      players_max: playersMax,
      missed_scans: row.failures,
      online: row.online,
      lacking_parts: "",
    };
    return { values: columns.map(([name]) => values[name]), position: [id] };
  };
  return {
    name: "server_state",
    columns,
    leftOut: read.leftOut,
    async *rows(after) {
      for await (const batch of read.batches(after, serverOf)) yield batch.map(convert);
    },
  };
}

function playersTable(source: Database): CopiedTable {
  const columns = columnsOf("server_players");
  const read = readServers(source);
  const convert = ({ id, row, record, identity }: OldServer): CopiedRow[] => {
    const { players } = serverValues(record, identity);
    if (players === null) return [];
    const at = storableTime(record.seen_at) ?? storableTime(Number(row.last_seen)) ?? 0;
    const values: Record<string, Value> = { server: id, names: players, seen_at: at };
    return [{
      values: columns.map((column) => canonicalValue(column, values[column[0]], "server_players")),
      position: [id],
    }];
  };
  return {
    name: "server_players",
    columns,
    leftOut: () => 0,
    async *rows(after) {
      for await (const batch of read.batches(after, serverOf)) {
        const rows = batch.flatMap(convert);
        if (rows.length > 0) yield rows;
      }
    },
  };
}
