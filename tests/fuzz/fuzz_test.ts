/**
 * A short run of the fuzzer, and the inputs that once crashed. `deno task fuzz` runs longer.
 */
import { assert, assertEquals, assertFalse } from "@std/assert";
import process from "node:process";
import { Random } from "../../src/fleet/random.ts";
import { DECODERS } from "../protocols/decoders/mod.ts";
import { knownCrashes } from "./corpus.ts";
import { Hammer, MAX_MS } from "./hammer.ts";
import { Mutator } from "./mutator.ts";
import type { Subject } from "./subject.ts";
import { decoderSubject } from "./subjects/decoders.ts";
import { SUBJECTS } from "./subjects/mod.ts";

const SEED = 20_261_120;
/** Inputs of each decoder of messages, which are fast, and of each other subject. */
const [DECODER_INPUTS, INPUTS] = [20_000, 1000];

for (const subject of SUBJECTS) {
  const isDecoder = subject.name in DECODERS;
  const count = isDecoder ? DECODER_INPUTS : INPUTS;
  Deno.test(`${subject.name}: ${count} inputs (seed ${SEED}) are accepted or refused`, async () => {
    const hammer = new Hammer(subject, SEED);
    await hammer.run(count);
    assertEquals(hammer.crashes.map(({ error, bytes }) => `${error}: ${bytes.toHex()}`), []);
    const { accepted, refused } = hammer.tally;
    assertEquals(accepted + refused, count);
    assert(accepted > 0, "no input is accepted");
    if (isDecoder) assert(refused > 0, "no input is refused");
  });
}

Deno.test("no input that once crashed does it again", async () => {
  for (const { file, subject: name, bytes } of await knownCrashes()) {
    const subject = SUBJECTS.find((one) => one.name === name);
    assert(subject !== undefined, `${file}: there is no ${name}`);
    await subject.check(bytes);
  }
});

/** A subject that does something wrong with some inputs. */
const planted = (check: Subject["check"]): Subject => ({
  name: "planted",
  from: "nobody",
  seeds: [new Uint8Array(64)],
  check,
});

Deno.test("the fuzzer finds an unexpected error, and makes its input as short as possible", async () => {
  const hammer = new Hammer(
    planted((bytes) => {
      if (bytes.includes(0xff) && bytes.includes(0x22)) throw new RangeError("planted");
      return "+";
    }),
    1,
  );
  await hammer.run(2000);
  assertEquals(hammer.crashes.length, 1);
  const [{ error, bytes }] = hammer.crashes;
  assert(error.startsWith("RangeError: planted"));
  assertEquals([...bytes].sort((a, b) => a - b), [0x22, 0xff]);
  assert(hammer.tally.crashes > 1);
});

Deno.test("the fuzzer finds an input that takes too much memory", async () => {
  const kept: Uint8Array[] = [];
  const hammer = new Hammer(
    planted(() => {
      kept.push(new Uint8Array(kept.length % 128 === 127 ? 80 << 20 : 1));
      return "+";
    }),
    1,
  );
  await hammer.run(256);
  assertEquals(hammer.crashes.map(({ error }) => error.split(":")[0]), ["Excess"]);
});

Deno.test("the fuzzer finds an input that takes too much time of its thread", async () => {
  const work = () => {
    const start = process.threadCpuUsage();
    for (let used = 0; used < 1000 * (MAX_MS + 50);) {
      const { user, system } = process.threadCpuUsage(start);
      used = user + system;
    }
    return "+" as const;
  };
  const hammer = new Hammer(planted(work), 1);
  await hammer.run(1);
  assertEquals(hammer.crashes.map(({ error }) => error.split(":")[0]), ["Excess"]);
});

Deno.test("the fuzzer finds an unchecked count, a wrong encoder and a forgotten length", async () => {
  const { stat, sqpChallenge } = DECODERS;
  const statement = () => ({ columns: { players_online: -1 }, flags: [], facts: {} });
  const wrong = { ...sqpChallenge, encode: () => sqpChallenge.encode(7) };
  const forgetful = {
    ...sqpChallenge,
    decode: (bytes: Uint8Array) => ({ content: bytes.toHex() }),
    encode: (value: unknown) => Uint8Array.fromHex((value as { content: string }).content),
  };
  for (
    const [name, decoder, reason] of [
      ["stat", { ...stat, statement }, "a count of -1"],
      ["sqpChallenge", wrong, "is encoded and decoded as 7"],
      ["sqpChallenge", forgetful, "bytes read as a whole"],
    ] as const
  ) {
    const hammer = new Hammer(decoderSubject(name, decoder), 1);
    await hammer.run(500);
    assert(hammer.crashes.some(({ error }) => error.includes(reason)), reason);
  }
});

Deno.test("equal seeds give equal inputs", () => {
  const seeds = [new TextEncoder().encode('{"a":[1,"b"]}'), new Uint8Array(40)];
  const inputs = (seed: number) => {
    const mutator = new Mutator(seeds, new Random(seed));
    return Array.from({ length: 500 }, () => mutator.next().toHex()).join();
  };
  assertEquals(inputs(7), inputs(7));
  assertFalse(inputs(7) === inputs(8));
});
