/**
 * The events of scans and imports, which are stored and not reported.
 *
 * @module
 */
import type { Database } from "../database/database.ts";
import type { OptedOutServer } from "./opt_outs.ts";
import { newEventId } from "../rows/uuid.ts";
import type { WrittenServer } from "./write_servers.ts";
import type { EventBody } from "../events/watch_event.ts";
import { type EventRow, writeEvents } from "../events/write_events.ts";

/**
 * The members of an event for the column `data` of `events`, without the server's record, which is
 * in `servers`.
 */
export function eventData(body: EventBody): Record<string, unknown> {
  if (body.event === "online") return { offline_ms: body.offline_ms };
  const { event: _, ...data } = body;
  return data;
}

/** Stores the events of servers that a scan or an import has written. */
export async function writeServerEvents(
  database: Database,
  written: readonly WrittenServer[],
): Promise<void> {
  const rows: EventRow[] = [];
  for (const { id: server, events, write: { scan, probedAt: at } } of written) {
    for (const body of events) {
      if (body.event === "players") continue;
      rows.push({ id: newEventId(at), at, server, scan, kind: body.event, data: eventData(body) });
    }
  }
  await writeEvents(database, rows);
}

/** Stores the events of servers whose addresses opted out; `scan`: during that scan. */
export async function writeOptOutEvents(
  database: Database,
  servers: readonly OptedOutServer[],
  scan: number | null,
): Promise<void> {
  await writeEvents(
    database,
    servers.map(({ id: server, at }) => (
      { id: newEventId(at), at, server, scan, kind: "opted_out", data: {} }
    )),
  );
}
