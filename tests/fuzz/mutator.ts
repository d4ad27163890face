/** Changes messages and files at random: the inputs of the fuzzer. */
import { changedJson, changedText, type Document, documentIn } from "./json_values.ts";
import type { Random } from "../../src/fleet/random.ts";

/**
 * Bytes with a meaning in formats: terminators, marks, escapes, limits of numbers and of UTF-8.
 */
const TELLING = [0x00, 0x01, 0x09, 0x0a, 0x1b, 0x1c, 0x22, 0x2d, 0x30, 0x3b, 0x5c, 0x7b];
TELLING.push(0x7f, 0x80, 0xa7, 0xc2, 0xed, 0xff);

/** Limits of numbers, for fields of lengths and counts. */
const LIMITS = [0, 1, 0x7f, 0x80, 0xff, 0x7fff, 0x8000, 0xffff, 0x1fffff, 0x7fffffff, 0xffffffff];

const utf8 = new TextEncoder();

/** Texts and byte strings with a meaning in formats. */
const TOKENS = [
  ...["-1", "0", "65536", "4294967296", "1e309", "9007199254740993", "null", "true", "[]", "{}"],
  ...['"', "\\u0000", "\\ud800", "__proto__", "constructor", "§", "§x§1§2§3", "§#", "\r\n", "\n\n"],
  ...["\u202e", "\u2028", "\u009b31m", "\x1b]0;", "<!--", "<![CDATA[", "&#x110000;", "&amp;"],
  ...[
    "::ffff:127.0.0.1",
    "255.255.255.255",
    "/0",
    "/128",
    "0-255",
    "{message}",
    "{{",
    "=1+2",
    "'@",
  ],
  ...["MCPE;", "splitnum\0\x80\0", "\0\x01player_\0\0", "[MOTD]", "[/AD]", "\ufeff"],
].map((text) => utf8.encode(text));
TOKENS.push(Uint8Array.fromHex("00ffff00fefefefefdfdfdfd12345678")); // RakNet's magic
TOKENS.push(Uint8Array.fromHex("ffffffff0f"), Uint8Array.fromHex("8080808010")); // VarInts

/** Inputs are at most this long, bytes. */
export const LONGEST = 1 << 16;
/** Arrays of this length and shorter ones are used again. */
const REUSED = 1 << 12;
/** Maximum number of inputs that are kept because their result was new. */
const MAX_KEPT = 300;

/** Makes inputs from known messages. Equal random numbers give equal inputs. */
export class Mutator {
  readonly #buffer = new Uint8Array(LONGEST + 64);
  #size = 0;
  /**
   * Arrays of the sizes of the inputs. Each input fills the whole buffer of an array, so that a
   * decoder cannot read past its end; creating a buffer for each would cost more than most decoders.
   */
  readonly #arrays: Uint8Array<ArrayBuffer>[] = [];
  readonly #messages: Uint8Array[];
  /** The messages that contain JSON. */
  readonly #documents: readonly Document[];
  readonly #known: number;

  constructor(messages: readonly Uint8Array[], private readonly random: Random) {
    this.#messages = messages.filter(({ length }) => length <= LONGEST);
    this.#known = this.#messages.length;
    this.#documents = this.#messages.flatMap((message) => documentIn(message) ?? []);
  }

  /** One to four random changes to one of the messages. The result is valid until the next call. */
  next(): Uint8Array<ArrayBuffer> {
    const { random } = this;
    const isDocument = this.#documents.length > 0 && random.chance(0.6);
    const message = isDocument ? this.#changedDocument() : random.pick(this.#messages);
    this.#buffer.set(message);
    this.#size = message.length;
    for (let n = isDocument ? random.below(8) >> 2 : 1 + random.below(4); n > 0; n--) {
      this.#change();
    }
    const size = this.#size;
    const bytes = size > REUSED
      ? new Uint8Array(size)
      : this.#arrays[size] ??= new Uint8Array(size);
    bytes.set(this.#buffer.subarray(0, size));
    return bytes;
  }

  /** One of the messages with JSON, with one or two of its values changed. */
  #changedDocument(): Uint8Array {
    const { head, value, tail } = this.random.pick(this.#documents);
    let changed = changedJson(value, this.random);
    if (this.random.chance(0.3)) changed = changedJson(changed, this.random);
    return utf8.encode(`${head}${changedText(changed)}${tail}`).subarray(0, LONGEST);
  }

  /** Makes further inputs also from this one. */
  keep(bytes: Uint8Array): void {
    const kept = bytes.slice();
    if (this.#messages.length < this.#known + MAX_KEPT) this.#messages.push(kept);
    else this.#messages[this.#known + this.random.below(MAX_KEPT)] = kept;
  }

  /** Moves the bytes from offset `from` on to offset `to`; what follows them is cut off. */
  #move(from: number, to: number): void {
    this.#buffer.copyWithin(to, from, this.#size);
    this.#size = Math.min(LONGEST, this.#size + to - from);
  }

  /** Inserts bytes at an offset. */
  #insert(at: number, bytes: Uint8Array): void {
    if (at + bytes.length > LONGEST) return;
    this.#move(at, at + bytes.length);
    this.#buffer.set(bytes, at);
  }

  /** Changes some of the bytes at one offset, in one of twelve ways. */
  #change(): void {
    const { random } = this;
    const buffer = this.#buffer;
    const at = random.below(this.#size + 1);
    const to = Math.min(this.#size, at + random.below(24));
    switch (random.below(12)) {
      case 0:
        this.#size = at;
        break;
      case 1:
        buffer[at] ^= 1 << random.below(8);
        break;
      case 2:
        buffer[at] = random.pick(TELLING);
        break;
      case 3:
        this.#move(to, at);
        break;
      case 4:
        this.#move(at, to); // which leaves the bytes before `to` twice
        break;
      case 5:
        this.#insert(at, random.bytes(random.below(12)));
        break;
      case 6:
        this.#writeLimit(at);
        break;
      case 7:
        this.#insert(at, random.pick(TOKENS));
        break;
      case 8:
        buffer[at] += random.below(2) * 2 - 1; // a length or a count that is wrong by one
        break;
      case 9:
        this.#repeat(at, to);
        break;
      default: {
        const message = random.pick(this.#messages);
        const from = random.chance(0.5) ? at : random.below(message.length + 1);
        this.#size = at;
        this.#insert(at, message.subarray(from, from + LONGEST - at));
      }
    }
  }

  /** Writes the limit of a number over one, two or four bytes, in one of the two byte orders. */
  #writeLimit(at: number): void {
    const limit = this.random.pick(LIMITS);
    const size = 1 << this.random.below(3);
    const isLittle = this.random.chance(0.5);
    for (let i = 0; i < size && at + i < this.#size; i++) {
      this.#buffer[at + i] = limit >>> 8 * (isLittle ? i : size - 1 - i);
    }
  }

  /** Repeats some bytes up to a few times, and seldom up to a thousand times. */
  #repeat(at: number, to: number): void {
    const part = to - at;
    const times = this.random.below(this.random.chance(0.02) ? 1000 : 8);
    if (this.#size + part * times > LONGEST) return;
    this.#move(at, at + part * times);
    for (let i = 0; i < times; i++) {
      this.#buffer.copyWithin(at + i * part, at + part * times, to + part * times);
    }
  }
}
