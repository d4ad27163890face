/**
 * The events of scans. Of servers that are new, back or lost, a scan has at most
 * {@linkcode MAX_REPORTED} events, and the first scan of a database none: at its end, one event counts them.
 * Scans that run for days, beside polls or on the LAN, have an event for each of these servers.
 *
 * @module
 */
import { type Database, isInList, listValue } from "../database/database.ts";
import type { WatcherEventBody } from "../events/watch_event.ts";
import { type EventRow, writeEvents } from "../events/write_events.ts";
import { countMembers, type MemberCounts } from "../members/members.ts";
import { readJson } from "../rows/json_cells.ts";
import { newEventId } from "../rows/uuid.ts";
import { storableJson } from "../rows/stored_values.ts";
import { eventData } from "./server_events.ts";
import type { WrittenServer } from "./write_servers.ts";

type SummaryBody = Extract<WatcherEventBody, { readonly event: "scan_summary" }>;

/** Maximum number of events `new`, `back` and `lost` of a scan. */
export const MAX_REPORTED = 100;

/** The kinds of events whose number is limited. */
const LIMITED: readonly string[] = ["new", "back", "lost"];

/**
 * Stores the events of servers that scans have written. The caller has begun a transaction.
 *
 * @param isContinuous Whether the scans run for days, so that the number of events is not limited.
 */
export async function writeScanEvents(
  database: Database,
  written: readonly WrittenServer[],
  isContinuous: boolean,
): Promise<void> {
  const rows = written.flatMap(({ id: server, events, write: { scan, probedAt: at } }) =>
    events.filter(({ event }) => event !== "players").map((body): EventRow => (
      { id: newEventId(at), at, server, scan, kind: body.event, data: eventData(body) }
    ))
  );
  await writeLimited(database, rows, isContinuous);
}

/**
 * Stores events of scans, without those of {@linkcode LIMITED} kinds that are too many.
 *
 * @param isUnlimited Whether none are too many. Default: no.
 */
export async function writeLimited(
  database: Database,
  events: readonly EventRow[],
  isUnlimited = false,
): Promise<void> {
  const isLimited = ({ kind }: EventRow) => LIMITED.includes(kind);
  const scans = [...new Set(events.filter(isLimited).map(({ scan }) => scan))]
    .filter((scan) => scan !== null);
  const left = isUnlimited ? undefined : await readLeft(database, scans);
  const reported = new Map<number, number>();
  const kept = events.filter((event) => {
    if (!isLimited(event) || event.scan === null) return true;
    const count = (reported.get(event.scan) ?? 0) + 1;
    if (left !== undefined && count > (left.get(event.scan) ?? 0)) return false;
    reported.set(event.scan, count);
    return true;
  });
  await writeEvents(database, kept);
  for (const [scan, count] of [...reported].sort(([a], [b]) => a - b)) {
    await database.run("update scans set reported = reported + ? where id = ?", [count, scan]);
  }
}

/** How many more limited events scans may have: none in the first scan of a database. */
async function readLeft(
  database: Database,
  scans: readonly number[],
): Promise<ReadonlyMap<number, number>> {
  if (scans.length === 0) return new Map();
  const lock = database.engine === "postgres" ? " order by c.id for update" : "";
  const rows = await database.rows(
    "select c.id, c.reported, c.started_at is null or " +
      "exists (select 1 from servers s where s.first_seen < c.started_at) as is_later " +
      `from scans c where ${isInList(database, "c.id", "integer")}${lock}`,
    [listValue(database, scans)],
  );
  return new Map(rows.map(({ id, reported, is_later: isLater }) => [
    Number(id),
    isLater === 1 ? MAX_REPORTED - Number(reported) : 0,
  ]));
}

/** The final state of a scan. */
export type EndState = NonNullable<SummaryBody["state"]>;

/**
 * Stores the numbers of servers that a finished scan found, missed and so on, and of any scan that ends one
 * event if not all of its servers that are new, back or lost have an event. A scan that was resumed, or
 * whose end is repeated, has a further event only if its numbers are others. The caller has begun the
 * transaction that ends the scan.
 *
 * @param at When the scan ended, Unix milliseconds of the database's clock.
 */
export async function writeMemberCounts(
  database: Database,
  scan: number,
  { state, at }: { readonly state: EndState; readonly at: number },
): Promise<void> {
  const counts = await countMembers(database, scan);
  if (state === "finished") {
    await database.run("update scans set members = ? where id = ?", [storableJson(counts), scan]);
  }
  const [row] = await database.rows("select reported from scans where id = ?", [scan]);
  const { new: fresh, back, lost } = counts;
  const reported = Number(row.reported);
  if (fresh + back + lost <= reported) return;
  const last = await lastSummary(database, scan);
  if (CHANGES.every((kind) => last?.[kind] === counts[kind])) return;
  await writeSummary(database, { new: fresh, back, lost, reported, state }, scan, at);
}

const CHANGES = ["new", "back", "lost"] as const;

/** The data of the last summary of a scan; `undefined`: it has none. */
async function lastSummary(
  database: Database,
  scan: number,
): Promise<Record<string, unknown> | undefined> {
  const [row] = await database.rows(
    "select data from events where server is null and kind = 'scan_summary' and scan = ? " +
      "order by at desc, tx desc, seq desc limit 1",
    [scan],
  );
  if (row === undefined) return undefined;
  return readJson(String(row.data), "facts") as Record<string, unknown> | undefined;
}

/** Numbers of servers of a scan or an import that are new, back or lost. */
export type ChangeCounts = Pick<MemberCounts, typeof CHANGES[number]>;

/**
 * Stores the event of an import, if any of its servers is new, back or lost: no server has an event of
 * its own.
 */
export async function writeImportSummary(database: Database, counts: ChangeCounts): Promise<void> {
  const { new: fresh, back, lost } = counts;
  if (fresh + back + lost === 0) return;
  const data = { new: fresh, back, lost, reported: 0 };
  await database.transaction(() => writeSummary(database, data, null, database.now()));
}

async function writeSummary(
  database: Database,
  data: Omit<SummaryBody, "event">,
  scan: number | null,
  at: number,
): Promise<void> {
  const row = { id: newEventId(at), at, server: null, scan, kind: "scan_summary", data };
  await writeEvents(database, [row]);
}
