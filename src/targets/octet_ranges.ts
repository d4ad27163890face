/**
 * nmap's ranges of octets: `192.168.0-3.1-254`.
 *
 * @module
 */
import { InputError } from "../core/errors.ts";
import type { Range } from "./ranges.ts";

/** Four parts, some of them `first-last`. */
const FORM = /^\d+(?:-\d+)?(?:\.\d+(?:-\d+)?){3}$/;
/** Ranges of addresses that the ranges of octets of one input may stand for. */
const MOST_RANGES = 65_536;

/**
 * What bounds the ranges of addresses of one input, all its words together. Each word has one of its
 * own; the budget is for those beyond: 20 short words could stand for millions.
 */
export class RangeBudget {
  #spent = 0;

  /**
   * Takes the ranges of a word.
   *
   * @throws InputError that names the word, where they are too many.
   */
  spend(count: number, text: string): void {
    const before = this.#spent;
    this.#spent += count - 1;
    if (this.#spent <= MOST_RANGES) return;
    const together = before > 0 ? "together with the words before it, " : "";
    throw new InputError(
      `Cannot parse range "${text}": ${together}it stands for more than 65,536 ranges; ` +
        "write fewer, or a prefix",
    );
  }
}

/**
 * Reads ranges of octets.
 *
 * @param budget Of the input that the text is a part of.
 * @returns The ranges of addresses, ascending; `undefined` for another form.
 * @throws InputError where an octet is none, or the ranges are too many.
 */
export function parseOctetRanges(text: string, budget: RangeBudget): Range[] | undefined {
  if (!text.includes("-") || !FORM.test(text)) return undefined;
  const octets = text.split(".").map((part) => parseOctets(part, text));
  // Behind `last`, each octet takes all its values: one range covers them.
  const last = octets.findLastIndex(([low, high]) => low > 0 || high < 255);
  const size = 256 ** (3 - last);
  const [low, high] = last < 0 ? [0, 0] : octets[last];
  const before = octets.slice(0, Math.max(0, last));
  budget.spend(before.reduce((product, [from, to]) => product * (to - from + 1), 1), text);
  let starts = [0];
  for (const [from, to] of before) {
    const values = Array.from({ length: to - from + 1 }, (_, i) => from + i);
    starts = starts.flatMap((start) => values.map((value) => start * 256 + value));
  }
  return starts.map((start) => ({
    start: (start * 256 + low) * size,
    end: (start * 256 + high + 1) * size,
  }));
}

/** `7` or `1-254`. */
function parseOctets(part: string, text: string): [low: number, high: number] {
  const [low, high = low] = part.split("-");
  const fault = [low, high].some((octet) => /^0\d/.test(octet))
    ? "a part with a leading zero is octal to some programs; write it without"
    : Math.max(+low, +high) > 255
    ? "each part must be a number from 0 to 255"
    : +low > +high
    ? `in "${part}" the first number is above the last`
    : undefined;
  if (fault === undefined) return [+low, +high];
  throw new InputError(`Cannot parse range "${text}": ${fault}`);
}
