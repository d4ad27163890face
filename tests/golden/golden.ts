/**
 * The golden messages: bytes of servers and clients with their decoded values, one file each.
 *
 * A file holds what the message is (`about`), its bytes, the decoder, the value that it yields
 * (bytes as Latin-1 text, 64-bit integers as decimal text), whether that value is written back to
 * the same bytes, and what a record made of it says.
 */

/** The expected value of a golden message. */
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

/** The golden message in a file: its bytes are spaced hexadecimal digits. */
export function golden(name: string, content: unknown): Golden {
  const { bytes, ...expected } = content as Expected & { readonly bytes: readonly string[] };
  return { ...expected, name, bytes: Uint8Array.fromHex(bytes.join("").replaceAll(" ", "")) };
}
