/**
 * Replies that lack a part of a server's status: the server did not reply in a protocol that it
 * speaks, or a flag reports that a part was lost. A single such reply proves nothing, because one lost
 * datagram is enough for it. The part therefore keeps its values, until a number of replies in a row lack
 * it. Scans, rescans and watches share this rule. A watch counts the replies to its own polls; the
 * scans of a database count theirs in the database.
 *
 * @module
 */
import { FieldError, parseJson } from "../../core/checked_values.ts";
import { isIncompleteFlag } from "../../protocols/declared_facts.ts";
import type { Protocol } from "../../protocols/protocol.ts";
import type { ServerRecord } from "../../core/record.ts";

/** A count with a time this far in the future is from a program whose clock was ahead, milliseconds. */
const CLOCK_TOLERANCE_MS = 60_000;

/** A part that another watch got in this time is not dropped, milliseconds. */
const HAD_MS = 3_600_000;

export interface WatchReply {
  /** `scans.id` of the watch. */
  readonly by: number;
  /** When the reply arrived, Unix milliseconds of the database's clock. */
  readonly at: number;
}

/** How often the replies of a server lacked a part. */
export interface LackingPart {
  /** Number of replies in a row that lacked the part. */
  readonly replies: number;
  /** When the last of them was counted, Unix milliseconds. */
  readonly countedAt: number;
  /** The last reply without the part that a watch received. Absent: there was none. */
  readonly lacked?: WatchReply;
  /** The last reply with the part that another watch than that of `lacked` received. Absent: there was none. */
  readonly had?: WatchReply;
}

/** The parts that the last replies of a server lacked, by name: that of a protocol or of a flag. */
export type LackingParts = Readonly<Record<string, LackingPart>>;

/** A reply, and what is known about the parts that it lacks. */
export interface LackingReply {
  /** Names of the parts that the reply lacks. */
  readonly parts: readonly string[];
  /** Names of protocols in which the server was not queried this time: their counts stay. */
  readonly unqueried: readonly string[];
  /** When the reply arrived, Unix milliseconds. */
  readonly repliedAt: number;
  /** The current time, Unix milliseconds. */
  readonly now: number;
  /** Number of replies in a row without a part after which the part loses its values. */
  readonly limit: number;
}

/** Names of the flags of a reply which report a lost part, and which an earlier reply did not have. */
export function lostFlags(
  earlier: Pick<ServerRecord, "flags">,
  reply: Pick<ServerRecord, "flags">,
  allProtocols: readonly Protocol[],
): string[] {
  return reply.flags.filter((flag) =>
    !earlier.flags.includes(flag) && isIncompleteFlag(flag, allProtocols)
  );
}

/** Whether a reply lost parts of the status as the earlier reply did. It may have lost others of them. */
export function hasLastingLoss(
  earlier: Pick<ServerRecord, "flags">,
  reply: Pick<ServerRecord, "flags">,
  allProtocols: readonly Protocol[],
): boolean {
  return reply.flags.some((flag) =>
    earlier.flags.includes(flag) && isIncompleteFlag(flag, allProtocols)
  );
}

/**
 * Counts a reply for each part that it lacks. The count of a part that the reply has is removed.
 *
 * Programs that query a server at the same time lack the same part for the same reason. A reply
 * therefore counts only if it arrived after the last one was counted.
 *
 * @returns The counts of parts that keep their values. A part that has reached the limit is not one
 * of them.
 */
export function countLacking(
  earlier: LackingParts,
  { parts, unqueried, repliedAt, now, limit }: LackingReply,
): LackingParts {
  const counted = parts.map((part): [string, LackingPart] => {
    const before = Object.hasOwn(earlier, part) ? earlier[part] : undefined;
    if (before === undefined) return [part, { replies: 1, countedAt: now }];
    const isLater = repliedAt > before.countedAt || before.countedAt > now + CLOCK_TOLERANCE_MS;
    return [part, isLater ? { replies: before.replies + 1, countedAt: now } : before];
  });
  const below = counted.filter(([, { replies }]) => replies < limit);
  return { ...withCountsOf(earlier, unqueried), ...Object.fromEntries(below) };
}

/**
 * Marks parts after a reply to a watch. The counts of parts that the reply has are reset. If another
 * watch lacks the part, its entry stays. From the entry, that watch sees that this one still gets the
 * part: networks may pass one protocol and not another.
 *
 * @param lacking Names of the parts that the reply lacks.
 * @param unqueried Names of protocols in which the server was not queried: their counts stay.
 */
export function markLacking(
  earlier: LackingParts,
  lacking: readonly string[],
  unqueried: readonly string[],
  reply: WatchReply,
): LackingParts {
  const names = new Set([...Object.keys(earlier), ...lacking]);
  return Object.fromEntries([...names].flatMap((name) => {
    const before = Object.hasOwn(earlier, name) ? earlier[name] : undefined;
    if (lacking.includes(name)) {
      const counted = before ?? { replies: 0, countedAt: reply.at };
      return [[name, { ...counted, lacked: reply }] as const];
    }
    if (before === undefined) return [];
    if (unqueried.includes(name)) return [[name, before] as const];
    const { lacked, countedAt } = before;
    if (lacked === undefined || lacked.by === reply.by || isOld(lacked, reply.at)) return [];
    return [[name, { replies: 0, countedAt, lacked, had: reply }] as const];
  }));
}

/** Marks parts that another watch got with the last reply before this one. Marked parts stay as they are. */
export function markHad(
  earlier: LackingParts,
  parts: readonly string[],
  had: WatchReply,
): LackingParts {
  const added = parts.map((name) => [name, { replies: 0, countedAt: had.at, had }]);
  return { ...Object.fromEntries(added), ...earlier };
}

/** Whether another watch than that of a reply got a part in the hour before the reply. */
export function hadElsewhere(part: LackingPart | undefined, { by, at }: WatchReply): boolean {
  const had = part?.had;
  return had !== undefined && had.by !== by && !isOld(had, at);
}

function isOld(reply: WatchReply, now: number): boolean {
  return now - reply.at > HAD_MS;
}

/** The counts of some parts. */
export function withCountsOf(counts: LackingParts, parts: readonly string[]): LackingParts {
  return Object.fromEntries(Object.entries(counts).filter(([part]) => parts.includes(part)));
}

/** The counts in a JSON text. A text of another form, which another program wrote, has none. */
export function readLackingParts(text: string): LackingParts {
  if (text === "") return {};
  let value: unknown;
  try {
    value = parseJson(text);
  } catch (error) {
    if (error instanceof FieldError) return {};
    throw error;
  }
  if (typeof value !== "object" || value === null) return {};
  return Object.fromEntries(Object.entries(value).filter(([, part]) => isLackingPart(part)));
}

function isLackingPart(value: unknown): value is LackingPart {
  if (typeof value !== "object" || value === null) return false;
  const { replies, countedAt, lacked, had } = value as Partial<LackingPart>;
  return Number.isSafeInteger(replies) && Number.isSafeInteger(countedAt) &&
    [lacked, had].every((reply) => reply === undefined || isWatchReply(reply));
}

function isWatchReply(value: unknown): boolean {
  if (typeof value !== "object" || value === null) return false;
  const { by, at } = value as Partial<WatchReply>;
  return Number.isSafeInteger(by) && Number.isSafeInteger(at);
}

/**
 * The JSON text of counts; an empty text: there are none. A row of PostgreSQL with a null would need a
 * null bitmap, 8 bytes.
 */
export function lackingPartsText(parts: LackingParts): string {
  return Object.keys(parts).length === 0 ? "" : JSON.stringify(parts);
}
