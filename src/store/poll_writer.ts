/**
 * Putting what a watch saw into a database: where servers stand, and what happened to them.
 *
 * @module
 */
import type { ServerRecord } from "../core/record.ts";
import { writeAttached } from "./attachments.ts";
import { observationValues, SERVER_COLUMNS, serverValues } from "./server_columns.ts";
import { type BulkStatement, type Database, insertInto, type Value } from "./database/database.ts";
import { type OptOut, writeOptOuts } from "./opt_outs.ts";
import { OBSERVE } from "./record_writer.ts";

/** A server after a poll. */
export interface PolledServer {
  /** Its id, as {@linkcode serverId} has it. */
  readonly id: string;
  /** What it said of itself since it was last written; `undefined`: nothing. */
  readonly record: ServerRecord | undefined;
  /** Whether it counts as online. */
  readonly online: boolean;
  /** Polls in a row that it did not answer. */
  readonly failures: number;
  /** When it was asked, Unix milliseconds. */
  readonly at: number;
}

/** What a poll saw. */
export interface PolledState {
  /** The watch. */
  readonly scanId: string;
  /** The server. */
  readonly id: string;
  /** The number of the poll, from 1. */
  readonly round: number;
  /** When, Unix milliseconds. */
  readonly at: number;
  /** What it said; `undefined`: it is offline. */
  readonly record: ServerRecord | undefined;
}

/** What scans find out, and polls do not: it stays as it was. */
const KEPT = new Set(["alias_of", "joinable", "mtu", "raknet_protocol"]);

const ANSWERED = insertInto(
  "servers",
  SERVER_COLUMNS,
  `on conflict (id) do update set ${
    SERVER_COLUMNS.map(([name]) => name).filter((name) => name !== "id" && name !== "first_seen")
      .map((name) =>
        KEPT.has(name)
          ? `${name} = coalesce(excluded.${name}, servers.${name})`
          : `${name} = excluded.${name}`
      ).join(", ")
  } where excluded.last_seen >= servers.last_seen`,
);

const MISSED: BulkStatement = {
  types: ["integer", "integer", "bigint", "text", "bigint"],
  sqlite: "update servers set online = ?, failures = ?, last_seen = ? " +
    "where id = ? and last_seen <= ?",
  postgres: "update servers set online = missed.online, failures = missed.failures, " +
    "last_seen = missed.at from unnest($1::integer[], $2::integer[], $3::bigint[], $4::text[], " +
    "$5::bigint[]) as missed (online, failures, at, id, until) " +
    "where servers.id = missed.id and last_seen <= missed.until",
};

/**
 * Writes all of it, in one transaction; what is there already changes nothing.
 *
 * @param servers Each once.
 * @param optOuts Addresses that opted out. Default: none.
 */
export async function writePolls(
  database: Database,
  servers: readonly PolledServer[],
  states: readonly PolledState[],
  optOuts: readonly OptOut[] = [],
): Promise<void> {
  const answered: Value[][] = [];
  const missed: Value[][] = [];
  for (const { id, record, online, failures, at } of servers) {
    if (record === undefined) missed.push([online ? 1 : 0, failures, at, id, at]);
    else {
      const state = { online, failures, first_seen: record.seen_at, last_seen: at };
      answered.push(serverValues(record, id, state));
    }
  }
  await database.transaction(async () => {
    await database.bulk(ANSWERED, answered);
    await database.bulk(MISSED, missed);
    await database.bulk(OBSERVE, states.map(stateValues));
    await writeOptOuts(database, optOuts);
    await writeAttached(
      database,
      states.map(({ record }) => record).filter((record) => record !== undefined),
    );
  });
}

/** The values of an observation's columns. */
function stateValues({ scanId, id, round, at, record }: PolledState): Value[] {
  if (record === undefined) return [scanId, id, round, at, 0, null, null, null, null];
  const seen = { ...record, scan_id: scanId, seen_at: at };
  return observationValues(seen, id, serverValues(record, id, ANY_STATE), round);
}

/** The hash of a server's content does not know its state. */
const ANY_STATE = { online: true, failures: 0, first_seen: 0, last_seen: 0 };
