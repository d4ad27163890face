/**
 * A reader of one datagram, encoders of integers, and the two errors of decoders.
 *
 * Decoders follow one rule. They return `undefined` for a message of another type. They throw
 * {@linkcode Truncated} or {@linkcode Malformed}, with the offset, for a broken one.
 *
 * @module
 */

/** The error of a message that ends inside a required field. */
export class Truncated extends Error {
  /** The class's name, always `"Truncated"`. */
  override readonly name = "Truncated";

  /**
   * Creates the error.
   *
   * @param what The field that could not be read.
   * @param offset Offset of the field in the message, bytes.
   * @param needed Minimum size of the field, bytes.
   * @param available Remaining bytes of the message.
   */
  constructor(
    readonly what: string,
    readonly offset: number,
    readonly needed: number,
    readonly available: number,
  ) {
    super(
      `Cannot read ${what}: ${needed} bytes are needed at offset ${offset}, but only ${available} are left`,
    );
  }
}

/** The error of a message with an invalid field. */
export class Malformed extends Error {
  /** The class's name, always `"Malformed"`. */
  override readonly name = "Malformed";

  /**
   * Creates the error.
   *
   * @param what The invalid field and its fault.
   * @param offset Offset of the field in the message, bytes.
   */
  constructor(readonly what: string, readonly offset: number) {
    super(`Cannot accept ${what} at offset ${offset}`);
  }
}

/**
 * Reads the fields of one datagram in order. Each call names its field for the message of
 * {@linkcode Truncated}.
 *
 * @example A length, then as many bytes
 * ```ts
 * import { assertEquals } from "@std/assert";
 *
 * const reader = new Reader(Uint8Array.of(0, 2, 7, 8, 9));
 * assertEquals([...reader.take(reader.u16("length"), "text")], [7, 8]);
 * assertEquals(reader.left, 1);
 * ```
 */
export class Reader {
  /**
   * Creates a reader.
   *
   * @param bytes The datagram.
   * @param offset Offset of the first field, bytes. Default: 0.
   */
  constructor(readonly bytes: Uint8Array, public offset = 0) {}

  /** Number of bytes that are not read yet. */
  get left(): number {
    return this.bytes.length - this.offset;
  }

  /** Advances by `size` bytes and returns their offset; throws {@linkcode Truncated}. */
  #advance(size: number, what: string): number {
    if (size > this.left) throw new Truncated(what, this.offset, size, this.left);
    const at = this.offset;
    this.offset += size;
    return at;
  }

  /** Reads an unsigned number of one byte. */
  u8(what: string): number {
    return this.bytes[this.#advance(1, what)];
  }

  /** Reads an unsigned number of two bytes, big endian. */
  u16(what: string): number {
    const at = this.#advance(2, what);
    return this.bytes[at] << 8 | this.bytes[at + 1];
  }

  /** Reads an unsigned number of two bytes, little endian. */
  u16le(what: string): number {
    const at = this.#advance(2, what);
    return this.bytes[at] | this.bytes[at + 1] << 8;
  }

  /** Reads an unsigned number of four bytes, big endian. */
  u32(what: string): number {
    return u32At(this.bytes, this.#advance(4, what));
  }

  /** Reads an unsigned number of eight bytes, big endian. */
  u64(what: string): bigint {
    const at = this.#advance(8, what);
    return BigInt(u32At(this.bytes, at)) << 32n | BigInt(u32At(this.bytes, at + 4));
  }

  /** Reads `size` bytes as a view into the datagram. */
  take(size: number, what: string): Uint8Array {
    const at = this.#advance(size, what);
    return this.bytes.subarray(at, at + size);
  }

  /** Reads all remaining bytes as a view into the datagram. */
  rest(): Uint8Array {
    return this.take(this.left, "rest");
  }

  /**
   * Reads the bytes up to the next NUL, and the NUL.
   *
   * @returns The bytes without the NUL; `undefined` when no NUL follows, and nothing is read then.
   */
  untilNul(): Uint8Array | undefined {
    const end = this.bytes.indexOf(0, this.offset);
    if (end < 0) return undefined;
    const text = this.bytes.subarray(this.offset, end);
    this.offset = end + 1;
    return text;
  }
}

/** Reads four bytes, big endian, without a DataView, which would cost more than the read. */
export function u32At(bytes: Uint8Array, at: number): number {
  return (bytes[at] << 24 | bytes[at + 1] << 16 | bytes[at + 2] << 8 | bytes[at + 3]) >>> 0;
}

/** Whether `bytes` contains `part` at offset `at`. */
export function hasBytes(bytes: Uint8Array, part: Uint8Array, at: number): boolean {
  if (at + part.length > bytes.length) return false;
  for (let i = 0; i < part.length; i++) if (bytes[at + i] !== part[i]) return false;
  return true;
}

/** Offset of the first `part` in `bytes` from offset `from` on, or -1. */
export function indexOfBytes(bytes: Uint8Array, part: Uint8Array, from: number): number {
  for (let at = bytes.indexOf(part[0], from); at >= 0; at = bytes.indexOf(part[0], at + 1)) {
    if (hasBytes(bytes, part, at)) return at;
  }
  return -1;
}

/** Concatenates parts into a new array. */
export function concat(...parts: readonly ArrayLike<number>[]): Uint8Array<ArrayBuffer> {
  let size = 0;
  for (const part of parts) size += part.length;
  const whole = new Uint8Array(size);
  let at = 0;
  for (const part of parts) {
    if (part instanceof Uint8Array) whole.set(part, at);
    else for (let i = 0; i < part.length; i++) whole[at + i] = part[i]; // faster than set()
    at += part.length;
  }
  return whole;
}

/**
 * Encodes two bytes, big endian, as an array of numbers, which is cheaper to create than a typed
 * array.
 */
export function u16(value: number): readonly number[] {
  return [value >> 8 & 255, value & 255];
}

/** Encodes three bytes, little endian. */
export function u24le(value: number): readonly number[] {
  return [value & 255, value >> 8 & 255, value >> 16 & 255];
}

/** Encodes four bytes, big endian. */
export function u32(value: number): readonly number[] {
  return [value >>> 24, value >>> 16 & 255, value >>> 8 & 255, value & 255];
}

/** Encodes eight bytes, big endian. */
export function u64(value: bigint): readonly number[] {
  return [...u32(Number(value >> 32n & 0xffffffffn)), ...u32(Number(value & 0xffffffffn))];
}

/** Reads an unsigned number of three bytes, little endian. */
export function readU24le(reader: Reader, what: string): number {
  const [low, middle, high] = reader.take(3, what);
  return low | middle << 8 | high << 16;
}

// Uint8Array.fromHex(), toHex() and fromBase64() do not exist in Node.js before version 25.

/** The bytes of hexadecimal text, whose digits are not checked. */
export function bytesOfHex(text: string): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(text.length >> 1);
  for (let i = 0; i < bytes.length; i++) {
    bytes[i] = digitOf(text.charCodeAt(2 * i)) << 4 | digitOf(text.charCodeAt(2 * i + 1));
  }
  return bytes;
}

/** The value of the hexadecimal digit with a code of ASCII: letters follow 9. */
function digitOf(code: number): number {
  return (code & 15) + (code > 57 ? 9 : 0);
}

/** Bytes as hexadecimal text in lower case. */
export function hexOf(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
