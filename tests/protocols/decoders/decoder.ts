/** Shared types of the decoder tests. */
import type { Statement } from "../../../src/protocols/protocol.ts";
import { decodeLatin1 } from "../../../src/core/text.ts";

/** A decoder, its encoder, and the conversion of its values into statements. */
export interface Decoder {
  decode(bytes: Uint8Array): unknown;
  encode(value: unknown): Uint8Array;
  statement?(value: unknown): Statement;
  /** Flags of values that were decoded from a part of a message. */
  readonly partFlags: readonly string[];
}

/** A decoder for values of any type. */
export function decoder<T>(
  decode: (bytes: Uint8Array) => T | undefined,
  encode: (value: T) => Uint8Array,
  rest: { partFlags?: readonly string[]; statement?: (value: T) => Statement } = {},
): Decoder {
  return {
    decode,
    encode: encode as (value: unknown) => Uint8Array,
    partFlags: [],
    ...rest,
  } as Decoder;
}

/** Converts a value for JSON: bytes to Latin-1 text, big integers to decimal text. */
export function toJson(value: unknown): unknown {
  if (value instanceof Uint8Array) return decodeLatin1(value);
  if (typeof value === "bigint") return value.toString();
  if (Array.isArray(value)) return value.map(toJson);
  if (value instanceof Map) return toJson(Object.fromEntries(value));
  if (typeof value !== "object" || value === null) return value ?? null;
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, toJson(inner)]));
}
