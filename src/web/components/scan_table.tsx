/** @jsxImportSource npm:hono@4.13.19/jsx */
/**
 * A table of scans and watches.
 *
 * @module
 */
import { type MemberKind, scanName, storableUuid, type StoredScan } from "../../store/mod.ts";
import { canonicalNetwork } from "../queries/networks.ts";
import { countOf } from "../../core/quantities.ts";
import { acceptedUrl, membersUrl, scanUrl } from "./links.ts";
import {
  countText,
  durationText,
  percentText,
  shortCount,
  timeText,
  UNKNOWN_TEXT,
} from "./quantities.ts";
import { Bar } from "./server_cells.tsx";
import { Age, safeText } from "./texts.tsx";

/** Maximum length of the name of a scan, UTF-16 units. */
const LONGEST_NAME = 60;

const KINDS: Readonly<Record<string, string>> = {
  sweep: "Scan",
  watch: "Watch",
  lan: "LAN discovery",
  import: "Import",
};

export function kindText({ kind }: StoredScan): string {
  return KINDS[kind] ?? safeText(kind, 20);
}

/** Which campaign or shard a scan is. */
export function scanNameText(scan: StoredScan): string {
  return safeText(scanName(scan), LONGEST_NAME);
}

/** Maximum number of ranges in a title. */
const TITLE_RANGES = 2;

/** A scan in words: `Scan of 10.0.0.0/16 (shard 2/4), 2026-01-31 23:59 UTC`. */
export function scanTitle(scan: StoredScan): string {
  const { started_at: at, total } = scan;
  const time = at === null ? "" : timeText(at).slice(0, -":00".length);
  const watched = scan.kind === "watch" && total > 0 ? countOf(total, "server") : "";
  const of = watched || targetText(scan, TITLE_RANGES);
  const name = scanNameText(scan);
  return `${kindText(scan)}${of && ` of ${of}`}${name && ` (${name})`}${time && `, ${time} UTC`}`;
}

/** The classes of states. */
const STATES: Readonly<Record<string, string>> = {
  running: "good",
  stale: "warn",
  interrupted: "warn",
  failed: "bad",
};

/** The state of a scan. */
export function ScanBadge({ scan }: { scan: StoredScan }) {
  return (
    <span class={`badge ${STATES[scan.state] ?? ""}`} data-live="state">
      {safeText(scan.state, 20)}
    </span>
  );
}

/** The share of visited positions; null: the scan has none, as a watch. */
export function shareOf({ kind, position, total }: StoredScan): number | null {
  return kind !== "watch" && total > 0 ? Math.min(1, position / total) : null;
}

/** How long a scan ran; null: unknown. */
export function durationOf(
  { started_at: from, finished_at, heartbeat_at }: StoredScan,
): number | null {
  const to = finished_at ?? heartbeat_at;
  return from === null || to === null ? null : to - from;
}

/** A table of scans and watches. */
export function ScanTable(
  { scans, now, label }: { scans: readonly StoredScan[]; now: number; label: string },
) {
  return (
    <div class="scroll">
      <table aria-label={label}>
        <thead>
          <tr>
            <th scope="col">Scan</th>
            <th scope="col">State</th>
            <th scope="col">Started</th>
            <th scope="col" class="number wide-only">Duration</th>
            <th scope="col">Progress</th>
            <th scope="col" class="number">Found</th>
            <th scope="col" class="number wide-only">New</th>
            <th scope="col" class="number wide-only">Lost</th>
            <th scope="col" class="number wide-only">Probes</th>
            <th scope="col" class="number wide-only">Replies</th>
            <th scope="col" class="number wide-only">Packet loss</th>
          </tr>
        </thead>
        <tbody>
          {scans.map((scan) => <ScanRow scan={scan} now={now} />)}
        </tbody>
      </table>
    </div>
  );
}

function ScanRow({ scan, now }: { scan: StoredScan; now: number }) {
  const duration = durationOf(scan);
  const share = shareOf(scan);
  return (
    <tr>
      <td>
        <a href={acceptedUrl(scanUrl(scan.scan_id))}>{kindText(scan)}</a>{" "}
        <small>{scanNameText(scan)}</small> <small class="wide-only">{targetText(scan)}</small>
      </td>
      <td>
        <ScanBadge scan={scan} />
      </td>
      <td class="no-wrap">
        <Age at={scan.started_at} now={now} />
      </td>
      <td class="number wide-only no-wrap">
        {duration === null ? UNKNOWN_TEXT : durationText(duration)}
      </td>
      <td class="progress">
        {share === null ? <span class="none">{UNKNOWN_TEXT}</span> : (
          <>
            <small>{percentText(share)}</small>
            <Bar share={share} />
          </>
        )}
      </td>
      <td class="number">{countText(scan.members?.found ?? scan.found)}</td>
      <CountCell scan={scan} kind="new" />
      <CountCell scan={scan} kind="lost" />
      <td class="number wide-only">{shortCount(scan.probes_sent)}</td>
      <td class="number wide-only">{shortCount(scan.replies)}</td>
      <td class="number wide-only">{percentText(scan.packet_loss)}</td>
    </tr>
  );
}

/** A number of servers, which links to them. */
function CountCell({ scan: { scan_id, members }, kind }: { scan: StoredScan; kind: MemberKind }) {
  const count = members?.[kind] ?? null;
  return (
    <td class="number wide-only">
      {count === null || count === 0 || storableUuid(scan_id) === null
        ? countText(count)
        : <a href={membersUrl(scan_id, kind)}>{countText(count)}</a>}
    </td>
  );
}

/** The first ranges of a scan, and the number of the others. */
function targetText({ ranges }: StoredScan, shown = 1): string {
  const first = ranges.slice(0, shown).map((range) =>
    safeText(canonicalNetwork(range) ?? range, 40)
  );
  const more = ranges.length - first.length;
  return first.join(", ") + (more > 0 ? ` and ${countText(more)} more` : "");
}
