import { assertEquals } from "@std/assert";
import { HOUR_MS } from "../../../src/core/quantities.ts";
import { Random } from "../../../src/fleet/random.ts";
import { VALID_MS } from "../../../src/store/uptime/rollup_hours.ts";
import {
  addUptime,
  heldStates,
  type SeenState,
  type StoredSpan,
  UNWATCHED,
  type Uptime,
  uptimeOfPolls,
  uptimeOfSteps,
} from "../../../src/store/uptime/uptime_of_polls.ts";

const START = 1_700_000_000_000 - 1_700_000_000_000 % HOUR_MS;
const SECOND = 1000;

const plus = (a: number | null, b: number | null) => a === null || b === null ? null : a + b;

/** The uptime of a period, computed second by second. All times are whole seconds. */
function bySecond(
  observed: readonly SeenState[],
  spans: readonly StoredSpan[],
  from: number,
  to: number,
  optedOutAt: number,
): Uptime {
  let sum = UNWATCHED;
  for (let at = from; at < Math.min(to, optedOutAt); at += SECOND) {
    const states = spans.filter(({ startedAt, endedAt }) => startedAt <= at && at < endedAt)
      .flatMap(({ scan, startedAt }) =>
        observed.filter((one) => one.scan === scan && one.at >= startedAt && one.at <= at).slice(-1)
      )
      .filter((one) => at < one.at + VALID_MS);
    if (states.length === 0) continue;
    const online = states.filter((one) => one.online)
      .toSorted((a, b) => a.at - b.at || a.scan - b.scan).at(-1);
    const players = online?.players ?? null;
    sum = addUptime(sum, {
      watchedS: 1,
      onlineS: online === undefined ? 0 : 1,
      playerS: Math.min(Math.max(players ?? 0, 0), 1_000_000),
      playersMin: players,
      playersMax: players,
      polls: states.filter((one) => one.at === at).map((one) => one.polls).reduce(plus, 0),
    });
  }
  return sum;
}

/** Spans of several watches. They overlap arbitrarily, except those of one watch. */
function drawSpans(random: Random): StoredSpan[] {
  const spans: StoredSpan[] = [];
  for (let scan = 1; scan <= 1 + random.below(3); scan++) {
    let at = START - 4 * HOUR_MS + SECOND * random.below(20_000);
    for (let i = random.below(4); i >= 0; i--) {
      const startedAt = at;
      at += SECOND * random.below(12_000);
      spans.push({ scan, startedAt, endedAt: at });
      at += SECOND * (1 + random.below(1000));
    }
  }
  return spans;
}

/** A number of polls, sometimes unknown. */
function drawPolls(random: Random): number | null {
  return random.below(50) === 0 ? null : 1 + random.below(60);
}

function drawStates(random: Random, count: number): SeenState[] {
  const states = new Map<string, SeenState>();
  for (let i = 0; i < count; i++) {
    const scan = 1 + random.below(4);
    const at = START + SECOND * (random.below(30_000) - 15_000);
    const players = [null, random.below(30), -5, 2 ** 31 - 1][random.below(4)];
    states.set(`${scan} ${at}`, {
      at,
      scan,
      online: random.below(3) > 0,
      players,
      polls: drawPolls(random),
    });
  }
  return [...states.values()].sort((a, b) => a.at - b.at);
}

Deno.test("uptime equals the computation second by second, and the hours of a period add up", () => {
  for (let seed = 1; seed <= 150; seed++) {
    const random = new Random(seed);
    const [spans, states] = [drawSpans(random), drawStates(random, random.below(40))];
    const optedOutAt = random.below(3) === 0 ? START + SECOND * random.below(9000) : Infinity;
    const hour = (at: number) => uptimeOfPolls(states, spans, at, at + HOUR_MS, optedOutAt);
    const expected = bySecond(states, spans, START, START + HOUR_MS, optedOutAt);
    assertEquals(hour(START), expected, `seed ${seed}`);
    const both = uptimeOfPolls(states, spans, START, START + 2 * HOUR_MS, optedOutAt);
    assertEquals(addUptime(hour(START), hour(START + HOUR_MS)), both, `seed ${seed}`);
    const held = heldStates(states, spans, START, START + 2 * HOUR_MS, optedOutAt);
    const steps = [START, START + HOUR_MS].map((at) => [at, hour(at)] as const);
    const watched = steps.filter(([, { watchedS }]) => watchedS > 0);
    assertEquals([...uptimeOfSteps(held, HOUR_MS)], watched, `seed ${seed}`);
  }
});

Deno.test("an hour of overlapping watches counts once, and a watch without observations does not count", () => {
  const span = (scan: number) => ({ scan, startedAt: START, endedAt: START + HOUR_MS });
  const seen = (scan: number, minute: number, online: boolean): SeenState => ({
    at: START + 60_000 * minute,
    scan,
    online,
    players: online ? scan : null,
    polls: minute + 1,
  });
  const states = [seen(1, 0, true), seen(2, 10, true), seen(1, 30, false), seen(2, 40, false)];
  const end = START + HOUR_MS;
  assertEquals(uptimeOfPolls(states, [span(1), span(2), span(3)], START, end), {
    watchedS: 3600,
    onlineS: 2400,
    playerS: 600 + 1800 * 2,
    playersMin: 1,
    playersMax: 2,
    polls: 1 + 11 + 31 + 41,
  });
  assertEquals(uptimeOfPolls(states, [span(3)], START, end), UNWATCHED);
});
