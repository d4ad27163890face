/**
 * Types of option values: placeholder in help, parser, and completions of shells.
 *
 * @module
 */
import { DAY_MS, HOUR_MS } from "../../core/quantities.ts";
import { NO_LOSS } from "./campaign_commands.ts";
import * as values from "../../core/checked_values.ts";
import { closestName } from "../../core/closest_name.ts";
import { InputError } from "../../core/errors.ts";
import type { Protocol } from "../../protocols/protocol.ts";

/** What shells complete for a value. */
export type Completions =
  /** One of these words. */
  | { readonly kind: "one"; readonly words: readonly string[] }
  /** Some of these words, with commas between them. */
  | { readonly kind: "some"; readonly words: Words }
  /** Shells complete paths of files. */
  | { readonly kind: "file" };

/** Words, or a function that computes them from the protocols. */
export type Words =
  | readonly string[]
  | ((allProtocols: readonly Protocol[]) => readonly string[] | Promise<readonly string[]>);

/** The context in which a value is parsed. */
export interface ValueContext {
  /** The name of the option as the user knows it, for errors: `--rate`, or `rate` in a program. */
  readonly option: string;
  /** Every protocol, in order of rank. */
  readonly allProtocols: readonly Protocol[];
}

export interface ValueType<Value> {
  /** The placeholder in help, such as `NUMBER`. */
  readonly placeholder: string;
  /**
   * Parses a value.
   *
   * @throws InputError that names the option, the text, and what is wanted.
   */
  readonly parse: (text: string, context: ValueContext) => Value;
  /** What shells complete. Default: nothing. */
  readonly completions?: Completions;
  /** Whether the value is a path, which depends on the current folder. */
  readonly isPath?: boolean;
  /** Whether the command writes the file at the path. Default: it only reads the file, or adds to it. */
  readonly isWritten?: true;
  /** Whether the value may have a path after `@`. */
  readonly mayHavePath?: true;
  /** The unit of numbers in programs, which ends the name of the option there. Default: none. */
  readonly unit?: string;
  /**
   * Converts the value of a program to the text that a user would write. Default: the items of a
   * list with commas between them, other values as they are.
   */
  readonly textOf?: (value: never) => string;
}

/** A type of times. Programs give milliseconds. */
export type TimeType = ValueType<number> & { readonly unit: "Ms" };

/** An error that names the option, the given text, and the expected value. */
export function wrongValue(option: string, text: string, wanted: string): InputError {
  return new InputError(`Cannot use ${option} "${text}": expected ${wanted}`);
}

/**
 * A type of values.
 *
 * @param wanted The expected value, for the error.
 * @param read Parses a text; `undefined`: the text is wrong.
 */
export function valueType<Value>(
  placeholder: string,
  wanted: string,
  read: (text: string) => Value | undefined,
): ValueType<Value> {
  return {
    placeholder,
    parse: (text, { option }) => {
      const value = read(text);
      if (value === undefined) throw wrongValue(option, text, wanted);
      return value;
    },
  };
}

/** Any text, which is taken as it is. */
export function anyText(placeholder: string): ValueType<string> {
  return { placeholder, parse: (text) => text };
}

/** A path of a file; shells complete it. */
export const FILE: ValueType<string> = {
  placeholder: "FILE",
  parse: (text) => text,
  completions: { kind: "file" },
  isPath: true,
};

/** A path of a file that the command writes. */
export const WRITTEN_FILE: ValueType<string> = { ...FILE, isWritten: true };

/** One of some words. */
export function oneOfType<const Word extends string>(words: readonly Word[]): ValueType<Word> {
  return {
    placeholder: "NAME",
    parse: (text, { option }) => wordOf(text, words, option),
    completions: { kind: "one", words },
  };
}

/** One or more of some words, with commas between them. */
export function someOf<const Word extends string>(
  words: readonly Word[],
): ValueType<readonly Word[]> {
  return {
    placeholder: "LIST",
    parse: (text, { option }) => {
      const given = splitList(text);
      if (given.length === 0) throw wrongValue(option, text, `some of ${words.join(", ")}`);
      return given.map((word) => wordOf(word, words, option));
    },
    completions: { kind: "some", words },
  };
}

/**
 * The word that equals a text.
 *
 * @throws InputError that names the words, and the closest one.
 */
export function wordOf<Word extends string>(
  text: string,
  words: readonly Word[],
  option: string,
): Word {
  const found = words.find((word) => word === text);
  if (found !== undefined) return found;
  const meant = closestName(text, words);
  const hint = meant === undefined ? "" : `; did you mean ${meant}?`;
  throw wrongValue(option, text, words.join(", ") + hint);
}

/** One of the keys of an object. */
export function keyOf<const Name extends string>(
  things: Readonly<Record<Name, unknown>>,
): ValueType<Name> {
  return oneOfType(Object.keys(things) as Name[]);
}

/** Texts with commas between them. */
export function splitList(text: string): readonly string[] {
  return text.split(",").map((part) => part.trim()).filter((part) => part !== "");
}

/** One or more values of a type, with commas between them. */
export function listType<Value>(type: ValueType<Value>): ValueType<readonly Value[]> {
  const { completions } = type;
  return {
    placeholder: "LIST",
    parse: (text, context) => {
      const given = splitList(text);
      if (given.length === 0) throw wrongValue(context.option, text, "one value or more");
      return given.map((one) => type.parse(one, context));
    },
    ...completions?.kind === "one" && { completions: { kind: "some", words: completions.words } },
  };
}

/** A whole number between two limits. */
export function wholeNumberType(
  least: number,
  most: number,
  placeholder: string = "NUMBER",
): ValueType<number> {
  const { wanted, read } = values.wholeNumber(least, most);
  return valueType(placeholder, wanted, read);
}

/** A number of repetitions. */
export const RETRIES: ValueType<number> = {
  ...wholeNumberType(0, 3, "0-3"),
  completions: { kind: "one", words: ["0", "1", "2", "3"] },
};

/** Parses a number that may end in k or M; NaN for other texts. */
function parseCount(text: string): number {
  const [, digits, unit] = /^(\d+(?:\.\d+)?)([kKmM]?)$/.exec(text) ?? [];
  return Number(digits) * { "": 1, k: 1e3, m: 1e6 }[unit?.toLowerCase() ?? ""]!;
}

/** A whole number that may end in k or M. */
export const COUNT: ValueType<number> = valueType(
  "NUMBER",
  "a whole number such as 500, 10k or 1M, at least 1",
  (text) => {
    const value = parseCount(text);
    return value >= 1 && value <= 1e9 && Number.isInteger(value) ? value : undefined;
  },
);

/** A rate, datagrams per second, with an optional suffix such as `k`. */
export const RATE: ValueType<number> = valueType(
  "NUMBER",
  "a number such as 0.5, 500, 10k or 1M",
  parseRate,
);

function parseRate(text: string): number | undefined {
  const value = parseCount(text);
  return value > 0 && value <= 1e9 ? value : undefined;
}

/** A rate that the scan searches for (`--rate auto`). */
export interface AutoRate {
  /** The highest allowed rate, datagrams per second; `undefined`: none was given. */
  readonly most: number | undefined;
}

/** A rate, datagrams per second; or `auto`, or `auto:50k` with the highest allowed rate. */
export const RATE_OR_AUTO: ValueType<number | AutoRate> = valueType(
  "NUMBER",
  "a number such as 0.5, 500, 10k or 1M, or auto, or auto:50k",
  (text) => {
    if (text === "auto") return { most: undefined };
    if (!text.startsWith("auto:")) return parseRate(text);
    const most = parseRate(text.slice("auto:".length));
    return most === undefined ? undefined : { most };
  },
);

/** The rate of a campaign, datagrams per second, with an optional suffix such as `k`. */
export const CAMPAIGN_RATE: ValueType<number> = {
  ...RATE,
  parse: (text, context) => {
    if (!/^auto(:|$)/.test(text)) return RATE.parse(text, context);
    throw new InputError(
      `Cannot use ${context.option} "${text}": ${NO_LOSS}`,
    );
  },
};

/** A bandwidth, bits per second, with an optional suffix such as `M`. */
export const BITS: ValueType<number> = valueType(
  "BITS",
  "bits per second from 1k to 1000G, such as 500k, 10M or 1G",
  (text) => {
    const [, digits, unit] = /^(\d+(?:\.\d+)?)([kKmMgG]?)$/.exec(text) ?? [];
    const value = Number(digits) * { "": 1, k: 1e3, m: 1e6, g: 1e9 }[unit?.toLowerCase() ?? ""]!;
    return value >= 1e3 && value <= 1e12 ? value : undefined;
  },
);

/** A cap for a network or a host, datagrams per second, or `off`. */
export const CAP: ValueType<number | "off"> = valueType(
  "NUMBER",
  "a whole number up to 1M, or off",
  (text) => {
    if (text === "off") return text;
    const value = parseCount(text);
    return value >= 1 && value <= 1e6 && Number.isInteger(value) ? value : undefined;
  },
);

/** A percentage, as a number from 0 to 1. */
export const PERCENT: ValueType<number> = valueType("PERCENT", "a number from 0 to 100", (text) => {
  const value = /^\d+(\.\d+)?%?$/.test(text) ? parseFloat(text) : NaN;
  return value <= 100 ? value / 100 : undefined;
});

/** The units of times, milliseconds. */
export const UNITS: Readonly<Record<string, number>> = {
  ...{ ms: 1, s: 1000, m: 60_000, h: HOUR_MS, d: DAY_MS, y: 365 * DAY_MS },
};

/** Parses a time of at most 30 days as milliseconds. */
export function parseTime(text: string): number | undefined {
  const [, digits, unit] = /^(\d+(?:\.\d+)?)(ms|s|m|h)$/.exec(text) ?? [];
  const value = Number(digits) * UNITS[unit];
  return value <= 30 * DAY_MS ? value : undefined;
}

/** The shortest time that an option accepts. */
export interface LeastTime {
  /** The shortest time, milliseconds. */
  readonly ms: number;
  /** The shortest time as errors name it, with a reason if there is one. */
  readonly text: string;
}

/**
 * A time with its unit, in milliseconds. A bare number is refused, because some tools read it as
 * seconds and others as milliseconds.
 */
export function timeType(least?: LeastTime): TimeType {
  const parse = (text: string, { option }: ValueContext) => {
    if (/^\d+(\.\d+)?$/.test(text)) {
      throw wrongValue(option, text, `a unit: ${text}ms or ${text}s`);
    }
    const value = parseTime(text);
    if (value === undefined) {
      throw wrongValue(option, text, "a time such as 800ms, 1.5s, 10m or 2h");
    }
    if (least === undefined || value >= least.ms) return value;
    throw new InputError(`Cannot use ${option} "${text}": it must be at least ${least.text}`);
  };
  return { placeholder: "TIME", parse, unit: "Ms", textOf: (ms: number) => `${ms}ms` };
}

/** An age in hours, days or years of 365 days, as milliseconds: from an hour to ten years. */
export const AGE: TimeType = {
  placeholder: "TIME",
  unit: "Ms",
  textOf: (ms: number) => `${ms / HOUR_MS}h`,
  parse: (text, { option }) => {
    const [, digits, unit] = /^(\d{1,5})([hdy])$/.exec(text) ?? [];
    const value = Number(digits) * UNITS[unit];
    if (value >= HOUR_MS && value <= 3653 * DAY_MS) return value;
    if (/^\d+$/.test(text)) throw wrongValue(option, text, `a unit: ${text}h or ${text}d`);
    throw wrongValue(option, text, "hours, days or years, such as 12h, 90d or 1y, up to 10y");
  },
};

/** An age as {@linkcode AGE}, or 0. */
export const AGE_OR_NONE: ValueType<number> = {
  placeholder: "TIME",
  parse: (text, context) => text === "0" ? 0 : AGE.parse(text, context),
};
