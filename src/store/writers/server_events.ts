/**
 * The events of scans and imports, which are stored and not reported.
 *
 * @module
 */
import type { Database } from "../database/database.ts";
import type { OptedOutServer } from "./opt_outs.ts";
import { newEventId } from "../rows/uuid.ts";
import type { EventBody } from "../events/watch_event.ts";
import { writeEvents } from "../events/write_events.ts";

/**
 * The members of an event for the column `data` of `events`, without the server's record, which is
 * in `servers`.
 */
export function eventData(body: EventBody): Record<string, unknown> {
  const { event: _, ...data } = body;
  if (!("server" in data)) return data;
  const { server: __, ...others } = data;
  return others;
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
