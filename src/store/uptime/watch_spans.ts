/**
 * Writes the spans of a watch.
 *
 * @module
 */
import { type Database, timeParameter } from "../database/database.ts";
import { scanNumbers } from "../rows/scan_numbers.ts";
import { markPeriod } from "./dirty_hours.ts";

/** A time in which a watch ran without interruption. */
export interface WatchSpan {
  /** Start, Unix milliseconds. It identifies the span. */
  readonly startedAt: number;
  /** The time up to which all results are written, Unix milliseconds. */
  readonly endedAt: number;
}

/**
 * Writes spans of a watch. A known span gets another end. The caller has begun a transaction. The
 * results of the watch up to the ends of the spans are written in the same transaction, or were
 * written before.
 *
 * @param scanId The watch's identity, UUIDv7.
 */
export async function writeSpans(
  database: Database,
  scanId: string,
  spans: readonly WatchSpan[],
): Promise<void> {
  if (spans.length === 0) return;
  const scan = (await scanNumbers(database, [scanId])).get(scanId);
  if (scan === undefined) return; // the identity is not a UUID: the watch has no row
  const time = timeParameter(database);
  for (const span of spans) {
    const [startedAt, endedAt] = [span.startedAt, Math.max(span.startedAt, span.endedAt)]
      .map((at) => at + database.clockOffsetMs);
    const [before] = await database.rows(
      `select ended_at from watch_spans where scan = ? and started_at = ${time}`,
      [scan, startedAt],
    );
    const stood = before === undefined ? startedAt : Number(before.ended_at);
    if (before !== undefined && stood === endedAt) continue;
    await database.run(
      `insert into watch_spans (scan, started_at, ended_at) values (?, ${time}, ${time}) ` +
        "on conflict (scan, started_at) do update set ended_at = excluded.ended_at",
      [scan, startedAt, endedAt],
    );
    await markPeriod(database, Math.min(stood, endedAt), Math.max(stood, endedAt));
  }
}
