/**
 * Servers that go up and down as in REACH's section on freshness: within a half-day, a server that
 * has been up for `a` half-days goes down with the chance 0.2·a^-0.85 + 0.012, and one that has been
 * down for `d` half-days comes back with 0.36·d^-1.4. New servers replace those that stay down.
 */
import { Random } from "../../src/fleet/random.ts";

/** The time in which servers were born before the month, half-days: longer changes the figures little. */
const BEFORE = 240;
/** The month, half-days. */
export const MONTH = 60;
/** Share of new servers in a /24 in which a server is known: servers of /24s with others, of all servers. */
const NEAR = 0.53;

/** A server. Times are half-days from the start of the month. */
export interface Mortal {
  /** When it goes up, down, up, …: ascending. */
  readonly changes: readonly number[];
  /** Whether it is in a /24 in which a server is known. */
  readonly near: boolean;
  /** Its place in the order of a discovery, 0 to 1. */
  readonly place: number;
}

/** Whether a server is up at a time. */
export function isUp({ changes }: Mortal, at: number): boolean {
  return changesBefore(changes, at) % 2 === 1;
}

/** The last change of a server up to a time; `undefined`: there is none. */
export function lastChange({ changes }: Mortal, at: number): number | undefined {
  return changes[changesBefore(changes, at) - 1];
}

function changesBefore(changes: readonly number[], at: number): number {
  let count = 0;
  while (count < changes.length && changes[count] <= at) count++;
  return count;
}

/** The integrated rates of change up to an age, half-days. The rate is constant up to an age of 1. */
const UP = (age: number) =>
  age < 1 ? 0.212 * age : 0.212 + 0.2 / 0.15 * (age ** 0.15 - 1) + 0.012 * (age - 1);
const DOWN = (age: number) => age < 1 ? 0.36 * age : 0.36 + 0.9 * (1 - age ** -0.4);

/** A random number from 0 to 1. */
const fraction = (random: Random) => random.u32() / 2 ** 32;

/** How long a state lasts, half-days; `Infinity`: for ever. */
function duration(integral: (age: number) => number, random: Random): number {
  const wanted = -Math.log(1 - fraction(random));
  if (integral(1e9) < wanted) return Infinity;
  let [low, high] = [0, 1e9];
  for (let i = 0; i < 60; i++) {
    const middle = (low + high) / 2;
    if (integral(middle) < wanted) low = middle;
    else high = middle;
  }
  return high;
}

/** Servers of a month, of which about `living` are up at any time. Some of them are born in the month. */
export function drawMortals(living: number, seed: number): Mortal[] {
  const random = new Random(seed);
  const draw = (): Mortal => {
    const changes: number[] = [];
    let at = -BEFORE + fraction(random) * (BEFORE + MONTH);
    for (let up = true; at < MONTH; up = !up) {
      changes.push(at);
      at += duration(up ? UP : DOWN, random);
    }
    return { changes, near: random.chance(NEAR), place: fraction(random) };
  };
  const mortals: Mortal[] = [];
  for (let up = 0; up < living;) {
    const mortal = draw();
    mortals.push(mortal);
    if (isUp(mortal, MONTH / 2)) up++;
  }
  return mortals;
}
