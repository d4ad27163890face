/**
 * The checkpoint: one JSON object, and a last line with its checksum. It is small, for it is written
 * each second; what does not change stands at the head of the list of rows.
 *
 * @module
 */
import { createHash } from "node:crypto";
import { formatAddress, parseAddress } from "../../core/address.ts";
import { InputError } from "../../core/errors.ts";
import { PROTOCOLS } from "../../protocols/list.ts";
import type { Protocol } from "../../protocols/protocol.ts";
import type { Disk } from "../../sinks/file_operations.ts";
import type { FloodReport } from "../../sweep/flooding_hosts.ts";
import { noCanaries } from "../../sweep/canaries/loss_estimate.ts";
import { noReplies } from "../../sweep/receiver.ts";
import type { Mark } from "../../sweep/trail.ts";
import type { Marks } from "./low_water_mark.ts";
import { type EndReason, noStreams, type ScanState } from "../scan_state.ts";
import {
  type Check,
  countsLike,
  entriesOf,
  FieldError,
  integer,
  listOf,
  nullable,
  objectOf,
  oneOfWords,
  optional,
  parsedText,
  parseJson,
  text,
  wrongField,
} from "../../core/checked_json.ts";

/** The version of the form, which the list beside it shares: a field more or less is another one. */
const VERSION = 3;
/** Longer than any checkpoint of ours. */
const LONGEST = 1 << 20;

/** How a scan ended that can be resumed. */
export type CheckpointState = "running" | Exclude<EndReason, "done" | "max-results">;

/** What a scan came to. */
export interface Checkpoint {
  /** The version of the program. */
  readonly program: string;
  /** When it was saved, Unix milliseconds. */
  readonly savedAt: number;
  /** The scan, UUIDv7. */
  readonly scanId: string;
  /** SHA-256 of the head of the list, which holds the configuration. */
  readonly configuration: string;
  /** The seed of the order; `null`: ascending. */
  readonly seed: number | null;
  /** The shard. */
  readonly shard: string;
  /** The key of the tokens, hexadecimal. */
  readonly key: string;
  /** How it ended; `running` while it has not. A scan that is finished has no checkpoint. */
  readonly state: CheckpointState;
  /** Up to where it is through. */
  readonly marks: Marks;
  /** How long each output was when all of that was written; `null`: it has no way back. */
  readonly outputs: Offsets;
  /** Rows that were written. */
  readonly rows: number;
  /** How long the list was then, bytes, and the SHA-256 of those. */
  readonly list: ListStand;
  /** What was counted. */
  readonly counters: Counters;
}

/** Lengths of outputs, bytes; `null` where one is a pipe, a device or standard output. */
export type Offsets = readonly (number | null)[];

/** How far a list goes. */
export interface ListStand {
  /** Its length, bytes. */
  readonly bytes: number;
  /** SHA-256 of its bytes, hexadecimal. */
  readonly sha256: string;
}

/** Numbers of a scan that go on where they were. */
export type Counters =
  & Pick<ScanState, "firstProbeAt" | "lastRowAt" | "sent" | "refused" | "dropped" | "replies">
  & Pick<ScanState, "canaries" | "floods">
  & Pick<ScanState, "aliases" | "noStatus" | "optedOut" | "inspectedInPart">
  & { readonly tcp: Pick<ScanState["tcp"], "sent" | "counts"> };

/** The numbers of a scan that the next part of it goes on from. */
export function countersOf(state: ScanState): Counters {
  const { firstProbeAt, lastRowAt, sent, refused, dropped, replies } = state;
  const { aliases, noStatus, optedOut, inspectedInPart, tcp, canaries, floods } = state;
  return {
    firstProbeAt,
    lastRowAt,
    sent,
    refused,
    dropped,
    replies,
    canaries,
    floods,
    aliases,
    noStatus,
    optedOut,
    inspectedInPart,
    tcp: { sent: tcp.sent, counts: tcp.counts },
  };
}

/** Counts on from there. */
export function countFrom(state: ScanState, { tcp, ...others }: Counters, rows: number): void {
  Object.assign(state, others, { written: rows });
  state.tcp.sent = tcp.sent;
  Object.assign(state.tcp.counts, tcp.counts);
}

/** SHA-256, hexadecimal. */
export function sha256(data: string | Uint8Array): string {
  return createHash("sha256").update(data).digest("hex");
}

/** The text of a checkpoint. */
export function formatCheckpoint(checkpoint: Checkpoint): string {
  const text = JSON.stringify({ checkpoint: VERSION, ...checkpoint }, null, 2) + "\n";
  return `${text}sha256 ${sha256(text)}\n`;
}

/**
 * Reads a checkpoint.
 *
 * @param program The version of this program.
 * @param path How errors name it.
 * @param allProtocols Every protocol that it may name.
 * @throws InputError that says what is wrong with it.
 */
export function parseCheckpoint(
  content: string,
  program: string,
  path: string,
  allProtocols: readonly Protocol[] = PROTOCOLS,
): Checkpoint {
  const fail = (what: string) => new InputError(`Cannot resume "${path}": ${what}`);
  if (!content.startsWith('{\n  "checkpoint": ')) throw fail("it is no checkpoint");
  const [, body, sum] = /^(.*\n)sha256 ([0-9a-f]{64})\n$/s.exec(content) ?? [];
  if (body === undefined) throw fail("it is cut off, for it does not end in its checksum");
  if (sha256(body) !== sum) throw fail("it was changed: its checksum is that of another text");
  try {
    const fields = new Map(entriesOf(parseJson(body), ""));
    checkVersions(fields.get("checkpoint"), fields.get("program"), program);
    fields.delete("checkpoint");
    return checkpointOf(Object.fromEntries(fields), allProtocols);
  } catch (error) {
    throw error instanceof FieldError ? fail(error.message) : error;
  }
}

function checkVersions(version: unknown, program: unknown, ours: string): void {
  if (version !== VERSION) {
    const shown = JSON.stringify(version);
    throw new FieldError(
      `it is a checkpoint of version ${shown}, and this program knows ${VERSION}`,
    );
  }
  if (program === ours) return;
  if (typeof program !== "string") throw wrongField("program", program, "a version");
  throw new FieldError(
    `blocksweep ${program} wrote it, and this is ${ours}: the order of targets may be another`,
  );
}

/** The id of a scan. */
export const uuidText: Check<string> = text(
  /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/,
  "a UUIDv7",
);
const digest = text(/^[0-9a-f]{64}$/, "64 hexadecimal digits");
/** The largest time that JavaScript can show. */
const time = integer(0, 8.64e15);
const addressText: Check<string> = (value, field) =>
  formatAddress(parsedText(parseAddress, "an address")(value, field));
/** What floods disturbed, by names of protocols. */
function floodsField(allProtocols: readonly Protocol[]): Check<FloodReport> {
  const names = listOf(oneOfWords(allProtocols.map(({ name }) => name)));
  return objectOf({
    hosts: integer(),
    datagrams: integer(),
    addresses: listOf(addressText),
    disturbed: names,
    passes: objectOf({ disturbed: names, clean: names, further: integer() }),
  });
}
const mark: Check<Mark> = objectOf({ pass: integer(1), position: integer() });

/** All fields of a checkpoint. */
const checkpointFields = (allProtocols: readonly Protocol[]) =>
  objectOf({
    program: text(/^/, "a version"),
    savedAt: time,
    scanId: uuidText,
    configuration: digest,
    seed: nullable(integer()),
    shard: text(/^[1-9]\d{0,6}\/[1-9]\d{0,6}$/, "a shard, as 2/4"),
    key: text(/^[0-9a-f]{16}$/, "16 hexadecimal digits"),
    state: oneOfWords<CheckpointState>([
      "running",
      "incomplete",
      "interrupted",
      "max-runtime",
      "failed",
    ]),
    marks: objectOf({ udp: mark, tcp: mark }),
    outputs: listOf(nullable(integer())),
    rows: integer(),
    list: objectOf({ bytes: integer(1), sha256: digest }),
    counters: objectOf({
      firstProbeAt: optional(time),
      lastRowAt: optional(time),
      sent: integer(),
      refused: integer(),
      dropped: integer(),
      aliases: integer(),
      noStatus: integer(),
      optedOut: integer(),
      inspectedInPart: integer(),
      replies: countsLike(noReplies()),
      canaries: countsLike(noCanaries()),
      floods: floodsField(allProtocols),
      tcp: objectOf({ sent: integer(), counts: countsLike(noStreams()) }),
    }),
  });

function checkpointOf(value: unknown, allProtocols: readonly Protocol[]): Checkpoint {
  const checkpoint: Checkpoint = checkpointFields(allProtocols)(value, "");
  const { sent, lost } = checkpoint.counters.canaries;
  if (lost > sent) {
    throw wrongField("counters.canaries.lost", lost, `no more than were sent, ${sent}`);
  }
  return checkpoint;
}

/**
 * Reads a checkpoint from a disk.
 *
 * @throws InputError that names it.
 */
export async function readCheckpoint(
  disk: Disk,
  path: string,
  program: string,
  allProtocols: readonly Protocol[] = PROTOCOLS,
): Promise<Checkpoint> {
  const bytes = await readExisting(disk, path, path);
  if (bytes.length > LONGEST) throw new InputError(`Cannot resume "${path}": it is no checkpoint`);
  return parseCheckpoint(new TextDecoder().decode(bytes), program, path, allProtocols);
}

async function readExisting(disk: Disk, path: string, source: string): Promise<Uint8Array> {
  try {
    await using file = await disk.open(path, "read");
    return await file.read();
  } catch (error) {
    throw checkpointError(source, error);
  }
}

/** Why a file of a checkpoint cannot be used. */
export function checkpointError(source: string, error: unknown): unknown {
  if (error instanceof Deno.errors.NotCapable || error instanceof InputError) return error;
  if (error instanceof Deno.errors.NotFound) {
    return new InputError(
      `Cannot resume "${source}": there is no such file; a scan that finishes removes its checkpoint`,
    );
  }
  const reason = (error as Error).message.replace(/: \w+ '.*$/, "");
  return new InputError(`Cannot resume "${source}": ${reason}`);
}
