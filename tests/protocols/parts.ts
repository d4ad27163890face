/** The rule for decoders: what they may return for a prefix of a message. */
import { Malformed, Truncated } from "../../src/core/bytes.ts";
import { type Decoder, toJson } from "./decoders/mod.ts";

/** The error of a prefix that was decoded as a whole message. */
export class PartError extends Error {}

/** The result of a decoder: a value, `undefined`, or one of the two errors. */
export function attempt(decoder: Decoder, bytes: Uint8Array): unknown {
  try {
    return decoder.decode(bytes);
  } catch (error) {
    if (error instanceof Truncated || error instanceof Malformed) return error;
    throw error;
  }
}

/** Flags of a value. */
export function flagsOf(value: unknown): readonly string[] {
  return (value as { flags?: readonly string[] }).flags ?? [];
}

/**
 * Checks the rule for a prefix of a message. The result must be `undefined`, an error, or a value
 * with a flag that marks the value as incomplete. It must never be the value of the whole message.
 */
export function part(decoder: Decoder, whole: Uint8Array, size: number): void {
  const value = attempt(decoder, whole.slice(0, size));
  if (value === undefined || value instanceof Error) return;
  const full = attempt(decoder, whole);
  if (full instanceof Error) return; // a prefix of a malformed message may be another message
  if (flagsOf(full).includes("trailingBytes")) return; // the message without its trailing bytes is a prefix of the whole
  if (isShorterMessage(full, value)) return;
  const flagged = flagsOf(value).some((flag) => decoder.partFlags.includes(flag));
  if (!flagged) {
    throw new PartError(`${size} of ${whole.length} bytes read as a whole: ${print(value)}`);
  }
  if (print(value) === print(full) && !flagsOf(full).includes("truncated")) {
    throw new PartError(`${size} of ${whole.length} bytes read as the whole message`);
  }
}

/**
 * Some messages contain a complete shorter message, and their format has no length field: requests
 * (a basic stat request in a full one, a ping of 25 bytes in one of 33), NULs after the reply to a
 * handshake, and data and frames without a terminator. The two values differ only in this part.
 */
function isShorterMessage(full: unknown, part: unknown): boolean {
  for (const open of ["padding", "fill", "guid", "data", "frames"]) {
    const without = (value: unknown) => ({ ...value as object, [open]: undefined });
    if (print(without(full)) === print(without(part)) && print(full) !== print(part)) return true;
  }
  return false;
}

function print(value: unknown): string {
  return JSON.stringify(toJson(value));
}

/** Checks the statement of a decoded value: it has each flag once, and its counts are valid. */
export function settled(decoder: Decoder, value: unknown): void {
  if (value === undefined || value instanceof Error || !decoder.statement) return;
  const { columns, flags } = decoder.statement(value);
  if (flags.length !== new Set(flags).size) throw new PartError(`a flag twice: ${flags}`);
  for (const count of [columns.players_online, columns.players_max]) {
    if (typeof count === "number" && !(count >= 0 && count <= 999_999_999)) {
      throw new PartError(`a count of ${count}`);
    }
  }
}
