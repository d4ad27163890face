/**
 * Histories of player numbers, honest and dishonest, written without knowledge
 * of the rules that judge them. Below each history runs a simulated server with
 * real sessions; `honest` publishes it, `lie` distorts it.
 *
 * @module
 */

import { Random } from "../../../src/fleet/random.ts";

/** One poll of a server. */
export interface Poll {
  /** Unix milliseconds. */
  readonly at: number;
  readonly online: boolean;
  /** The published number of players; `null`: none published. */
  readonly players: number | null;
  /** The published maximum; `null`: none. */
  readonly slots: number | null;
  /** Names that the server publishes (Java: up to 12); `null`: none. */
  readonly sample: readonly string[] | null;
  /** What a second protocol says; `null`: only one protocol replied. */
  readonly otherPlayers: number | null;
}

/** The history of one server. */
export interface IndependentHistory {
  readonly kind: string;
  readonly truth: "honest" | "dishonest";
  readonly lie?: string;
  readonly polls: readonly Poll[];
}

/** A moment of a server: what is true, and memory for what is published. */
interface Moment {
  /** Minutes since the first poll; `h`: local hour; `week`: 0 is Sunday. */
  t: number;
  h: number;
  day: number;
  week: number;
  n: number;
  past: number; // a minute ago
  names: readonly string[];
  up: boolean;
  r: Random;
  peak: number;
  slots: number;
  s: { v: number; w: number; list: number[]; names: string[] }; // memory of one history
}

/** How the people of a server behave. */
interface Life {
  days?: number;
  every?: number;
  night?: number; // share of the peak in the quietest hour
  hour?: number; // local hour of the peak
  weekend?: number;
  stay?: number; // mean minutes of a session
  pool?: number; // accounts that ever join
  slots?: number;
  cap?: number; // real limit where it differs from the slots
  restarts?: number[]; // local hours
  outages?: number; // a week
  long?: number; // mean minutes of an outage
  residents?: number; // accounts that are always there
  swing?: number; // how much days differ
  lost?: number; // share of polls without reply
  query?: boolean; // a second protocol replies
  names?: boolean; // publishes a sample
  proxy?: boolean; // replies although the server behind is down
  factor?: (m: Moment) => number;
}

type Show = (m: Moment) => number | Partial<Poll>;

const none = { online: false, players: null, slots: null, sample: null, otherPlayers: null };

const SYLLABLES = ("mo ka rex lu fen dra nix pix zo ver shadow wolf craft ben " +
  "ash tim ela jo max blue sky pro ly son dark iron kit ninja qu ol").split(" ");

const unit = (r: Random) => (r.u32() + 0.5) / 2 ** 32;
const normal = (r: Random) => Math.sqrt(-2 * Math.log(unit(r))) * Math.cos(2 * Math.PI * unit(r));

function poisson(r: Random, mean: number): number {
  if (mean > 30) return Math.max(0, Math.round(mean + Math.sqrt(mean) * normal(r)));
  let n = 0;
  for (let p = unit(r); p > Math.exp(-mean); p *= unit(r)) n++;
  return n;
}

function accounts(r: Random, size: number): string[] {
  const names = new Set<string>();
  while (names.size < size) {
    let name = r.pick(SYLLABLES) + r.pick(SYLLABLES);
    if (r.chance(0.3)) name = name[0].toUpperCase() + name.slice(1);
    if (r.chance(0.2)) name += "_" + r.pick(SYLLABLES);
    if (r.chance(0.4)) name += r.below(r.pick([10, 100, 2020]));
    names.add(name.slice(0, 16));
  }
  return [...names];
}

/** Up to 12 names from a random place of the list, in any order, as servers take them. */
function some(r: Random, names: readonly string[]): string[] {
  const from = r.below(Math.max(1, names.length - 11));
  const keyed = names.slice(from, from + 12).map((name) => ({ name, key: r.u32() }));
  return keyed.sort((a, b) => a.key - b.key).map(({ name }) => name);
}

/** The maximum that an owner sets for a number of players. */
const room = (n: number) => [8, 20, 50, 100, 200, 500, 1000, 5000, 50_000].find((x) => x > n)!;

/** Share of the peak at an hour: a slow rise and a faster fall. */
function rhythm(h: number, hour: number, night: number): number {
  const d = (h - hour + 36) % 24 - 12;
  const x = Math.min(Math.PI, Math.abs(d) * (d < 0 ? 1 : 1.7) * Math.PI / 12);
  return night + (1 - night) * (1 + Math.cos(x)) / 2;
}

/** Lives through the days of a server minute by minute, and polls it. */
function polls(r: Random, peak: number, life: Life, show: Show): Poll[] {
  const days = life.days ?? r.pick([7, 10, 14, 21, 30]);
  const every = life.every ?? r.pick(days === 7 ? [1, 2, 5, 10] : [5, 10, 15, 20, 30, 60]);
  const slots = life.slots ?? room(peak * 1.6);
  const cap = life.cap ?? slots;
  const start = Date.UTC(2025, r.below(12), 1 + r.below(28), r.below(24), r.below(60));
  const zone = r.pick([-8, -6, -5, -3, 0, 1, 1, 2, 3, 8]);
  const stay = life.stay ?? r.pick([35, 60, 90]);
  const hour = life.hour ?? 18.5 + 3 * unit(r);
  const crowd = peak > 300; // only a number, no names
  const pool = accounts(r, life.pool ?? (crowd ? 1 : Math.ceil(peak * 8 + 3)));
  const residents = accounts(r, life.residents ?? 0);
  const present = new Map<string, number>();
  let kicked: [string, number][] = [], returning = 0;
  let n = 0, downUntil = -1e9, slow = 0, level = 1, next = 0;
  const result: Poll[] = [];
  const s = { v: NaN, w: 0, list: [], names: [] };
  for (let t = -720; t < days * 1440; t++) {
    const local = start + t * 60_000 + zone * 3_600_000;
    const minute = Math.floor(local / 60_000) % 1440, h = minute / 60;
    const week = new Date(local).getUTCDay(), day = Math.floor(t / 1440);
    if (minute === 300 || t === -720) level = Math.exp((life.swing ?? 0.12) * normal(r));
    slow = slow * 0.985 + 0.02 * normal(r);
    const past = n;
    const crash = r.chance((life.outages ?? 0.3) / 10_080);
    if (crash || (life.restarts?.includes(h) ?? false)) {
      const long = crash ? -(life.long ?? 12) * Math.log(unit(r)) : 0;
      downUntil = t + 1 + r.below(3) + Math.round(long);
      kicked = [...present].filter(() => r.chance(0.7));
      returning = Math.round(n * 0.7);
      present.clear();
      n = 0;
    }
    const up = t >= downUntil;
    const m: Moment = { t, h, day, week, n, past, names: [], up, r, peak, slots, s };
    if (up) {
      const weekend = week === 0 || week === 6 ? life.weekend ?? 1.2 : 1;
      const rate = peak / stay * rhythm(h, hour, life.night ?? 0.12) * weekend *
        level * Math.exp(slow) * (life.factor?.(m) ?? 1);
      const back = Math.min(returning, poisson(r, returning * 0.2));
      returning -= back;
      const arrivals = poisson(r, rate);
      if (crowd) {
        n = Math.max(0, Math.min(cap, n - poisson(r, n / stay) + arrivals + back));
      } else {
        for (const [name, end] of present) if (end <= t) present.delete(name);
        const joins = kicked.filter(() => r.chance(0.25)).slice(0, cap - present.size);
        kicked = kicked.filter((player) => !joins.includes(player));
        for (const [name, end] of joins) present.set(name, end);
        const back = residents.filter((name) => !present.has(name) && r.chance(0.3));
        for (const name of back) present.set(name, 1e9);
        for (let i = 0; i < arrivals && present.size < cap; i++) {
          const name = pool[Math.floor(pool.length * Math.min(unit(r), unit(r)))];
          const long = stay * (r.chance(0.4) ? 0.2 : 1.53);
          if (!present.has(name)) present.set(name, t + 1 - long * Math.log(unit(r)));
        }
        n = present.size;
      }
    }
    if (t < next) continue;
    next += every;
    const lost = r.chance(life.lost ?? 0.003);
    if (lost && r.chance(0.5)) continue; // nobody polled
    const at = start + t * 60_000 + r.below(20_000);
    m.n = n;
    m.names = [...present.keys()];
    if (lost || !(up || life.proxy)) {
      result.push({ at, ...none });
      continue;
    }
    // The second protocol is some seconds older or younger.
    const other = Math.round(n + (past - n) * unit(r) * 0.6);
    const query = (life.query ?? false) && !r.chance(0.03);
    const sample = life.names && !crowd ? some(r, m.names) : null;
    const shown = show(m);
    const part = typeof shown === "object" ? shown : {
      players: Math.max(0, Math.round(shown)),
      otherPlayers: query ? Math.max(0, Math.round(shown) + other - n) : null,
    };
    const plain = { players: n, slots, sample, otherPlayers: query ? other : null };
    result.push({ at, online: true, ...plain, ...part });
  }
  return result;
}

/** Arenas of a minigame: each fills up to `size`, plays, and empties at once. */
function arenas(count: number, size: number): Show {
  const filled = new Array<number>(count).fill(0), ends = filled.slice();
  let last = 0, open = 0;
  return ({ t, h, r }) => {
    for (; last < t; last++) {
      for (let i = 0; i < count; i++) {
        if (ends[i] === 0 && filled[i] >= size) ends[i] = last + 8 + r.below(12);
        if (ends[i] > last && filled[i] > 2 && r.chance(0.3)) filled[i]--;
        if (ends[i] > 0 && ends[i] <= last) filled[i] = ends[i] = 0;
      }
      open = ends.indexOf(0);
      const join = poisson(r, size * count / 14 * rhythm(h, 20, 0.05));
      if (open >= 0) filled[open] = Math.min(size, filled[open] + join);
    }
    return { players: filled.reduce((a, b) => a + b), sample: null };
  };
}

/** Publishes the real number and keeps it for some minutes. */
const keep = (minutes: number): Show => (m) => {
  if (m.t >= m.s.w) [m.s.v, m.s.w] = [m.n, m.t + minutes];
  return m.s.v;
};

/** All histories; equal ones each time. */
export function independentHistories(): readonly IndependentHistory[] {
  const all: IndependentHistory[] = [];
  const random = () => new Random(0x5eed + all.length * 7919);
  const real: Show = (m) => m.n;
  const honest = (kind: string, peaks: number[], life: Life, show: () => Show = () => real) => {
    for (const peak of peaks) {
      all.push({ kind, truth: "honest", polls: polls(random(), peak, life, show()) });
    }
  };
  const lie = (kind: string, what: string, peaks: number[], life: Life, show: Show) => {
    for (const peak of peaks) {
      const list = polls(random(), peak, { slots: room(peak * 4), ...life }, show);
      all.push({ kind, truth: "dishonest", lie: what, polls: list });
    }
  };
  const java = { names: true, query: true };

  honest("friends, 0 to 3 players", [1, 2], { names: true, pool: 5, swing: 0.8 });
  honest("empty server", [0], { ...java, days: 30 });
  honest("one account that never leaves", [0], { names: true, residents: 1, days: 14 });
  honest("chunk-loading bots and their owner", [0.6], { ...java, residents: 3, pool: 2 });
  honest("AFK farm", [2, 8], { names: true, residents: 7, restarts: [4], slots: 30 });
  honest("AFK rewards, most accounts stay", [6], { ...java, residents: 40, outages: 1, slots: 60 });
  honest("community with evenings", [8, 40, 150], java);
  honest("daily restart at 04:00", [15, 90, 900], { ...java, restarts: [4], days: 14 });
  const often = { restarts: [0, 6, 12, 18], proxy: true, query: true, every: 2, days: 7 };
  honest("four restarts a day behind a proxy", [60, 2500], often);
  honest("attacked for hours", [50, 600], { ...java, outages: 9, long: 90 });
  honest("large network", [3000, 18_000], { night: 0.3, days: 14, query: true });
  honest("count renewed each 5 minutes", [800], { every: 2, days: 7 }, () => keep(5));
  honest("slow cache of a large network", [9000], { every: 5, days: 14 }, () => keep(10));
  honest("always full, with a queue", [150, 900], { cap: 60, slots: 60, night: 0.6, days: 14 });
  honest("always full small server", [70], { ...java, slots: 20, night: 0.5, days: 30 });
  honest("full; staff joins over the limit", [60, 300], { slots: 50, cap: 53, names: true });
  const plusOne = () => (m: Moment) => ({ slots: m.n + 1 });
  honest("slots are players + 1", [30, 1200], { names: true, cap: 5000 }, plusOne);
  honest("Bedrock network, slots are players + 1", [400, 12_000], { days: 10 }, plusOne);
  const lan = (m: Moment) => m.n ? {} : none;
  honest("LAN world, online while somebody plays", [2], { pool: 6, names: true }, () => lan);
  const fifties = () => (m: Moment) => ({ slots: Math.ceil((m.n + 20) / 50) * 50 });
  honest("slots rise in steps of 50", [260], java, fifties);
  honest("Bedrock world of a family", [1.5], { slots: 10, pool: 4, hour: 17, night: 0 });
  honest("one arena of 16", [1], { every: 2, days: 7, slots: 16 }, () => arenas(1, 16));
  honest("lobby of 12 arenas with 8 each", [1], { slots: 100 }, () => arenas(12, 8));
  const sample = ["§aJoin our Discord", "§7discord.gg/example", ""];
  honest("text in place of names", [25, 700], {}, () => () => ({ sample }));
  honest("hides its players", [30], {}, () => () => ({ players: null, slots: null }));
  honest("shows 0/0", [40], {}, () => () => ({ players: 0, slots: 0 }));
  const lobby = (m: Moment) => ({ otherPlayers: poisson(m.r, m.n * 0.07) });
  honest("ping counts the network, Query the lobby", [500], {}, () => lobby);
  honest("vanished staff misses in the ping", [12, 80], { names: true }, () => (m) => {
    if (m.r.chance(0.05) || isNaN(m.s.v)) m.s.v = m.h > 8 ? m.r.below(4) : 0;
    return { players: Math.max(0, m.n - m.s.v), otherPlayers: m.n };
  });
  honest("players without listing are anonymous", [20], {}, () => (m) => ({
    sample: some(m.r, m.names).map((x) => x.length % 3 ? x : "Anonymous Player"),
  }));
  const school = (m: Moment) => m.week % 6 && m.h >= 8 && m.h < 15 ? 1 : 0;
  honest("school, weekdays 8 to 15", [24], { ...java, hour: 11, factor: school, stay: 40 });
  const club = (m: Moment) => m.week === 5 && m.h > 19.8 && m.h < 21 ? 3 : 0;
  honest("club on Fridays", [14], { days: 30, pool: 17, factor: club, stay: 110, names: true });
  const show = (m: Moment) => m.day % 6 === 4 && m.h > 18 && m.h < 20 ? 6 : 1;
  honest("events with a jump", [20, 500], { ...java, factor: show, slots: 4000 });
  honest("opened with hype", [100], { ...java, factor: (m) => 3 * Math.exp(-m.day / 7) });
  honest("advertised, grows for weeks", [40], { days: 30, factor: (m) => 0.3 + m.day / 20 });
  honest("players of all zones, hardly a rhythm", [40, 5000], { night: 0.8, weekend: 1 });
  honest("bad line, many polls lost", [25], { ...java, lost: 0.15, outages: 6 });
  const wipe = (m: Moment) => Math.exp(-((m.week + 3 + m.h / 24) % 7) / 2.5);
  honest("survival wiped each Thursday", [190], { slots: 200, days: 30, factor: wipe });
  honest("Source-like, 24 slots, short visits", [26], { slots: 24, stay: 25, night: 0.02 });
  honest("Source-like, 64 slots, full for hours", [110], { slots: 64, cap: 65, stay: 40 });
  const half = (m: Moment) => m.day % 5 === 2 && m.h > 13 && m.h < 22 ? 0.4 : 1;
  honest("half of the backends fail at times", [2000], { factor: half, stay: 15 });
  const holiday = (m: Moment) => m.day > 9 ? 1.6 : m.h > 8 && m.h < 15 && m.week % 6 ? 0.2 : 1;
  honest("holidays begin", [50], { ...java, days: 21, factor: holiday, hour: 17 });
  const both = () => (m: Moment) => ({ otherPlayers: m.n });
  honest("Java and Bedrock by one proxy", [70], { names: true }, both);

  const flat = { days: 14 };
  lie("constant", "always the same", [8, 60], java, (m) => m.slots * 0.8);
  lie("constant of a network", "always 1337", [30], { ...flat, slots: 2000 }, () => 1337);
  lie("constant with noise", "a number ± 3", [20, 90], flat, (m) => m.peak * 3 + m.r.below(7) - 3);
  lie("constant, wide noise", "100 ± 10 %", [45], flat, (m) => 100 + 10 * normal(m.r));
  for (const by of [1.2, 1.5, 2, 3]) {
    lie(`multiplied ${by}`, `real × ${by}`, [10, 200, 2000], java, (m) => m.n * by);
  }
  lie("multiplied, noise", "× 1.1 to 1.4", [80], java, (m) => m.n * (1.1 + 0.3 * unit(m.r)));
  lie("base and real", "fixed base", [5, 30, 9000], java, (m) => m.n + Math.ceil(m.peak * 0.8));
  lie("base with names", "real + 30 invented, who never leave", [10], {}, (m) => {
    if (!m.s.names.length) m.s.names = accounts(m.r, 30);
    return { players: m.n + 30, slots: 100, sample: some(m.r, [...m.names, ...m.s.names]) };
  });
  const walk = (m: Moment) => {
    const step = normal(m.r) * m.peak * 0.06;
    return m.s.v = Math.min(m.peak * 2, Math.max(m.peak, (m.s.v || m.peak * 1.5) + step));
  };
  lie("random walk", "walks between bounds", [20, 300, 9000], flat, walk);
  const slow: Show = (m) => m.s.v = Math.max(30, Math.min(90, (m.s.v || 60) + m.r.below(3) - 1));
  lie("slow walk", "walks by one each 5 minutes", [40], { ...flat, every: 5 }, slow);
  const sine = (m: Moment) => m.peak * (1.6 + Math.sin((m.h - 14) * Math.PI / 12));
  lie("sine", "sine of the day, no noise", [30, 800], flat, sine);
  lie("sine, noise", "4 % noise", [300], flat, (m) => sine(m) * (1 + 0.04 * normal(m.r)));
  lie("saw-tooth", "rises for 3 hours, falls at once", [90], flat, (m) => 40 + m.t % 180 / 2);
  lie("prestige", "49,999 of 500", [60], { slots: 500 }, () => 49_999);
  lie("prestige that moves", "real + 100,000, above the slots", [25], java, (m) => m.n + 100_000);
  lie("steps of 5", "real × 1.5 in fives", [70], java, (m) => Math.ceil(m.n * 0.3) * 5);
  lie("steps of 10", "walk in tens", [200], flat, (m) => Math.round(walk(m) / 10) * 10);
  lie("copied", "number of another zone's server", [20, 400], java, (m) => {
    m.s.v = (m.s.v || 50) * 0.9 + m.peak * 3 * rhythm((m.h + 9) % 24, 20, 0.3) * 0.1;
    return m.s.v + Math.sqrt(m.s.v) * normal(m.r) * 0.3;
  });
  lie("frozen sample", "real × 2, the same 12 names", [30], {}, (m) => {
    if (!m.s.names.length) m.s.names = accounts(m.r, 12);
    return { players: m.n * 2, sample: m.s.names };
  });
  const invent: Show = (m) => ({ players: Math.round(walk(m)), sample: accounts(m.r, 12) });
  lie("rotating sample", "walk with names invented at each poll", [50], flat, invent);
  lie(
    "only the ping lies",
    "ping × 3, Query true",
    [3, 15, 120],
    java,
    (m) => ({ players: m.n * 3 }),
  );
  lie("only Query lies", "Query + 50, ping true", [20], java, (m) => ({ otherPlayers: m.n + 50 }));
  const held: Show = (m) => m.s.v = m.up && m.n > m.peak * 0.1 ? m.n * 1.6 : m.s.v || 40;
  const down = { restarts: [4, 16], outages: 8, long: 60, every: 5 };
  lie("does not fall", "number stays in restarts", [50, 900], { ...down, proxy: true }, held);
  const base: Show = (m) => m.n + 80 + m.r.below(4);
  lie("back at once", "base of 80 returns with the server", [30], down, base);
  const ramp = { days: 30, slots: 1000 };
  lie("ramp", "rises for weeks in a line", [20, 300], ramp, (m) => m.peak + m.t / 300);
  const exact = { days: 30, every: 10, lost: 0 };
  for (const [text, period] of [["day", 1440], ["week", 10_080]] as const) {
    const again: Show = (m) => m.s.list[m.t % period] ??= m.n * 2;
    lie(`replayed ${text}`, `first ${text}, doubled, again and again`, [70, 900], exact, again);
  }
  const hourly: Show = (m) => m.n + (m.h % 1 < 0.5 ? 40 : 0);
  lie("bots at the full hour", "40 bots for half an hour", [25], java, hourly);
  const sites: Show = (m) => m.n * (m.t % 10 < 1 ? 4 : 1);
  lie("for list sites", "× 4 in each tenth minute", [30], { ...java, every: 1, days: 7 }, sites);
  const dice: Show = (m) => ({ players: m.r.below(m.slots), otherPlayers: m.r.below(m.slots) });
  lie("dice", "any number at each request", [60], java, dice);
  lie("never below", "at least 37", [12, 45], java, (m) => Math.max(37, m.n));
  lie("nearly full", "slots minus 1 to 5", [6], { slots: 60 }, (m) => m.slots - 1 - m.r.below(5));
  const highest: Show = (m) => {
    if (m.s.w !== m.day) [m.s.v, m.s.w] = [0, m.day];
    return m.s.v = Math.max(m.s.v || 0, m.n);
  };
  lie("peak held", "today's peak in place of now", [40], java, highest);
  const joins: Show = (m) => m.s.v = highest(m) as number + poisson(m.r, m.n / 20);
  lie("visitors of the day", "counts joins, not players", [30], java, joins);
  const fill: Show = (m) => m.n + Math.max(0, m.peak * 0.6 - m.n) * (0.9 + 0.1 * unit(m.r));
  lie("night filled", "bots fill up to 60 % of the peak", [100], java, fill);
  const late: Show = (m) => m.n * (m.day > 7 ? 2 : 1);
  lie("begins to lie", "true until day 7, then × 2", [60], { ...java, days: 21 }, late);
  const evening: Show = (m) => m.n * (m.h > 18 && m.h < 23 ? 1.7 : 1);
  lie("evenings only", "× 1.7 from 18 to 23", [90], java, evening);
  const human = { ...java, stay: 80, pool: 900 };
  lie("human bots", "most are bots that live like people", [120], human, real);
  lie("bots with sessions", "real + bots that stay 30 minutes each", [20], {}, (m) => {
    if (!m.s.names.length) m.s.names = accounts(m.r, 200);
    const bots = m.s.names.filter((_, i) => (m.t + i * 37) % 240 < 30);
    return { players: m.n + bots.length, sample: some(m.r, [...bots, ...m.names]) };
  });
  const named = { names: true, slots: 100 };
  lie("few names", "walk, but only the real names", [4], named, (m) => 40 + walk(m) * 3);
  return all;
}
