/**
 * Histories of numbers of players, honest and dishonest, with what is true of each. They were written
 * before the rules that judge them.
 *
 * @module
 */

import { Random } from "../../../src/fleet/random.ts";

/** The reply to one poll. */
export interface Poll {
  /** Unix milliseconds. */
  readonly at: number;
  /** Whether the server replied. */
  readonly online: boolean;
  readonly players: number | null;
  readonly slots: number | null;
  /** The names that the server publishes; `null`: none. */
  readonly sample: readonly string[] | null;
}

/** The truth of a history: `honest`, or how the server lies. */
export type Truth =
  | "honest"
  | "constant"
  | "scaled"
  | "aboveSlots"
  | "sawTooth"
  | "steps"
  | "frozenSample";

export interface History {
  readonly kind: string;
  readonly truth: Truth;
  readonly polls: readonly Poll[];
}

const DAY_MS = 86_400_000;
const START = Date.UTC(2026, 0, 5);

/** A generator of numbers from 0 to 1. */
function randomOf(seed: number): () => number {
  const random = new Random(seed);
  return () => random.u32() / 2 ** 32;
}

/** A server with people: they arrive more in the evening, stay for a while, and leave. */
class Crowd {
  readonly #ends: { until: number; name: string }[] = [];
  #next = 0;

  constructor(
    private readonly random: () => number,
    private readonly mean: number,
    private readonly stayMs = 75 * 60_000,
  ) {}

  /** The names of those who play at a time. */
  at(at: number, stepMs: number, slots = Infinity): string[] {
    const hour = (at / 3_600_000) % 24;
    const rhythm = 1 + 0.75 * Math.sin((hour - 13) / 24 * 2 * Math.PI);
    let expected = this.mean * rhythm * stepMs / this.stayMs;
    for (; expected > 0; expected--) {
      if (this.random() < expected) this.#join(at - this.random() * stepMs, slots);
    }
    const staying = this.#ends.filter(({ until }) => until > at).slice(0, slots);
    this.#ends.splice(0, this.#ends.length, ...staying);
    return staying.map(({ name }) => name);
  }

  /** All leave: the server restarts. */
  clear(): void {
    this.#ends.length = 0;
  }

  #join(at: number, slots: number): void {
    if (this.#ends.length >= 2 * slots) return;
    const stay = -Math.log(1 - this.random()) * this.stayMs;
    this.#ends.push({ until: at + stay, name: `Player_${this.#next++ % 5000}` });
  }
}

interface Times {
  readonly days: number;
  readonly stepMs: number;
}

type Maker = (
  random: () => number,
  times: Times,
) => (at: number) => Partial<Omit<Poll, "at">> & { readonly players: number };

/** Up to 12 of the names, as servers choose them. */
function sampleOf(names: readonly string[], random: () => number): string[] {
  return names.map((name) => ({ name, key: random() })).sort((a, b) => a.key - b.key)
    .slice(0, 12).map(({ name }) => name);
}

function crowd(mean: number, slots: number, withSample = false): Maker {
  return (random, { stepMs }) => {
    const people = new Crowd(random, mean);
    return (at) => {
      const names = people.at(at, stepMs, slots);
      return { players: names.length, slots, sample: withSample ? sampleOf(names, random) : null };
    };
  };
}

const MAKERS: readonly (readonly [kind: string, truth: Truth, maker: Maker])[] = [
  ["daily rhythm, 20 players", "honest", crowd(20, 100)],
  ["daily rhythm, 300 players", "honest", crowd(300, 1000)],
  ["names of 15 players", "honest", crowd(15, 60, true)],
  ["small: 0 to 3 players", "honest", crowd(0.7, 20, true)],
  ["empty", "honest", () => () => ({ players: 0, slots: 20 })],
  ["full: more want to play than can", "honest", crowd(300, 40)],
  ["full, slots of one number more", "honest", (random, times) => {
    const next = crowd(30, 60)(random, times);
    return (at) => {
      const { players } = next(at);
      return { players, slots: players + 1 };
    };
  }],
  ["restarts at night", "honest", (random, { stepMs }) => {
    const people = new Crowd(random, 30);
    return (at) => {
      const isDown = at % DAY_MS < 2 * stepMs;
      if (isDown) people.clear();
      return { players: people.at(at, stepMs).length, slots: 80, online: !isDown };
    };
  }],
  ["one account that stays", "honest", () => () => ({ players: 1, slots: 20, sample: ["Farmer"] })],
  ["two accounts that stay", "honest", () => () => ({
    players: 2,
    slots: 20,
    sample: ["Farmer", "Farmer_2"],
  })],
  ["three accounts that stay, and visitors", "honest", (random, { stepMs }) => {
    const people = new Crowd(random, 0.4);
    return (at) => {
      const names = ["Farmer", "Farmer_2", "Farmer_3", ...people.at(at, stepMs)];
      return { players: names.length, slots: 20, sample: sampleOf(names, random) };
    };
  }],
  ["six accounts that stay", "honest", () => () => ({
    players: 6,
    slots: 20,
    sample: ["AfkA", "AfkB", "AfkC", "AfkD", "AfkE", "AfkF"],
  })],
  ["twelve accounts that stay, and visitors", "honest", (random, { stepMs }) => {
    const people = new Crowd(random, 1);
    return (at) => ({ players: 12 + people.at(at, stepMs).length, slots: 50 });
  }],
  ["up to 3 reserved slots", "honest", (random, { stepMs }) => {
    const people = new Crowd(random, 30);
    return (at) => ({ players: people.at(at, stepMs, 43).length, slots: 40 });
  }],
  ["network of lobbies, names are lines of text", "honest", (random, { stepMs }) => {
    const people = new Crowd(random, 2000);
    return (at) => ({
      players: people.at(at, stepMs).length,
      slots: 5000,
      sample: [
        "§6Survival §7- open",
        "§bBedwars §7- open",
        "play.example.org",
        "§aVote!",
        "Discord",
      ],
    });
  }],
  ["couple that plays together", "honest", (random, { stepMs }) => {
    const people = new Crowd(random, 0.3);
    return (at) => ({ players: Math.min(2, 2 * people.at(at, stepMs).length), slots: 10 });
  }],
  ["event: grows from 5 to 400 in an evening", "honest", (random, { stepMs }) => {
    const [few, many] = [new Crowd(random, 5), new Crowd(random, 400, 40 * 60_000)];
    return (at) => {
      const hour = (at / 3_600_000) % 24;
      const isEvent = Math.floor(at / DAY_MS) % 7 === 5 && hour > 18;
      const guests = many.at(at, isEvent ? stepMs : 0).length;
      return { players: few.at(at, stepMs).length + guests, slots: 500 };
    };
  }],
  ["no number of slots", "honest", (random, times) => {
    const next = crowd(12, 100)(random, times);
    return (at) => ({ ...next(at), slots: null });
  }],
  ["queue: full below its slots", "honest", (random, times) => {
    const next = crowd(900, 280)(random, times);
    return (at) => ({ ...next(at), slots: 300 });
  }],
  ["constant count", "constant", (random) => {
    const players = 12 + Math.floor(random() * 400);
    return () => ({ players, slots: players * 2 });
  }],
  ["constant count, no slots", "constant", (random) => {
    const players = 20 + Math.floor(random() * 400);
    return () => ({ players, slots: null });
  }],
  ["constant count that changes each week", "constant", (random) => {
    const players = 50 + Math.floor(random() * 100);
    return (at) => ({ players: players + Math.floor(at / (7 * DAY_MS)) % 9, slots: 500 });
  }],
  ["count times 3", "scaled", (random, times) => {
    const next = crowd(20, 100)(random, times);
    return (at) => ({ players: next(at).players * 3, slots: 500 });
  }],
  ["count times 10, and 7 more", "scaled", (random, times) => {
    const next = crowd(8, 100)(random, times);
    return (at) => ({ players: next(at).players * 10 + 7, slots: 500 });
  }],
  ["count times 1.5", "scaled", (random, times) => {
    const next = crowd(30, 100)(random, times);
    return (at) => ({ players: Math.round(next(at).players * 1.5), slots: 500 });
  }],
  ["random walk above the slots", "aboveSlots", (random) => {
    let players = 120;
    return () => {
      players = Math.max(101, players + Math.floor(random() * 7) - 3);
      return { players, slots: 100 };
    };
  }],
  ["count far above the slots", "aboveSlots", () => () => ({ players: 49_999, slots: 500 })],
  ["saw-tooth with steps of 1", "sawTooth", (_, { stepMs }) => (at) => ({
    players: 20 + Math.floor(at / stepMs) % 15,
    slots: 100,
  })],
  ["saw-tooth with steps of 7", "sawTooth", (_, { stepMs }) => (at) => ({
    players: 30 + 7 * (Math.floor(at / stepMs) % 9),
    slots: 200,
  })],
  ["triangle with steps of 1", "sawTooth", (_, { stepMs }) => (at) => {
    const phase = Math.floor(at / stepMs) % 24;
    return { players: 40 + Math.min(phase, 24 - phase), slots: 200 };
  }],
  ["random walk with steps of 5", "steps", (random) => {
    let players = 100;
    return () => {
      players = Math.min(190, Math.max(20, players + (random() < 0.5 ? -5 : 5)));
      return { players, slots: 200 };
    };
  }],
  ["names that never change", "frozenSample", (random, times) => {
    const next = crowd(60, 200)(random, times);
    const sample = Array.from({ length: 12 }, (_, i) => `Builder${i}${Math.floor(random() * 99)}`);
    return (at) => ({ ...next(at), sample });
  }],
  ["names that never change, in another order", "frozenSample", (random, times) => {
    const next = crowd(40, 200)(random, times);
    const names = Array.from({ length: 8 }, (_, i) => `Miner_${i}`);
    return (at) => ({ ...next(at), sample: sampleOf(names, random) });
  }],
];

/**
 * Makes histories of each kind.
 *
 * @param count Number of histories of a kind.
 * @param days Length of each.
 * @param stepMs Time between two polls. Some polls are lost, as in a network.
 */
export function* histories(count: number, days: number, stepMs: number): Iterable<History> {
  for (const [index, [kind, truth, maker]] of MAKERS.entries()) {
    for (let i = 0; i < count; i++) {
      const random = randomOf(1000 * index + i);
      const next = maker(random, { days, stepMs });
      const polls: Poll[] = [];
      for (let at = START; at < START + days * DAY_MS; at += stepMs) {
        const { online = true, players, slots = null, sample = null } = next(at);
        if (random() < 0.01) continue;
        polls.push(
          online
            ? { at, online, players, slots, sample }
            : { at, online, players: null, slots: null, sample: null },
        );
      }
      yield { kind, truth, polls };
    }
  }
}
