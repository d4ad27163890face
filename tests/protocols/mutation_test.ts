import { assert, assertThrows } from "@std/assert";
import { decodeAdvertisement } from "../../src/protocols/raknet/mod.ts";
import { Random } from "../../src/fleet/random.ts";
import { GOLDEN } from "../golden/mod.ts";
import { type Decoder, DECODERS } from "./decoders/mod.ts";
import { attempt, PartError, settled } from "./parts.ts";

const ROUNDS = 100_000;
const SEED = 20_261_120;

/**
 * Bytes with a meaning in formats: terminators, marks, escapes, limits of numbers and of UTF-8.
 */
const TELLING = [0x00, 0x01, 0x09, 0x1c, 0x2d, 0x30, 0x3b, 0x5c, 0x7f, 0x80, 0xa7, 0xc2, 0xff];

/** Messages and their mutations are shorter. */
const buffer = new Uint8Array(1 << 16);
let size = 0;

/** Moves the bytes from offset `from` on to offset `to`; what follows them is cut off. */
function move(from: number, to: number): void {
  buffer.copyWithin(to, from, size);
  size += to - from;
}

/** Changes some of the bytes at one offset, in one of seven ways. */
function change(random: Random, messages: readonly Uint8Array[]): void {
  const at = random.below(size + 1);
  const to = Math.min(size, at + random.below(24));
  switch (random.below(7)) {
    case 0:
      size = at;
      break;
    case 1:
      buffer[at] ^= 1 << random.below(8);
      break;
    case 2:
      buffer[at] = random.pick(TELLING);
      break;
    case 3:
      move(to, at);
      break;
    case 4:
      move(at, to); // which leaves the bytes before `to` twice
      break;
    case 5: {
      const added = random.below(12);
      move(at, at + added);
      for (let i = 0; i < added; i++) buffer[at + i] = random.u32() >>> 24;
      break;
    }
    default: {
      const message = random.pick(messages);
      size = at;
      for (let i = at; i < message.length; i++) buffer[size++] = message[i];
    }
  }
}

/**
 * Arrays of the sizes of the mutations. Each mutation fills the whole buffer of an array, so that a
 * decoder cannot read past its end; creating a buffer for each would cost more than most decoders.
 */
const arrays: Uint8Array[] = [];

/** One to four random changes to one of the messages. The result is valid until the next call. */
function mutate(random: Random, messages: readonly Uint8Array[]): Uint8Array {
  const message = random.pick(messages);
  buffer.set(message);
  size = message.length;
  for (let n = 1 + random.below(4); n > 0; n--) change(random, messages);
  const bytes = arrays[size] ??= new Uint8Array(size);
  bytes.set(buffer.subarray(0, size));
  return bytes;
}

/** Runs the decoder over mutations; any error but Truncated and Malformed fails the test. */
function hammer(decoder: Decoder, messages: readonly Uint8Array[]): Set<string> {
  const random = new Random(SEED);
  const kinds = new Set<string>();
  for (let round = 0; round < ROUNDS; round++) {
    const bytes = mutate(random, messages);
    try {
      const value = attempt(decoder, bytes);
      settled(decoder, value);
      kinds.add(value === undefined ? "undefined" : value instanceof Error ? value.name : "value");
    } catch (error) {
      throw new Error(`seed ${SEED}, round ${round}: ${bytes.toHex()}`, { cause: error });
    }
  }
  return kinds;
}

const messagesOf = (name: string) =>
  GOLDEN.filter(({ decoder }) => decoder === name).map(({ bytes }) => bytes);

for (const name of Object.keys(DECODERS)) {
  Deno.test(`${name}: ${ROUNDS} mutations (seed ${SEED}) yield values and the two errors`, () => {
    const kinds = hammer(DECODERS[name], messagesOf(name));
    assert(kinds.has("value") && kinds.has("undefined"), `reached only ${[...kinds]}`);
  });
}

Deno.test(`advertisement: ${ROUNDS} mutations (seed ${SEED}) never throw`, () => {
  const texts = messagesOf("pong").map((bytes) => bytes.subarray(35));
  hammer({ decode: decodeAdvertisement, encode: () => new Uint8Array(), partFlags: [] }, texts);
});

Deno.test("the mutations find an injected bug", () => {
  const planted: Decoder = {
    ...DECODERS.stat,
    decode: (bytes) => {
      if (bytes.length > 60 && bytes[40] === 0xff) throw new RangeError("planted");
      return DECODERS.stat.decode(bytes);
    },
  };
  const error = assertThrows(() => hammer(planted, messagesOf("stat")), Error, "round");
  assert(error.cause instanceof RangeError);
});

Deno.test("the mutations find an unchecked count", () => {
  const planted: Decoder = {
    ...DECODERS.stat,
    statement: () => ({ columns: { players_online: -1 }, flags: [], facts: {} }),
  };
  const error = assertThrows(() => hammer(planted, messagesOf("stat")), Error, "round");
  assert(error.cause instanceof PartError);
});
