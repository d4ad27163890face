/**
 * Ends a scan in parts: counts the missing servers once, when all parts have ended.
 *
 * @module
 */
import { type Database, isInList, listValue } from "../database/database.ts";
import { type Coverage, markMissing } from "../writers/missing_servers.ts";
import { scanNumbers } from "../rows/scan_numbers.ts";
import { packMembers } from "../members/members.ts";
import { noteUnseen, type VantagesOf } from "../members/views.ts";
import { writeMemberCounts } from "../writers/scan_events.ts";
import { writeScanEnd } from "../scans/scan_progress.ts";
import { FINAL_STATES, type LockedScan, lockScan } from "./scan_parts.ts";

/** A part that was scanned completely, and whose missing servers are not yet counted. */
export interface UndecidedPart {
  /** Number of the part, from 1. */
  readonly part: number;
  /** Which replies floods may have hidden, as JSON text; null: none. */
  readonly floods: string | null;
}

/** Options of {@linkcode finishScan}. */
export interface FinishOptions {
  /** The scan's identity, a UUIDv7 in lower case. */
  readonly id: string;
  /** When the scan began, Unix milliseconds. A server that was seen later is not missing. */
  readonly since: number;
  /** When the scan ended, Unix milliseconds. */
  readonly at: number;
  /** Number of scans in a row without a reply after which a server counts as offline. */
  readonly downAfter: number;
  /** What parts have probed together. Not called without parts. */
  readonly coverage: (parts: readonly UndecidedPart[]) => Coverage;
  /** The vantages whose views of an endpoint are done. Default: the scan has one view of each part. */
  readonly views?: (parts: readonly UndecidedPart[]) => VantagesOf;
}

/** The end of a scan in parts. */
export interface FinishedParts {
  /** `interrupted`: some parts were not scanned completely. */
  readonly state: "finished" | "interrupted";
  /** Number of known servers that did not reply. */
  readonly missing: number;
}

interface EndedParts {
  readonly undecided: readonly UndecidedPart[];
  /** Whether every part has ended. */
  readonly isOver: boolean;
  /** Whether every part is done. */
  readonly isWhole: boolean;
}

/**
 * Ends a scan if all its parts have ended. Missing servers of a part are counted once: when one of the
 * other parts is retried later, and the scan ends again, that part is already decided.
 *
 * Several programs may call this at the same time: the row of the scan is locked while servers are
 * counted and while the scan ends, and no server is counted twice. After the end, the others stop.
 *
 * @returns `undefined` if parts are missing, if the scan does not run, or if another program ended it.
 */
export async function finishScan(
  database: Database,
  { id, coverage, views, since, at, downAfter }: FinishOptions,
): Promise<FinishedParts | undefined> {
  const scan = (await scanNumbers(database, [id])).get(id)!;
  const begun = await database.transaction(async () => {
    const row = await lockScan(database, scan);
    return { ...row, ...await readEnded(database, scan, row) };
  });
  if (!begun.isRunning || !begun.isOver) return undefined;
  const { undecided } = begun;
  const isCurrent = async () => {
    const { isRunning, runs } = await lockScan(database, scan);
    return isRunning && runs === begun.runs;
  };
  const missing = undecided.length === 0 ? 0 : await markMissing(database, {
    ...{ scanId: id, since, at, downAfter, isCurrent, packetLoss: begun.packetLoss },
    coverage: coverage(undecided),
  });
  if (views !== undefined) await noteUnseen(database, scan, views(undecided));
  const finished = await database.transaction(async () => {
    if (!await isCurrent()) return undefined;
    const now = await readEnded(database, scan, begun);
    await database.run(
      `update scan_parts set decided = true where scan = ? and ${
        isInList(database, "part", "integer")
      }`,
      [scan, listValue(database, undecided.map(({ part }) => part))],
    );
    if (!now.isOver) return undefined;
    const state = now.isWhole ? "finished" : "interrupted";
    // A part that is retried goes on where it failed: the servers before that place have replied.
    const end = { state, at: at + database.clockOffsetMs } as const;
    await writeScanEnd(database, scan, end);
    await writeMemberCounts(database, scan, end);
    return { state, missing } as const;
  });
  if (finished?.state === "finished") await packMembers(database, scan);
  return finished;
}

async function readEnded(
  database: Database,
  scan: number,
  { parts }: Pick<LockedScan, "parts">,
): Promise<EndedParts> {
  const ended = await database.rows(
    "select part, state, decided, floods from scan_parts where scan = ? and " +
      `${isInList(database, "state", "text")} order by part`,
    [scan, listValue(database, FINAL_STATES)],
  );
  const done = ended.filter(({ state }) => state === "done");
  const undecided = done.filter(({ decided }) => decided !== 1).map(({ part, floods }) => ({
    part: Number(part),
    floods: floods === null ? null : String(floods),
  }));
  return {
    undecided,
    isOver: ended.length >= parts,
    isWhole: done.length >= parts,
  };
}
