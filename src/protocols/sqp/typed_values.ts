/**
 * SQP values with a type: the values of rules, and the fields of players and teams.
 *
 * @module
 */
import { concat, Malformed, type Reader, u16, u32 } from "../../core/bytes.ts";
import { type Decoded, decodeUtf8 } from "../../core/text.ts";

/** The types. A message contains the index of a type in this list. */
export const VALUE_TYPES: readonly SqpValueType[] = ["u8", "u16", "u32", "u64", "string", "f32"];

/** The type of a value. */
export type SqpValueType = "u8" | "u16" | "u32" | "u64" | "string" | "f32";

/** A decoded value: a bigint for u64, the bytes for a string, and a number for all other types. */
export type TypedValue = number | bigint | Uint8Array;

/** Reads a type; throws Malformed when it is unknown. */
export function readType(reader: Reader): SqpValueType {
  const at = reader.offset;
  const code = reader.u8("type");
  const type = VALUE_TYPES[code];
  if (type === undefined) throw new Malformed(`a value of unknown type ${code}`, at);
  return type;
}

export function readValue(reader: Reader, type: SqpValueType, what: string): TypedValue {
  switch (type) {
    case "string":
      return readString(reader, what);
    case "f32":
      return readFloat(reader, what);
    default:
      return reader[type](what);
  }
}

/** Reads a string as a view into the message. */
export function readString(reader: Reader, what: string): Uint8Array {
  return reader.take(reader.u8(`${what} length`), what);
}

/** Reads a 32-bit float, big endian. */
export function readFloat(reader: Reader, what: string): number {
  const bytes = reader.take(4, what);
  return new DataView(bytes.buffer, bytes.byteOffset).getFloat32(0);
}

/** Encodes a type: one byte. */
export function encodeType(type: SqpValueType): readonly number[] {
  return [VALUE_TYPES.indexOf(type)];
}

export function encodeValue(type: SqpValueType, value: TypedValue): ArrayLike<number> {
  switch (type) {
    case "u8":
      return [Number(value)];
    case "u16":
      return u16(Number(value));
    case "u32":
      return u32(Number(value));
    case "u64":
      return encodeU64(BigInt(value as bigint));
    case "string":
      return encodeString(value as Uint8Array);
    case "f32":
      return encodeFloat(Number(value));
  }
}

function encodeU64(value: bigint): readonly number[] {
  return [...u32(Number(value >> 32n)), ...u32(Number(value & 0xffffffffn))];
}

/** Encodes a string of at most 255 bytes. */
export function encodeString(text: Uint8Array): Uint8Array {
  return concat([text.length], text);
}

/** Encodes a 32-bit float, big endian. */
export function encodeFloat(value: number): Uint8Array {
  const bytes = new Uint8Array(4);
  new DataView(bytes.buffer).setFloat32(0, value);
  return bytes;
}

/** A value as text: numbers in decimal, floats with the fewest sufficient digits. */
export function valueText(type: SqpValueType, value: TypedValue): Decoded {
  if (value instanceof Uint8Array) return decodeUtf8(value);
  const text = type === "f32" ? floatText(value as number) : String(value);
  return { text, badUtf8: false };
}

/** The shortest decimal text that identifies a 32-bit float: `0.1`, not `0.10000000149011612`. */
export function floatText(value: number): string {
  const digits = [6, 7, 8].find((count) => Math.fround(Number(value.toPrecision(count))) === value);
  return String(digits === undefined ? value : Number(value.toPrecision(digits)));
}
