/**
 * Messages of results that are written together.
 *
 * @module
 */
import { FieldError } from "../../core/checked_values.ts";
import type { ServerRecord } from "../../core/record.ts";
import type { PartUpdate } from "../../store/mod.ts";
import { parseResultSubject, type ResultKind } from "../names.ts";
import type { JsMsg } from "../nats/client_types.ts";
import type { PartCounters } from "../part_counters.ts";
import { parsePartEnd, type PartEnd } from "../results.ts";
import { type CollectedCampaign, storedCoverage } from "./collected_campaign.ts";
import { readRows } from "./read_rows.ts";

/** Number of rows and of bytes from which on a batch is written. */
const [MANY_ROWS, MANY_BYTES] = [1000, 4 * 2 ** 20];

export interface CampaignResults {
  readonly campaign: CollectedCampaign;
  /** The vantage that found the records. Default: the campaign has one view of each part. */
  readonly vantage?: string;
  readonly records: ServerRecord[];
  readonly parts: PartUpdate[];
  /** The messages, which are acknowledged once the results are stored. */
  readonly messages: JsMsg[];
}

/** What becomes of a message that is not added to a batch. */
export type CampaignLookup = (name: string) => Promise<CollectedCampaign | "unknown" | "unusable">;

/** Leaves a message of a campaign that this program cannot use for another collector. */
export type LeaveMessage = (campaign: string, msg: JsMsg) => Promise<void>;

/** Gathers messages by campaign and vantage. */
export class ResultBatch {
  readonly #results = new Map<string, CampaignResults>();
  #bytes = 0;

  /**
   * Begins an empty batch.
   *
   * @param find Finds the campaign with a name.
   * @param leave Receives each message of a campaign that another version of this program can use.
   * @param report Receives a line for each message with something wrong in it.
   */
  constructor(
    private readonly find: CampaignLookup,
    private readonly leave: LeaveMessage,
    private readonly report: (line: string) => void,
  ) {}

  get results(): readonly CampaignResults[] {
    return [...this.#results.values()];
  }

  /** Whether the batch is to be written now. */
  get isFull(): boolean {
    const rows = this.results.reduce((sum, { records }) => sum + records.length, 0);
    return rows >= MANY_ROWS || this.#bytes >= MANY_BYTES;
  }

  /**
   * Adds a message. One that nobody can use is refused, and reported; one of a campaign that another
   * version of this program can use is left.
   */
  async add(msg: JsMsg): Promise<void> {
    const subject = parseResultSubject(msg.subject);
    if (subject === undefined) return this.#refuse(msg, `the subject "${msg.subject}" is wrong`);
    const { campaign: name, part, kind, vantage } = subject;
    const campaign = await this.find(name);
    if (campaign === "unusable") return await this.leave(name, msg);
    const partName = `campaign ${name}, part ${part}`;
    if (campaign === "unknown") return this.#refuse(msg, `${partName}: there is no such campaign`);
    if (part > campaign.spec.parts) return this.#refuse(msg, `${partName}: there is no such part`);
    if (kind === "rows" && (vantage === undefined) !== (campaign.spec.views === undefined)) {
      const wanted = vantage === undefined ? "names no vantage" : "names a vantage";
      return this.#refuse(msg, `${partName}: the subject "${msg.subject}" ${wanted}`);
    }
    try {
      const { trouble, ...news } = newsOf(campaign, part, kind, msg);
      if (trouble !== undefined) this.report(`blocksweep: ${partName}: ${trouble}`);
      this.#append({ campaign, vantage }, msg, news);
    } catch (error) {
      if (!(error instanceof FieldError)) throw error;
      this.#refuse(msg, `${partName}: ignored how it ended: ${error.message}`);
    }
  }

  #refuse(msg: JsMsg, why: string): void {
    this.report(`blocksweep: ${why}`);
    msg.term(); // servers before 2.10 ignore a refusal that has a reason
  }

  #append(
    of: Pick<CampaignResults, "campaign" | "vantage">,
    msg: JsMsg,
    { records = [], parts = [] }: News,
  ): void {
    const key = `${of.campaign.scanId} ${of.vantage ?? ""}`;
    const results = this.#results.get(key) ?? { ...of, records: [], parts: [], messages: [] };
    this.#results.set(key, results);
    for (const one of records) results.records.push(one);
    for (const one of parts) results.parts.push(one);
    results.messages.push(msg);
    this.#bytes += msg.data.length;
  }
}

interface News {
  readonly records?: readonly ServerRecord[];
  readonly parts?: readonly PartUpdate[];
  readonly trouble?: string;
}

/** @throws FieldError for an end of a part that cannot be read. */
function newsOf(campaign: CollectedCampaign, part: number, kind: ResultKind, msg: JsMsg): News {
  const at = msg.time.getTime();
  if (kind === "rows") return readRows(campaign, part, msg.data, at);
  return { parts: [endOf(part, kind, parsePartEnd(msg.string()), at)] };
}

function endOf(
  part: number,
  state: Exclude<ResultKind, "rows">,
  { worker, tries, counters, packetLoss, why, coverage }: PartEnd,
  at: number,
): PartUpdate {
  if (state === "done" && coverage === undefined) {
    throw new FieldError("coverage is missing");
  }
  const numbers = { ...partNumbers(counters), packetLoss: packetLoss ?? undefined };
  const floods = coverage && storedCoverage(coverage);
  return { part, state, at, worker, tries, numbers, why, ...(floods && { floods }) };
}

/** The numbers of a part, as databases have them. */
export function partNumbers({ sent, replies, found, position, total }: PartCounters) {
  return { probesSent: sent, replies, found, position, total };
}
