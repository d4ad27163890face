/**
 * Writes rows of the table `events`.
 *
 * @module
 */
import { type BulkStatement, type Database, insertInto } from "../database/database.ts";
import { storableJson, storableTime } from "../rows/stored_values.ts";

/** A row of the table `events`. */
export interface EventRow {
  /** The event's identity, UUIDv7. */
  readonly id: string;
  /** When the change was detected, Unix milliseconds of the database's clock. */
  readonly at: number;
  /** `servers.id`; `null`: the event is about no single server. */
  readonly server: number | null;
  /** `scans.id` of the scan or watch that detected the change; `null`: unknown. */
  readonly scan: number | null;
  /** The kind of the event, such as `online`. */
  readonly kind: string;
  /** The further values of the event, an object. */
  readonly data: Readonly<Record<string, unknown>>;
}

/** Inserts events. An event that is in the table already is not written again. */
export const INSERT_EVENT: BulkStatement = insertInto(
  "events",
  [
    ["id", "uuid"],
    ["at", "timestamptz"],
    ["server", "integer"],
    ["scan", "integer"],
    ["kind", "text"],
    ["data", "jsonb"],
  ],
  "on conflict (id) do nothing",
);

/** Writes events in the given order. The caller has begun the transaction that changes the servers. */
export async function writeEvents(database: Database, events: readonly EventRow[]): Promise<void> {
  await database.bulk(
    INSERT_EVENT,
    events.map(({ id, at, server, scan, kind, data }) => [
      id,
      storableTime(at) ?? 0,
      server,
      scan,
      kind,
      storableJson(data),
    ]),
  );
}
