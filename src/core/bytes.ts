/**
 * A cursor over one datagram, integers as bytes, and the two ways in which a message can be broken.
 *
 * Decoders follow one rule: `undefined` says "not this message"; {@linkcode Truncated} and
 * {@linkcode Malformed} say "it is, but it is broken", and where.
 *
 * @module
 */

/** The message ends before something that it must hold. */
export class Truncated extends Error {
  /** Always `"Truncated"`. */
  override readonly name = "Truncated";

  /**
   * Says what is missing.
   *
   * @param what The field that could not be read.
   * @param offset Where it starts, in bytes from the start of the message.
   * @param needed How many bytes it takes (at least).
   * @param available How many bytes are there.
   */
  constructor(
    readonly what: string,
    readonly offset: number,
    readonly needed: number,
    readonly available: number,
  ) {
    super(
      `Cannot read ${what}: ${needed} bytes are needed at offset ${offset}, ${available} are there`,
    );
  }
}

/** The message is whole, but a field in it holds what it must not. */
export class Malformed extends Error {
  /** Always `"Malformed"`. */
  override readonly name = "Malformed";

  /**
   * Says what is wrong.
   *
   * @param what The field that is wrong, and how.
   * @param offset Where it starts, in bytes from the start of the message.
   */
  constructor(readonly what: string, readonly offset: number) {
    super(`Cannot accept ${what} at offset ${offset}`);
  }
}

/**
 * Reads the fields of one datagram in order. Every read names what it reads, so that
 * {@linkcode Truncated} can say what was missing.
 *
 * @example A length, then as many bytes
 * ```ts
 * import { Reader } from "blocksweep/protocols";
 * import { assertEquals } from "@std/assert";
 *
 * const reader = new Reader(Uint8Array.of(0, 2, 7, 8, 9));
 * assertEquals([...reader.take(reader.u16("length"), "text")], [7, 8]);
 * assertEquals(reader.left, 1);
 * ```
 */
export class Reader {
  /**
   * Starts reading.
   *
   * @param bytes The datagram.
   * @param offset Where to start.
   */
  constructor(readonly bytes: Uint8Array, public offset = 0) {}

  /** Bytes not read yet. */
  get left(): number {
    return this.bytes.length - this.offset;
  }

  /** Steps over `size` bytes and returns where they start; throws {@linkcode Truncated}. */
  #advance(size: number, what: string): number {
    if (size > this.left) throw new Truncated(what, this.offset, size, this.left);
    const at = this.offset;
    this.offset += size;
    return at;
  }

  /** One byte. */
  u8(what: string): number {
    return this.bytes[this.#advance(1, what)];
  }

  /** Two bytes, big endian. */
  u16(what: string): number {
    const at = this.#advance(2, what);
    return this.bytes[at] << 8 | this.bytes[at + 1];
  }

  /** Two bytes, little endian. */
  u16le(what: string): number {
    const at = this.#advance(2, what);
    return this.bytes[at] | this.bytes[at + 1] << 8;
  }

  /** Four bytes, big endian. */
  u32(what: string): number {
    return u32At(this.bytes, this.#advance(4, what));
  }

  /** Eight bytes, big endian. */
  u64(what: string): bigint {
    const at = this.#advance(8, what);
    return BigInt(u32At(this.bytes, at)) << 32n | BigInt(u32At(this.bytes, at + 4));
  }

  /** The next `size` bytes, as a view into the datagram. */
  take(size: number, what: string): Uint8Array {
    const at = this.#advance(size, what);
    return this.bytes.subarray(at, at + size);
  }

  /** All bytes that are left, as a view into the datagram. */
  rest(): Uint8Array {
    return this.take(this.left, "rest");
  }

  /**
   * The bytes up to the next NUL, which is consumed too.
   *
   * @returns `undefined` when no NUL follows; the cursor then stays where it is.
   */
  untilNul(): Uint8Array | undefined {
    const end = this.bytes.indexOf(0, this.offset);
    if (end < 0) return undefined;
    const text = this.bytes.subarray(this.offset, end);
    this.offset = end + 1;
    return text;
  }
}

/** Four bytes, big endian; a DataView for each datagram would cost more than reading it. */
function u32At(bytes: Uint8Array, at: number): number {
  return (bytes[at] << 24 | bytes[at + 1] << 16 | bytes[at + 2] << 8 | bytes[at + 3]) >>> 0;
}

/** Whether `bytes` holds exactly `part` from `at` on. */
export function hasBytes(bytes: Uint8Array, part: Uint8Array, at: number): boolean {
  if (at + part.length > bytes.length) return false;
  for (let i = 0; i < part.length; i++) if (bytes[at + i] !== part[i]) return false;
  return true;
}

/** Where `part` first occurs in `bytes` from `from` on, or -1. */
export function indexOfBytes(bytes: Uint8Array, part: Uint8Array, from: number): number {
  for (let at = bytes.indexOf(part[0], from); at >= 0; at = bytes.indexOf(part[0], at + 1)) {
    if (hasBytes(bytes, part, at)) return at;
  }
  return -1;
}

/** The parts, one after the other, in a new array. */
export function concat(...parts: readonly ArrayLike<number>[]): Uint8Array<ArrayBuffer> {
  const whole = new Uint8Array(parts.reduce((size, part) => size + part.length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}

/** Two bytes, big endian: a list, for a typed array of its own costs more than it holds. */
export function u16(value: number): readonly number[] {
  return [value >> 8 & 255, value & 255];
}

/** Three bytes, little endian. */
export function u24le(value: number): readonly number[] {
  return [value & 255, value >> 8 & 255, value >> 16 & 255];
}

/** Four bytes, big endian. */
export function u32(value: number): readonly number[] {
  return [value >>> 24, value >>> 16 & 255, value >>> 8 & 255, value & 255];
}

/** Eight bytes, big endian. */
export function u64(value: bigint): readonly number[] {
  return [...u32(Number(value >> 32n & 0xffffffffn)), ...u32(Number(value & 0xffffffffn))];
}

/** Reads three bytes, little endian. */
export function readU24le(reader: Reader, what: string): number {
  const [low, middle, high] = reader.take(3, what);
  return low | middle << 8 | high << 16;
}
