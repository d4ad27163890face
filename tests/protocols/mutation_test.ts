import { assert, assertThrows } from "@std/assert";
import { decodeAdvertisement } from "../../src/protocols/raknet/mod.ts";
import { Random } from "../../src/fleet/random.ts";
import { GOLDEN } from "../golden/mod.ts";
import { type Decoder, DECODERS } from "./decoders/mod.ts";
import { attempt, PartError, settled } from "./parts.ts";

const ROUNDS = 100_000;
const SEED = 20_261_120;
const NOTHING = new Uint8Array(0);

/**
 * Bytes with a meaning in formats: terminators, marks, escapes, limits of numbers and of UTF-8.
 */
const TELLING = [0x00, 0x01, 0x09, 0x1c, 0x2d, 0x30, 0x3b, 0x5c, 0x7f, 0x80, 0xa7, 0xc2, 0xff];

/** Messages and their mutations are shorter. */
const buffer = new Uint8Array(1 << 16);

/** One to four random changes to one of the messages. */
function mutate(random: Random, messages: readonly Uint8Array[]): Uint8Array {
  const message = random.pick(messages);
  buffer.set(message);
  let size = message.length;
  /** Replaces the bytes from one offset to another. */
  const replace = (from: number, to: number, bytes: Uint8Array) => {
    buffer.copyWithin(from + bytes.length, to, size);
    buffer.set(bytes, from);
    size += from - to + bytes.length;
  };
  for (let n = 1 + random.below(4); n > 0; n--) {
    const at = random.below(size + 1);
    const to = Math.min(size, at + random.below(24));
    const change = random.below(7);
    if (change === 0) size = at;
    else if (change === 1) buffer[at] ^= 1 << random.below(8);
    else if (change === 2) buffer[at] = random.pick(TELLING);
    else if (change === 3) replace(at, to, NOTHING);
    else if (change === 4) replace(to, to, buffer.slice(at, to));
    else if (change === 5) replace(at, at, random.bytes(random.below(12)));
    else replace(at, size, random.pick(messages).subarray(at));
  }
  return buffer.slice(0, size);
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
