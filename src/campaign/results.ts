/**
 * The messages that workers publish: rows of a part, and how the part ended.
 *
 * @module
 */
import {
  type Check,
  checked,
  formed,
  integer,
  listOf,
  nullable,
  objectOf,
  optional,
  parseJson,
  text,
  TRUE_OR_FALSE,
  wrongField,
} from "../core/checked_values.ts";
import { InputError } from "../core/errors.ts";
import { ATTACHMENTS, FIELDS, type RecordWithAttachments } from "../core/record.ts";
import { spillLine } from "../store/mod.ts";
import { parseTarget } from "../targets/parse.ts";
import { CAMPAIGN_NAME } from "./names.ts";
import { type PartCounters, partCounters } from "./part_counters.ts";

/** Largest size of the rows in one message, bytes. */
export const MAX_ROWS_BYTES = 512 * 1024;
/** The flag of a row that does not fit into a message. */
const TOO_LARGE = "tooLarge";
/** Values of a row that is too large are kept up to this length, UTF-16 units as JSON. */
const SHORT = 1024;

/** What a collector needs to know in order to decide which servers are missing. */
export interface PartCoverage {
  /** Addresses of hosts that flooded. */
  readonly flooding: readonly string[];
  /** Protocols in which floods disturbed every pass. */
  readonly disturbed: readonly string[];
  /** Whether floods disturbed any pass. */
  readonly interviewsDisturbed: boolean;
  /** Whether replies in protocols that echo nothing were omitted. */
  readonly omitted: boolean;
  /** Ranges that the worker was told not to probe, as text. */
  readonly excluded: readonly string[];
  /** The vantages whose views of the part are done. Default: the campaign has one view per part. */
  readonly vantages?: readonly string[];
}

export interface PartEnd {
  readonly form: 1;
  readonly worker: string;
  /** How many workers have taken the part; 0 if it was cancelled before. */
  readonly tries: number;
  readonly counters: PartCounters;
  /** Estimated share of lost packets; `null`: unknown. */
  readonly packetLoss: number | null;
  /** Why the part failed, if it did. */
  readonly why?: string;
  /** What was probed; `undefined`: the part is not done. */
  readonly coverage?: PartCoverage;
}

/** Formats the end of a part as JSON. */
export function formatPartEnd(end: PartEnd): string {
  return JSON.stringify(end);
}

/**
 * Parses the end of a part.
 *
 * @throws FieldError for the first invalid field.
 */
export function parsePartEnd(json: string): PartEnd {
  return PART_END(parseJson(json), "");
}

const boolean = checked(TRUE_OR_FALSE);

const share = (value: unknown, field: string): number => {
  if (typeof value === "number" && value >= 0 && value <= 1) return value;
  throw wrongField(field, value, "a number from 0 to 1");
};

const range = checked(formed("a range of addresses", (words) => {
  try {
    return "range" in parseTarget(words) ? words : undefined;
  } catch (error) {
    if (error instanceof InputError) return undefined;
    throw error;
  }
}));

/** Any text of at most 1,000 characters. */
const words = text(/^.{0,1000}$/s, "a text of at most 1,000 characters");

/** Checks what a collector needs to know of a part. */
export const partCoverage: Check<PartCoverage> = objectOf({
  flooding: listOf(words),
  disturbed: listOf(words),
  interviewsDisturbed: boolean,
  omitted: boolean,
  excluded: listOf(range),
  vantages: optional(listOf(text(CAMPAIGN_NAME, "the name of a vantage"))),
});

const PART_END = objectOf({
  form: ((value, field) => {
    if (value !== 1) throw wrongField(field, value, "1");
    return value;
  }) as (value: unknown, field: string) => 1,
  worker: words,
  tries: integer(0, 1_000_000),
  counters: partCounters,
  packetLoss: nullable(share),
  why: optional(words),
  coverage: optional(partCoverage),
});

/**
 * The lines of rows, in messages.
 *
 * @param limit Largest size of a message, bytes.
 */
export function* rowMessages(
  records: readonly RecordWithAttachments[],
  limit: number = MAX_ROWS_BYTES,
): Generator<{ readonly bytes: Uint8Array; readonly rows: number }> {
  const encoder = new TextEncoder();
  let chunks: Uint8Array[] = [];
  let size = 0;
  const message = () => {
    const bytes = new Uint8Array(size);
    let at = 0;
    for (const chunk of chunks) {
      bytes.set(chunk, at);
      at += chunk.length;
    }
    return { bytes, rows: chunks.length };
  };
  for (const record of records) {
    const line = fittingLine(record, limit, encoder);
    if (size + line.length > limit) {
      yield message();
      chunks = [];
      size = 0;
    }
    chunks.push(line);
    size += line.length;
  }
  if (chunks.length > 0) yield message();
}

/**
 * The line of a row. A row that is too large loses its raw replies, then its icon, then its large
 * values.
 */
function fittingLine(
  record: RecordWithAttachments,
  limit: number,
  encoder: TextEncoder,
): Uint8Array {
  const line = encoder.encode(spillLine(record));
  if (line.length <= limit) return line;
  const { [ATTACHMENTS]: attachments, ...columns } = record;
  const flags = [...record.flags, TOO_LARGE];
  const icon = attachments?.icon;
  if (icon !== undefined) {
    const attached = { ...columns, flags, [ATTACHMENTS]: { replies: {}, icon } };
    const withIcon = encoder.encode(spillLine(attached));
    if (withIcon.length <= limit) return withIcon;
  }
  const bare = encoder.encode(spillLine({ ...columns, flags }));
  if (bare.length <= limit) return bare;
  const isLarge = (value: unknown) => JSON.stringify(value).length > SHORT;
  const large = FIELDS.filter(({ name, nullable }) => nullable && isLarge(record[name]));
  const nothing = Object.fromEntries(large.map(({ name }) => [name, null]));
  return encoder.encode(spillLine({ ...columns, flags, ...nothing }));
}
