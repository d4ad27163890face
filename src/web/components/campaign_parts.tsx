/** @jsxImportSource npm:hono@4.13.19/jsx */
/**
 * The parts of a campaign's scan: how many are in each state, which run where, and which failed.
 *
 * @module
 */
import type { ListedPart, ListedParts, StoredScan } from "../../store/mod.ts";
import { Card, Empty } from "./blocks.tsx";
import { countText, percentText } from "./quantities.ts";
import { Age, Stranger } from "./texts.tsx";

/** Maximum length of a worker's name and of a reason, UTF-16 units. */
const [LONGEST_NAME, LONGEST_REASON] = [40, 160];

/** Whether a scan is one of a campaign. The name may be unknown, and there may be only one part. */
export function isCampaign({ campaign, parts }: StoredScan): boolean {
  return campaign !== null || parts > 1;
}

/** The parts that failed too often, and those that run, each with its worker. */
export function PartLists(
  { scan, parts, now }: { scan: StoredScan; parts: ListedParts; now: number },
) {
  const { running_parts: running, poisoned_parts: poisoned } = parts;
  return (
    <div class="stack" data-live-parts>
      {poisoned.length > 0 && (
        <Card title="Parts that failed too often">
          <Rest shown={poisoned.length} all={scan.parts_poisoned} />
          <PartTable label="Parts that failed too often" parts={poisoned} now={now} areFailed />
        </Card>
      )}
      {(running.length > 0 || scan.state === "running") && (
        <Card title="Workers and their parts">
          <Rest shown={running.length} all={scan.parts_running + scan.parts_stale} />
          {running.length === 0
            ? <Empty title="No worker scans a part." />
            : <PartTable label="Workers and their parts" parts={running} now={now} />}
        </Card>
      )}
    </div>
  );
}

/** The number of parts in each state, which `live.js` keeps up to date. */
export function PartCounts({ scan }: { scan: StoredScan }) {
  const { parts, parts_done, parts_running, parts_stale, parts_poisoned, parts_cancelled } = scan;
  const queued = parts - parts_done - parts_running - parts_stale - parts_poisoned -
    parts_cancelled;
  const counts = [
    ...[["Done", "done", parts_done], ["Running", "running", parts_running]] as const,
    ...[["Stale, no report for 60 s", "stale", parts_stale]] as const,
    ...[["Queued", "queued", Math.max(0, queued)]] as const,
    ...[["Poisoned", "poisoned", parts_poisoned]] as const,
    ...[["Cancelled", "cancelled", parts_cancelled]] as const,
  ];
  return (
    <Card title="Parts">
      <dl class="facts">
        {counts.map(([title, name, count]) => (
          <>
            <dt>{title}</dt>
            <dd>
              <span data-live={`parts-${name}`}>{countText(count)}</span>
              {name === "done" && ` of ${countText(parts)}`}
            </dd>
          </>
        ))}
      </dl>
    </Card>
  );
}

function PartTable(
  { label, parts, now, areFailed = false }: {
    label: string;
    parts: readonly ListedPart[];
    now: number;
    areFailed?: boolean;
  },
) {
  return (
    <div class="scroll">
      <table aria-label={label}>
        <thead>
          <tr>
            <th scope="col">Worker</th>
            <th scope="col" class="number">Part</th>
            <th scope="col" class="number">Visited</th>
            <th scope="col" class="number">Found</th>
            <th scope="col" class="number wide-only">Probes</th>
            <th scope="col" class="number wide-only">Replies</th>
            <th scope="col" class="number wide-only">Tries</th>
            {areFailed && <th scope="col">Last failure</th>}
            <th scope="col">Reported</th>
          </tr>
        </thead>
        <tbody>
          {parts.map((part) => <PartRow part={part} now={now} areFailed={areFailed} />)}
        </tbody>
      </table>
    </div>
  );
}

function PartRow({ part, now, areFailed }: { part: ListedPart; now: number; areFailed: boolean }) {
  return (
    <tr>
      <td>
        <Stranger text={part.worker} longest={LONGEST_NAME} />
      </td>
      <td class="number">{countText(part.part)}</td>
      <td class="number no-wrap">
        {percentText(part.total > 0 ? Math.min(1, part.position / part.total) : null)}
      </td>
      <td class="number">{countText(part.found)}</td>
      <td class="number wide-only">{countText(part.probes_sent)}</td>
      <td class="number wide-only">{countText(part.replies)}</td>
      <td class="number wide-only">{countText(part.tries)}</td>
      {areFailed && (
        <td>
          <Stranger text={part.why} longest={LONGEST_REASON} />
        </td>
      )}
      <td>
        <span class="no-wrap">
          <Age at={part.updated_at} now={now} />
        </span>
        {part.state === "stale" && (
          <>
            {" "}
            <span class="badge warn">stale</span>
          </>
        )}
      </td>
    </tr>
  );
}

/** How many parts a table does not show. */
function Rest({ shown, all }: { shown: number; all: number }) {
  return all > shown ? <p class="hint">{`${countText(all - shown)} more are not shown.`}</p> : null;
}
