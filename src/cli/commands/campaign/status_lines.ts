/**
 * The state of campaigns as lines and as JSON.
 *
 * @module
 */
import { type PrintedColumn, tableLines } from "../../../app/outputs/mod.ts";
import { DEFAULT_VANTAGE } from "../../../app/options/mod.ts";
import {
  type CampaignStatus,
  type CollectorStatus,
  MAX_TRIES,
  type PartStatus,
  type ResultsStatus,
  type StoredWorker,
  type SystemStatus,
} from "../../../campaign/mod.ts";
import { fitWidth } from "../../../core/display_width.ts";
import { clockTime, countOf, roughDuration, withCommas } from "../../../core/quantities.ts";
import { harmlessText } from "../../../core/text.ts";
import { resultLine } from "../../term/json_results.ts";

/** Spaces between two cells. */
const GAP = 2;

/** The state of campaigns as lines of at most `space` columns. Times are relative to the reading. */
export function statusLines(status: SystemStatus, space: number): string[] {
  const { at: now, campaigns, workers, results, collectors } = status;
  if (campaigns.length === 0) return ["no campaigns"];
  const lines = [
    ...campaigns.flatMap((one) => [...campaignLines(one, now), ""]),
    ...workerLines(workers, campaigns, now, space),
    "",
    resultsText(results, campaigns),
    ...collectors.map(collectorText),
    ...collectors.length === 0 ? ["no collector has been started: rows wait in NATS"] : [],
  ];
  return lines.map((line) => fitted(line, space));
}

/** A line with at most `space` columns, escaped. */
export function fitted(line: string, space: number): string {
  const harmless = harmlessText(line);
  return space === Infinity ? harmless : fitWidth(harmless, space).trimEnd();
}

export function summaryLine(campaign: CampaignStatus, now: number): string {
  return [progressText(campaign, now), partsText(campaign), packetsText(campaign)].join("; ");
}

function progressText(campaign: CampaignStatus, now: number): string {
  const { name, share, endsAt } = campaign;
  return [
    `campaign ${name} ${stateText(campaign)}`,
    `${(100 * share).toFixed(1)}%`,
    ...endsAt === undefined ? [] : [`ETA ${clockTime(Math.max(0, endsAt - now) / 1000)}`],
    rateText(campaign),
  ].join("  ");
}

function stateText({ state, parts: { poisoned } }: CampaignStatus): string {
  return state === "ended" ? `ended with ${countOf(poisoned, "poisoned part")}` : state;
}

function rateText({ rate, budget }: CampaignStatus): string {
  const now = `${withCommas(Math.round(rate))}/s`;
  if (budget === undefined) return `${now}; its specification cannot be used`;
  return `${now} of ${budget === null ? "no limit" : `${withCommas(budget)}/s`}`;
}

/** The number of parts in each state: `parts: 3 waiting, 1 done`. */
function partsText({ parts }: CampaignStatus): string {
  const counts = Object.entries(parts).filter(([, count]) => count > 0)
    .map(([state, count]) => `${withCommas(count)} ${state}`);
  return `parts: ${counts.join(", ")}`;
}

function packetsText({ sent, replies, found }: CampaignStatus): string {
  return `${countOf(sent, "packet")} sent, ${countOf(replies, "reply", "replies")}, ` +
    `${countOf(found, "server")} found`;
}

/** A campaign with its parts, and what is wrong with them. */
function campaignLines(campaign: CampaignStatus, now: number): string[] {
  return [
    progressText(campaign, now),
    partsText(campaign),
    packetsText(campaign),
    ...viewLines(campaign),
    ...lostLines(campaign, now),
    ...failedLines(campaign),
    ...campaign.poisoned.map(({ part, tries, why = "no reason is known" }) =>
      `part ${part} is poisoned after ${countOf(tries, "try", "tries")}: ${why}`
    ),
  ];
}

/** The views of a campaign, and whether parts wait for a worker of another vantage. */
function viewLines({ views, state, parts }: CampaignStatus): string[] {
  if (views === undefined) return [];
  const { each, done, vantages, waiting } = views;
  const all = each * Object.values(parts).reduce((sum, count) => sum + count, 0);
  const from = vantages.length === 0 ? "" : ` from ${vantages.join(", ")}`;
  const lines = [
    `views: ${withCommas(done)} of ${withCommas(all)} done, ${each} of each part${from}`,
  ];
  if (waiting === 0 || state !== "running") return lines;
  const what = waiting === 1 ? "part waits" : "parts wait";
  return [
    ...lines,
    `${withCommas(waiting)} ${what} for another vantage: run campaign work --vantage NAME there`,
  ];
}

/** A line for each worker that no longer reports. */
function lostLines({ name, state, lost }: CampaignStatus, now: number): string[] {
  return [...Map.groupBy(lost, ({ worker }) => worker)].map(([worker, parts]) => {
    const age = ageText(now - Math.max(...parts.map(({ at }) => at)));
    const [its, waits] = parts.length === 1
      ? ["its part", "waits"]
      : [`its ${withCommas(parts.length)} parts`, "wait"];
    const next = state === "cancelled"
      ? `campaign cancel ${name} ends ${its}`
      : `${its} ${waits} for another worker`;
    return `worker ${worker} has not reported for ${age}; ${next}`;
  });
}

/** A line about the parts whose last try failed. */
function failedLines({ failed }: CampaignStatus): string[] {
  const last = failed.toSorted((a, b) => b.at - a.at).at(0);
  if (last === undefined) return [];
  const tries = Math.max(...failed.map((part) => part.tries));
  return [
    `${countOf(failed.length, "part")} failed (${tries} of ${MAX_TRIES} tries); ` +
    `the last: part ${last.part}, worker ${last.worker}: ${last.why}`,
  ];
}

/** A worker, and the parts that it scans. */
interface WorkerRow extends StoredWorker {
  readonly held: readonly (PartStatus & { readonly campaign: string })[];
}

/** The workers that report, and those that hold a part. */
function workerLines(
  workers: readonly StoredWorker[],
  campaigns: readonly CampaignStatus[],
  now: number,
  space: number,
): string[] {
  const held = campaigns.flatMap(({ name, held }) =>
    held.map((part) => ({ ...part, campaign: name }))
  );
  const rows = workers.map((worker) => ({
    ...worker,
    held: held.filter((part) => part.worker === worker.id),
  }));
  return rows.length === 0 ? ["no workers"] : tableLines(
    workerColumns(now, campaigns.length > 1, workers.some(({ vantage }) => vantage !== undefined)),
    rows,
    space,
    GAP,
  );
}

function workerColumns(
  now: number,
  isMixed: boolean,
  hasVantages: boolean,
): readonly PrintedColumn<WorkerRow>[] {
  return [
    { title: "WORKER", width: 24, rank: 0, text: ({ id }) => id },
    ...hasVantages
      ? [{
        title: "VANTAGE",
        width: 12,
        rank: 1,
        text: (one: WorkerRow) => one.vantage ?? DEFAULT_VANTAGE,
      }]
      : [],
    { title: "SLOTS", width: 5, rank: 2, text: ({ held, slots }) => `${held.length}/${slots}` },
    { title: "ENGINE", width: 8, rank: 3, text: ({ engine }) => engine ?? "" },
    { title: "RATE", width: 10, rank: 1, text: ({ held }) => `${withCommas(rateOf(held))}/s` },
    { title: "UPDATED", width: 9, rank: 1, text: (one) => ageText(now - updatedAt(one)) },
    { title: "PARTS", width: 0, rank: 0, text: ({ held }) => heldText(held, isMixed) },
  ];
}

function rateOf(held: WorkerRow["held"]): number {
  return Math.round(held.reduce((sum, { rate }) => sum + rate, 0));
}

/** When a worker reported last: about itself, or about a part. */
function updatedAt({ at, held }: WorkerRow): number {
  return Math.max(at, ...held.map((part) => part.at));
}

function ageText(ms: number): string {
  return roughDuration(Math.max(0, ms));
}

/** The parts of a worker with the share that is done: `3 (41%), 7 (5%)`. */
function heldText(held: WorkerRow["held"], isMixed: boolean): string {
  return held.map(({ campaign, part, position, total }) => {
    const share = total === 0 ? 0 : Math.floor(100 * position / total);
    return `${isMixed ? `${campaign}/` : ""}${part} (${share}%)`;
  }).join(", ");
}

function resultsText(
  { messages, bytes, limit, isFull }: ResultsStatus,
  campaigns: readonly CampaignStatus[],
): string {
  const mayWait = isFull &&
    campaigns.some(({ parts: { waiting, held, lost } }) => waiting + held + lost > 0);
  const size = `${countOf(messages, "message")}, ${mebibytes(bytes)} of ${mebibytes(limit)} MiB`;
  return `results in NATS: ${size}${mayWait ? "; FULL: workers wait for a collector" : ""}`;
}

function mebibytes(bytes: number): string {
  return withCommas(Math.round(bytes / 2 ** 20 * 10) / 10);
}

function collectorText({ name, pending, unacknowledged, isWaiting }: CollectorStatus): string {
  const [none, writes] = ["not running", "not running, or writing"];
  return [
    `${name}: ${countOf(pending, "message")} not delivered`,
    `${withCommas(unacknowledged)} delivered and not yet written`,
    ...isWaiting ? [] : [unacknowledged === 0 ? none : writes],
  ].join(", ");
}

/** A campaign as one line of JSON. */
export function campaignJson(
  { workers, results: { messages, bytes, limit, isFull }, collectors }: SystemStatus,
  { name, state, submittedAt, parts, ...campaign }: CampaignStatus,
): string {
  const { sent, replies, found, share, rate, budget, endsAt, held, lost, failed, poisoned, views } =
    campaign;
  const ids = new Set(held.map(({ worker }) => worker));
  return resultLine("campaign status", {
    name,
    state,
    submitted_at: submittedAt,
    parts,
    sent,
    replies,
    found,
    share,
    rate,
    budget: budget ?? null,
    ends_at: endsAt === undefined ? null : Math.round(endsAt),
    running_parts: held.map(partJson),
    lost_parts: lost.map(partJson),
    failed_parts: failed.map(partJson),
    poisoned_parts: poisoned.map(partJson),
    views: views ?? null,
    workers: workers.filter(({ id }) => ids.has(id)).map((
      { id, vantage, slots, engine, program, at },
    ) => ({
      id,
      vantage: vantage ?? DEFAULT_VANTAGE,
      slots,
      engine: engine ?? null,
      program,
      updated_at: at,
    })),
    results: { messages, bytes, limit, is_full: isFull },
    collectors: collectors.map(({ isWaiting, ...one }) => ({ ...one, is_waiting: isWaiting })),
  });
}

function partJson({ part, worker, tries, at, position, total, rate, why }: PartStatus) {
  return { part, worker, tries, updated_at: at, position, total, rate, why: why ?? null };
}
