/**
 * The golden messages: messages of servers and clients with their decoded values, one file each.
 *
 * A file contains a description of the message (`about`), its bytes, the name of the decoder and
 * the decoded value. In the value, bytes are Latin-1 text and 64-bit integers are decimal text. The
 * file also contains whether the value is encoded to the same bytes, and the values of the record
 * that is built from it.
 */
import { bytesOfHex } from "../../src/core/bytes.ts";

/** The expected value of a golden message. */
export interface Expected {
  /** The name of the decoder. */
  readonly decoder: string;
  /** The sender: server or client. */
  readonly from: "client" | "server";
  /** The result of the decoder: a value, `null` for "another message", or the name of an error. */
  readonly value?: unknown;
  readonly throws?: string;
  /** Whether the value is encoded to the same bytes. */
  readonly encodes: boolean;
  /** The values of the record that is built from the message: columns, flags and facts. */
  readonly statement?: unknown;
}

/** A golden message. */
export interface Golden extends Expected {
  readonly name: string;
  readonly bytes: Uint8Array;
}

/** The golden message in a file. Its bytes are hexadecimal digits with spaces. */
export function golden(name: string, content: unknown): Golden {
  const { bytes, ...expected } = content as Expected & { readonly bytes: readonly string[] };
  return { ...expected, name, bytes: bytesOfHex(bytes.join("").replaceAll(" ", "")) };
}
