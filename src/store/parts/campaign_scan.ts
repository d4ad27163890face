/**
 * A scan that several programs share, as an output of records. Any number of programs may write it.
 *
 * @module
 */
import type { ServerRecord } from "../../core/record.ts";
import { type Database, timeParameter } from "../database/database.ts";
import type { InterviewScope } from "../merging/kept_columns.ts";
import { scanNumbers } from "../rows/scan_numbers.ts";
import { storableJson } from "../rows/stored_values.ts";
import { type ScanAddresses, writeScanRanges } from "../scans/scan_ranges.ts";
import { writeRecordBatch } from "../writers/scan_writer.ts";
import { noteView } from "../members/views.ts";
import { type PartUpdate, writeParts } from "./scan_parts.ts";

/** The start of a scan in parts: a row of the table `scans`. */
export interface CampaignStart {
  /** The scan's identity, a UUIDv7 in lower case. */
  readonly id: string;
  /** When the scan began, Unix milliseconds. */
  readonly at: number;
  readonly parts: number;
  /** The scan's options as JSON, without passwords, and its `campaign`: the name. */
  readonly config: string;
  /** What the scan probes. */
  readonly addresses: ScanAddresses;
}

/**
 * Reads the identity of a database's collectors: 16 hexadecimal digits. A copy that `copy` makes
 * has another one, so its collectors get all rows too.
 */
export async function readCollectorIdentity(database: Database): Promise<string> {
  const [row] = await database.rows("select collector from blocksweep_schema");
  return String(row?.collector);
}

/** Writes the row of a scan in parts. A repeated call changes nothing. */
export async function beginCampaignScan(
  database: Database,
  { id, at, parts, config, addresses }: CampaignStart,
): Promise<void> {
  const time = timeParameter(database);
  const began = at + database.clockOffsetMs;
  await database.transaction(async () => {
    const isNew = await database.run(
      "insert into scans (uuid, kind, state, started_at, heartbeat_at, parts, config) values " +
        `(?, 'sweep', 'running', ${time}, ${time}, ?, ?) ` +
        // A row without a start was made for imported records.
        "on conflict (uuid) do update set kind = excluded.kind, state = excluded.state, " +
        "started_at = excluded.started_at, heartbeat_at = excluded.heartbeat_at, " +
        "parts = excluded.parts, config = excluded.config where scans.started_at is null",
      [id, began, database.now(), parts, storableJson(JSON.parse(config))],
    );
    if (isNew === 0) return;
    const scan = (await scanNumbers(database, [id])).get(id)!;
    await writeScanRanges(database, scan, addresses, began);
  });
}

/** News of one scan. */
export interface CampaignBatch {
  /** The scan's identity. {@linkcode beginCampaignScan} was called for it. */
  readonly id: string;
  /** The vantage that found the records. Default: the scan has one view of each part. */
  readonly vantage?: string;
  /** Records of any parts, all of this scan. At most about a thousand: SQLite blocks the thread. */
  readonly records: readonly ServerRecord[];
  /** What is newly known of parts, in the order in which it was reported. */
  readonly parts: readonly PartUpdate[];
}

/**
 * Writes records and states of parts in one transaction. A repeated record adds no observation and no
 * event.
 *
 * @param scope What the scan queries: columns that it does not query keep their values.
 */
export async function writeCampaignBatch(
  database: Database,
  { id, vantage, records, parts }: CampaignBatch,
  scope: InterviewScope,
): Promise<void> {
  await database.transaction(async (attempt) => {
    const servers = records.length > 0
      ? await writeRecordBatch(database, records, attempt, scope)
      : [];
    if (vantage === undefined && parts.length === 0) return;
    const scan = (await scanNumbers(database, [id])).get(id)!;
    if (vantage !== undefined) await noteView(database, scan, `seen:${vantage}`, servers);
    if (parts.length > 0) await writeParts(database, scan, parts);
  });
}
