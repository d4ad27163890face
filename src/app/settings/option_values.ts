/**
 * Reading the values of options: numbers, times, shares, shards.
 *
 * @module
 */
import { InputError } from "../../core/errors.ts";
import type { Shard } from "../../targets/space.ts";

/** What was given: positional words, and options by their long names. */
export interface Values {
  /** Words that belong to no option. */
  readonly words: readonly string[];
  /** Options that were given; each a list, `"true"` for those without a value. */
  readonly given: ReadonlyMap<string, readonly string[]>;
}

/** What an option takes, as far as it matters to values that are kept. */
export interface OptionForm {
  /** Its long name, without the dashes. */
  readonly name: string;
  /** What its value is called, `FILE` where that is a path; `undefined`: it takes none. */
  readonly value?: string;
  /** Whether it may be given several times. */
  readonly repeat?: boolean;
}

/** A rate that is to be found out. */
export interface AutoRate {
  /** The highest that is allowed, datagrams a second; `undefined`: nothing was said. */
  readonly most: number | undefined;
}

/** The values of a command, read as what they are meant to be. */
export class Settings {
  /** Reads from what was given. */
  constructor(readonly values: Values) {}

  /** Whether an option without a value was given. */
  has(name: string): boolean {
    return this.values.given.has(name);
  }

  /** The text of an option. */
  text(name: string): string | undefined {
    return this.values.given.get(name)?.[0];
  }

  /** All texts of an option. */
  texts(name: string): readonly string[] {
    return this.values.given.get(name) ?? [];
  }

  /** Texts with commas between them. */
  list(name: string): readonly string[] | undefined {
    const text = this.text(name);
    return text?.split(",").map((part) => part.trim()).filter((part) => part !== "");
  }

  /** A whole number. */
  whole(name: string, least: number, most: number): number | undefined {
    const text = this.text(name);
    if (text === undefined) return undefined;
    const value = /^\d{1,16}$/.test(text) ? Number(text) : NaN;
    if (value >= least && value <= most) return value;
    throw wrong(name, text, `a whole number from ${least} to ${most}`);
  }

  /** A rate; or that it is to be found out, up to the highest that is allowed: `auto:50k`. */
  rate(name: string): number | AutoRate | undefined {
    const text = this.text(name);
    if (text === undefined) return undefined;
    const [, auto, number = text] = /^(auto)(?::(.*))?$/.exec(text) ?? [];
    if (auto !== undefined && number === text) return { most: undefined };
    const value = parseCount(number);
    if (value > 0 && value <= 1e9) return auto === undefined ? value : { most: value };
    throw wrong(name, text, "a number such as 0.5, 500, 10k or 1M, or auto, or auto:50k");
  }

  /** Bits a second. */
  bits(name: string): number | undefined {
    const text = this.text(name);
    if (text === undefined) return undefined;
    const [, digits, unit] = /^(\d+(?:\.\d+)?)([kKmMgG]?)$/.exec(text) ?? [];
    const value = Number(digits) * { "": 1, k: 1e3, m: 1e6, g: 1e9 }[unit?.toLowerCase() ?? ""]!;
    if (value >= LEAST_BITS && value <= MOST_BITS) return value;
    throw wrong(name, text, "bits a second from 1k to 1000G, such as 500k, 10M or 1G");
  }

  /** A whole count that may end in k or M. */
  wholeCount(name: string): number | undefined {
    const text = this.text(name);
    if (text === undefined) return undefined;
    const value = parseCount(text);
    if (value >= 1 && value <= 1e9 && Number.isInteger(value)) return value;
    throw wrong(name, text, "a whole number such as 500, 10k or 1M, at least 1");
  }

  /** A cap: a whole number, or `off`. */
  cap(name: string): number | "off" | undefined {
    const text = this.text(name);
    if (text === undefined || text === "off") return text;
    const value = parseCount(text);
    if (value >= 1 && value <= 1e6 && Number.isInteger(value)) return value;
    throw wrong(name, text, "a whole number up to 1M, or off");
  }

  /**
   * A time with its unit, in milliseconds. Other tools read a bare number as seconds here, others as
   * milliseconds: it is refused.
   */
  time(name: string): number | undefined {
    const text = this.text(name);
    if (text === undefined) return undefined;
    if (/^\d+(\.\d+)?$/.test(text)) throw wrong(name, text, `a unit: ${text}ms or ${text}s`);
    return parseTime(name, text, "800ms, 1.5s, 10m or 2h");
  }

  /** A time in milliseconds: a bare number counts those. */
  milliseconds(name: string): number | undefined {
    const text = this.text(name);
    if (text === undefined) return undefined;
    return parseTime(name, text, "800ms, 1.5s, 10m or 2h (a bare number is milliseconds)");
  }

  /** An age in hours or days, as milliseconds: from an hour to ten years. */
  age(name: string): number | undefined {
    const text = this.text(name);
    if (text === undefined) return undefined;
    const [, digits, unit] = /^(\d{1,5})([hd])$/.exec(text) ?? [];
    const value = Number(digits) * (unit === "d" ? 24 : 1) * UNITS.h;
    if (value >= UNITS.h && value <= 3653 * 24 * UNITS.h) return value;
    if (/^\d+$/.test(text)) throw wrong(name, text, `a unit: ${text}h or ${text}d`);
    throw wrong(name, text, "hours or days, such as 12h or 90d, up to 3653d");
  }

  /** A share of a hundred, from 0 to 1. */
  percent(name: string): number | undefined {
    const text = this.text(name);
    if (text === undefined) return undefined;
    const value = /^\d+(\.\d+)?%?$/.test(text) ? parseFloat(text) : NaN;
    if (value >= 0 && value <= 100) return value / 100;
    throw wrong(name, text, "a number from 0 to 100");
  }

  /** One of a list of words. */
  oneOf(name: string, words: readonly string[]): string | undefined {
    const text = this.text(name);
    if (text === undefined || words.includes(text)) return text;
    throw wrong(name, text, words.join(", "));
  }

  /** `--shard 2/4`. */
  shard(): Shard {
    const text = this.text("shard");
    if (text === undefined) return { index: 1, count: 1 };
    const [, index, count] = /^(\d{1,7})\/(\d{1,7})$/.exec(text) ?? [];
    const shard = { index: Number(index), count: Number(count) };
    if (shard.index >= 1 && shard.index <= shard.count) return shard;
    throw wrong("shard", text, "I/N with I from 1 to N, as 2/4");
  }

  /** `--from 2:1500`. */
  mark(transport: "udp" | "tcp" = "udp"): { pass: number; position: number } {
    const text = this.text("from");
    if (text === undefined) return { pass: 1, position: 0 };
    const mark = String.raw`(\d{1,3}):(\d{1,15})`;
    const marks = new RegExp(`^(?:${mark})?(?:(?:^|,)T:${mark})?$`).exec(text);
    const [pass, position] = marks?.slice(transport === "udp" ? 1 : 3) ?? [];
    const passes = [marks?.[1], marks?.[3]];
    if (text === "" || marks === null || passes.some((one) => one !== undefined && +one < 1)) {
      throw wrong("from", text, "PASS:POSITION, T: before that of TCP, as a scan prints it");
    }
    return { pass: Number(pass ?? 1), position: Number(position ?? 0) };
  }
}

const LEAST_BITS = 1e3;
const MOST_BITS = 1e12;

/** A number that may end in k or M; NaN where it is none. */
function parseCount(text: string): number {
  const [, digits, unit] = /^(\d+(?:\.\d+)?)([kKmM]?)$/.exec(text) ?? [];
  return Number(digits) * { "": 1, k: 1e3, m: 1e6 }[unit?.toLowerCase() ?? ""]!;
}

const UNITS: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000 };

/** Milliseconds, at most 30 days; without a unit the number counts milliseconds. */
function parseTime(name: string, text: string, wanted: string): number {
  const [, digits, unit = "ms"] = /^(\d+(?:\.\d+)?)(ms|s|m|h)?$/.exec(text) ?? [];
  const value = Number(digits) * UNITS[unit];
  if (value >= 0 && value <= 30 * 24 * UNITS.h) return value;
  throw wrong(name, text, `a time such as ${wanted}`);
}

function wrong(name: string, text: string, wanted: string): InputError {
  return new InputError(`Cannot use --${name} "${text}": it wants ${wanted}`);
}
