/**
 * The checkpoint file: one JSON object, and a last line with its checksum. The file is kept small,
 * because it is written each second. The configuration, which never changes, is in the list file.
 *
 * @module
 */
import { nodeCrypto } from "../../core/node_modules.ts";
import { formatAddress, parseAddress } from "../../core/address.ts";
import { InputError } from "../../core/errors.ts";
import type { Protocol } from "../../protocols/protocol.ts";
import type { Disk } from "../../sinks/file_operations.ts";
import { type FloodReport, type Mark, noCanaries, noReplies } from "../../sweep/mod.ts";
import type { Marks } from "../setup/low_water_mark.ts";
import { type EndReason, noStreams, type ScanState } from "../setup/scan_state.ts";
import {
  type Check,
  checked,
  countsLike,
  entriesOf,
  FieldError,
  formed,
  integer,
  listOf,
  nullable,
  objectOf,
  oneOf,
  optional,
  parseJson,
  text,
  wrongField,
} from "../../core/checked_values.ts";

/** Version of the checkpoint and list formats. Each added or removed field needs a new version. */
const VERSION = 10;
/** Limit on the size of a checkpoint file, bytes. */
const LONGEST = 1 << 20;

/** The state of a scan that can be resumed. */
export type CheckpointState = "running" | Exclude<EndReason, "done" | "max-results">;

/** The progress of a scan, as saved. */
export interface Checkpoint {
  /** The version of the program. */
  readonly program: string;
  /** When the checkpoint was saved, Unix milliseconds. */
  readonly savedAt: number;
  /** The scan's id, a UUIDv7. */
  readonly scanId: string;
  /** SHA-256 of the head of the list, which contains the configuration. */
  readonly configuration: string;
  /** Seed of the target order; `null`: ascending order. */
  readonly seed: number | null;
  /** The shard of the targets that the scan probes. */
  readonly shard: string;
  /** The key of the tokens, hexadecimal. */
  readonly key: string;
  /** How the scan ended; `running` before the end. A finished scan has no checkpoint. */
  readonly state: CheckpointState;
  /** The low-water marks from which a resumed scan continues. */
  readonly marks: Marks;
  /** Length of each output after these rows, bytes; `null`: the output cannot be truncated. */
  readonly outputs: Offsets;
  /** Number of rows written. */
  readonly rows: number;
  /** Length and SHA-256 of the list file. */
  readonly list: ListFingerprint;
  /** The scan's counters, from which a resumed scan continues. */
  readonly counters: Counters;
}

/** Lengths of outputs, bytes; `null` for an output that is a pipe, a device or standard output. */
export type Offsets = readonly (number | null)[];

/** Length and digest of a list file. */
export interface ListFingerprint {
  /** Length of the list file, bytes. */
  readonly bytes: number;
  /** SHA-256 of these bytes, hexadecimal. */
  readonly sha256: string;
}

/** Counters that a resumed scan continues. */
export type Counters =
  & Pick<ScanState, "firstProbeAt" | "lastRowAt" | "sent" | "refused" | "dropped" | "replies">
  & Pick<ScanState, "canaries" | "floods">
  & Pick<ScanState, "aliases" | "noStatus" | "optedOut" | "inspectedInPart">
  & { readonly tcp: Pick<ScanState["tcp"], "sent" | "refused" | "counts"> };

/** The counters that a resumed scan continues, read from a scan's state. */
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
    tcp: { sent: tcp.sent, refused: tcp.refused, counts: tcp.counts },
  };
}

/**
 * Sets the counters of a resumed scan.
 *
 * @param listed The numbers of rows and opt-outs in the list beside the checkpoint. If the scan was
 * killed, the list may contain opt-outs that are later than the checkpoint.
 */
export function countFrom(
  state: ScanState,
  { tcp, ...others }: Counters,
  listed: { readonly rows: number; readonly optOuts: number },
): void {
  const optedOut = Math.max(others.optedOut, listed.optOuts);
  Object.assign(state, others, { written: listed.rows, optedOut });
  const { counts, ...sums } = tcp;
  Object.assign(state.tcp, sums);
  Object.assign(state.tcp.counts, counts);
}

/** SHA-256 of a text or of bytes, hexadecimal. */
export function sha256(data: string | Uint8Array): string {
  return nodeCrypto().createHash("sha256").update(data).digest("hex");
}

/** The content of a checkpoint file. */
export function formatCheckpoint(checkpoint: Checkpoint): string {
  const text = JSON.stringify({ checkpoint: VERSION, ...checkpoint }, null, 2) + "\n";
  return `${text}sha256 ${sha256(text)}\n`;
}

/**
 * Parses the content of a checkpoint file.
 *
 * @param program The version of this program.
 * @param path Path of the file, for errors.
 * @param allProtocols Every protocol that the checkpoint may name.
 * @throws InputError that names the defect.
 */
export function parseCheckpoint(
  content: string,
  program: string,
  path: string,
  allProtocols: readonly Protocol[],
): Checkpoint {
  const fail = (what: string) => new InputError(`Cannot resume "${path}": ${what}`);
  if (!content.startsWith('{\n  "checkpoint": ')) throw fail("it is not a checkpoint");
  const [, body, sum] = /^(.*\n)sha256 ([0-9a-f]{64})\n$/s.exec(content) ?? [];
  if (body === undefined) throw fail("it is incomplete: its last line is not a checksum");
  if (sha256(body) !== sum) throw fail("it was changed: its checksum does not match its content");
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
      `its format has version ${shown}, and this program reads version ${VERSION}`,
    );
  }
  if (program === ours) return;
  if (typeof program !== "string") throw wrongField("program", program, "a version");
  throw new FieldError(
    `blocksweep ${program} wrote it, and this is ${ours}: the order of targets may differ`,
  );
}

/** Checks the id of a scan. */
export const uuidText: Check<string> = text(
  /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/,
  "a UUIDv7",
);
const digest = text(/^[0-9a-f]{64}$/, "64 hexadecimal digits");
/** Unix milliseconds, up to the largest valid `Date`. */
const time = integer(0, 8.64e15);
const addressText: Check<string> = (value, field) =>
  formatAddress(checked(formed("an address", parseAddress))(value, field));
/** Checks the report of floods, which names protocols. */
function floodsField(allProtocols: readonly Protocol[]): Check<FloodReport> {
  const names = listOf(checked(oneOf(allProtocols.map(({ name }) => name))));
  return objectOf({
    hosts: integer(),
    datagrams: integer(),
    addresses: listOf(addressText),
    disturbed: names,
    passes: objectOf({ disturbed: names, clean: names, further: integer() }),
  });
}
const mark: Check<Mark> = objectOf({ pass: integer(1), position: integer() });

/** Checks the positions from which a scan continues. */
export const marksField: Check<Marks> = objectOf({ udp: mark, tcp: mark });

/** Checks the counters from which a scan continues. */
export const countersField = (allProtocols: readonly Protocol[]): Check<Counters> =>
  objectOf({
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
    tcp: objectOf({ sent: integer(), refused: integer(), counts: countsLike(noStreams()) }),
  });

/** Checks all fields of a checkpoint. */
const checkpointFields = (allProtocols: readonly Protocol[]) =>
  objectOf({
    program: text(/^/, "a version"),
    savedAt: time,
    scanId: uuidText,
    configuration: digest,
    seed: nullable(integer()),
    shard: text(/^[1-9]\d{0,6}\/[1-9]\d{0,6}$/, "a shard, for example 2/4"),
    key: text(/^[0-9a-f]{16}$/, "16 hexadecimal digits"),
    state: checked(oneOf([
      "running",
      "incomplete",
      "interrupted",
      "max-runtime",
      "failed",
    ])),
    marks: marksField,
    outputs: listOf(nullable(integer())),
    rows: integer(),
    list: objectOf({ bytes: integer(1), sha256: digest }),
    counters: countersField(allProtocols),
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
 * Reads and parses a checkpoint file.
 *
 * @throws InputError that names the file.
 */
export async function readCheckpoint(
  disk: Disk,
  path: string,
  program: string,
  allProtocols: readonly Protocol[],
): Promise<Checkpoint> {
  const bytes = await readExisting(disk, path, path);
  if (bytes.length > LONGEST) {
    throw new InputError(`Cannot resume "${path}": it is not a checkpoint`);
  }
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

/** The error for a checkpoint or list file that cannot be used. */
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
