/**
 * Writes a watch's results to a database: the state of servers, and observations.
 *
 * @module
 */
import type { ServerRecord } from "../core/record.ts";
import { scanOnlyColumns } from "../protocols/declared_facts.ts";
import { PROTOCOLS } from "../protocols/list.ts";
import type { Protocol } from "../protocols/protocol.ts";
import { writeAttached } from "./attachments.ts";
import { observationValues, SERVER_COLUMNS, serverValues } from "./server_columns.ts";
import { type BulkStatement, type Database, insertInto, type Value } from "./database/database.ts";
import { type OptOut, writeOptOuts } from "./opt_outs.ts";
import { INSERT_OBSERVATION } from "./record_writer.ts";

/** A server after a poll. */
export interface PolledServer {
  /** The server's id: the result of {@linkcode serverId}. */
  readonly id: string;
  /** The newest reply since the server was last written; `undefined`: no reply. */
  readonly record: ServerRecord | undefined;
  /** Whether the server counts as online. */
  readonly online: boolean;
  /** Number of failed polls in a row. */
  readonly failures: number;
  /** When the server was polled, Unix milliseconds. */
  readonly at: number;
}

/** An observation of a poll. */
export interface PollObservation {
  /** The watch's identity, UUIDv7. */
  readonly scanId: string;
  /** The server's id in the table `servers`. */
  readonly id: string;
  /** Number of the poll, from 1. */
  readonly round: number;
  /** When the server was polled, Unix milliseconds. */
  readonly at: number;
  /** The server's reply; `undefined`: the server is offline. */
  readonly record: ServerRecord | undefined;
}

/** Writes servers that replied to polls. They keep values of columns that scans fill and polls do not. */
function upsertOnline(allProtocols: readonly Protocol[]): BulkStatement {
  const scanOnly = new Set<string>(scanOnlyColumns(allProtocols));
  const names = SERVER_COLUMNS.map(([name]) => name)
    .filter((name) => name !== "id" && name !== "first_seen");
  const values = names.map((name) =>
    scanOnly.has(name)
      ? `${name} = coalesce(excluded.${name}, servers.${name})`
      : `${name} = excluded.${name}`
  );
  return insertInto(
    "servers",
    SERVER_COLUMNS,
    `on conflict (id) do update set ${values.join(", ")} ` +
      "where excluded.last_seen >= servers.last_seen",
  );
}

const UPDATE_FAILED: BulkStatement = {
  types: ["integer", "integer", "bigint", "text", "bigint"],
  sqlite: "update servers set online = ?, failures = ?, last_seen = ? " +
    "where id = ? and last_seen <= ?",
  postgres: "update servers set online = failed.online, failures = failed.failures, " +
    "last_seen = failed.at from unnest($1::integer[], $2::integer[], $3::bigint[], $4::text[], " +
    "$5::bigint[]) as failed (online, failures, at, id, until) " +
    "where servers.id = failed.id and last_seen <= failed.until",
};

/**
 * Writes results of polls in one transaction. Writing the same results again changes nothing.
 *
 * @param servers At most one entry per server.
 * @param optOuts Addresses that opted out. Default: none.
 * @param allProtocols Every protocol of the program. Default: PROTOCOLS.
 */
export async function writePolls(
  database: Database,
  servers: readonly PolledServer[],
  observations: readonly PollObservation[],
  optOuts: readonly OptOut[] = [],
  allProtocols: readonly Protocol[] = PROTOCOLS,
): Promise<void> {
  const replied: Value[][] = [];
  const failed: Value[][] = [];
  for (const { id, record, online, failures, at } of servers) {
    if (record === undefined) failed.push([online ? 1 : 0, failures, at, id, at]);
    else {
      const state = { online, failures, first_seen: record.seen_at, last_seen: at };
      replied.push(serverValues(record, id, state));
    }
  }
  await database.transaction(async () => {
    await database.bulk(upsertOnline(allProtocols), replied);
    await database.bulk(UPDATE_FAILED, failed);
    await database.bulk(INSERT_OBSERVATION, observations.map(pollObservationValues));
    await writeOptOuts(database, optOuts);
    await writeAttached(
      database,
      observations.map(({ record }) => record).filter((record) => record !== undefined),
    );
  });
}

/** The values of {@linkcode OBSERVATION_COLUMNS}. */
function pollObservationValues({ scanId, id, round, at, record }: PollObservation): Value[] {
  if (record === undefined) return [scanId, id, round, at, 0, null, null, null, null];
  const seen = { ...record, scan_id: scanId, seen_at: at };
  return observationValues(seen, id, serverValues(record, id, ANY_STATE), round);
}

/** Any value: the content hash does not cover the server's state. */
const ANY_STATE = { online: true, failures: 0, first_seen: 0, last_seen: 0 };
