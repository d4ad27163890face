/**
 * The golden messages: bytes as servers and clients send them, and beside each what they mean.
 *
 * A `.hex` file holds spaced bytes and `#` comments; the `.json` beside it the decoder, the value
 * that it yields (bytes as Latin-1 text, 64-bit integers as decimal text), whether that value is
 * written back to the same bytes, and what a record made of it says.
 */

/** What a golden message means. */
export interface Expected {
  /** Which decoder reads it. */
  readonly decoder: string;
  /** Who sends it. */
  readonly from: "client" | "server";
  /** What the decoder yields: a value, `null` for "another message", or the name of an error. */
  readonly value?: unknown;
  readonly throws?: string;
  /** Whether the value is written back to the same bytes. */
  readonly encodes: boolean;
  /** What a record made of it says: columns, flags and facts. */
  readonly statement?: unknown;
}

/** A golden message. */
export interface Golden extends Expected {
  readonly name: string;
  readonly bytes: Uint8Array;
}

/** A golden message from its two files. */
export function golden(name: string, hex: string, expected: unknown): Golden {
  const bytes = Uint8Array.fromHex(hex.replace(/#.*/g, "").replace(/\s/g, ""));
  return { name, bytes, ...expected as Expected };
}
