/** Covers src/sweep/mark_history.ts. */
import { assertEquals } from "@std/assert";
import {
  CONNECTION_ORDERS,
  type Pass,
  type PassVisitor,
  planPasses,
  runPasses,
  spaceOf,
} from "../../src/sweep/passes.ts";
import type { Mark } from "../../src/sweep/mark_history.ts";
import { RangeSet } from "../../src/targets/ranges.ts";
import { FakeNetwork } from "../../src/testing/fake_network.ts";

const SIZE = 10;
const SEGMENTS = [{ addresses: RangeSet.of([{ start: 1, end: 1 + SIZE }]), ports: [1] }];
const START: Mark = { pass: 1, position: 0 };
const TWICE = planPasses([{ name: "a" }, { name: "b" }], 1, () => SEGMENTS);

/** Runs passes of 10 ms each; returns the start of each pass and the final mark. */
async function run(
  passes: readonly Pass[],
  from: Mark,
  { stopIn, quietIn, settledAt = () => Infinity }: {
    readonly stopIn?: number;
    readonly quietIn?: number;
    /** When a pass has no targets left, milliseconds. Default: never. */
    readonly settledAt?: (pass: Pass) => number;
  } = {},
) {
  const network = new FakeNetwork(1);
  const stop = new AbortController();
  const begun = network.now();
  const log: string[] = [];
  const visitor: PassVisitor = {
    async visit(_pass, space, mark) {
      await new Promise<void>((resolve) => network.after(10, resolve));
      const isCut = mark.pass === stopIn;
      if (isCut) stop.abort();
      return { position: isCut ? 4 : space.size, isQuiet: mark.pass === quietIn };
    },
    targetsOf: (pass) => ({
      get some() {
        return network.now() - begun < settledAt(pass);
      },
    }),
  };
  const end = await network.run(runPasses({
    passes,
    order: { seed: 3 },
    from,
    gapMs: 1000,
    clock: network,
    signal: stop.signal,
    progress: {
      begin: ({ protocol, number }, { pass, position }, size) =>
        log.push(`${network.now() - begun} ${protocol}${number} ${pass}:${position} of ${size}`),
      note: () => {},
    },
  }, visitor));
  return { end, log, now: network.now() - begun };
}

Deno.test("passes run one after the other, with a pause after each except the last", async () => {
  const { end, log, now } = await run(TWICE, START);
  assertEquals(log, [
    "0 a1 1:0 of 10",
    "1010 a2 2:0 of 10",
    "2020 b3 3:0 of 10",
    "3030 b4 4:0 of 10",
  ]);
  assertEquals([end, now], [{ pass: 5, position: 0 }, 3040]);
});

Deno.test("no pause follows a pass that sent nothing, unless it continues an earlier one", async () => {
  const whole = await run(TWICE, START, { quietIn: 2 });
  assertEquals(whole.log.slice(1, 3), ["1010 a2 2:0 of 10", "1020 b3 3:0 of 10"]);
  const rest = await run(TWICE, { pass: 2, position: 5 }, { quietIn: 2 });
  assertEquals(rest.log.slice(0, 2), ["0 a2 2:5 of 10", "1010 b3 3:0 of 10"]);
});

Deno.test("a pause ends early if the next pass has no targets left; the one after it waits", async () => {
  const settledAt = ({ number }: Pass) => number === 2 ? 100 : Infinity;
  const { log } = await run(TWICE, START, { settledAt, quietIn: 2 });
  assertEquals(log.slice(1, 3), ["110 a2 2:0 of 10", "1010 b3 3:0 of 10"]);
});

Deno.test("a cancelled pass ends at the position of its visitor, and no pass follows", async () => {
  const { end, log } = await run(TWICE, START, { stopIn: 2 });
  assertEquals([log.length, end], [2, { pass: 2, position: 4 }]);
});

Deno.test("a resumed scan whose passes are complete runs none", async () => {
  const from = { pass: 5, position: 0 };
  assertEquals(await run(TWICE, from), { end: from, log: [], now: 0 });
});

Deno.test("each pass visits the targets in a different order, TCP passes included", () => {
  const connections = planPasses([{ name: "c" }], 1, () => SEGMENTS, CONNECTION_ORDERS);
  const orders = [...TWICE, ...connections].map((pass) => {
    const target = { address: 0 as number | bigint, port: 0 };
    const space = spaceOf(pass, { seed: 3 });
    return Array.from({ length: SIZE }, (_, i) => {
      space.at(i, target);
      return target.address;
    }).join();
  });
  assertEquals(new Set(orders).size, 6);
});
