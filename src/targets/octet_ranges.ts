/**
 * Octet ranges, as in nmap: `192.168.0-3.1-254`.
 *
 * @module
 */
import { InputError } from "../core/errors.ts";
import type { Range } from "./ranges.ts";

/** The form of octet ranges: four parts, each a number or `first-last`. */
const FORM = /^\d+(?:-\d+)?(?:\.\d+(?:-\d+)?){3}$/;
/** Maximum number of address ranges that the octet ranges of one input may expand to. */
const MAX_RANGES = 65_536;

/**
 * A bound on the number of address ranges of one input. It counts the ranges of all words, because
 * 20 short words could expand to millions of ranges. The first range of each word does not count.
 */
export class RangeBudget {
  #spent = 0;

  /**
   * Counts the address ranges of a word.
   *
   * @throws InputError that names the word, when the budget is exceeded.
   */
  spend(count: number, text: string): void {
    const before = this.#spent;
    const spent = before + count - 1;
    if (spent <= MAX_RANGES) return void (this.#spent = spent);
    const together = before > 0 ? "together with the words before it, " : "";
    throw new InputError(
      `Cannot parse range "${text}": ${together}it expands to more than 65,536 ranges; ` +
        "write fewer, or a prefix",
    );
  }
}

/**
 * Parses octet ranges.
 *
 * @param budget The budget of the input that contains the text.
 * @returns The address ranges, ascending; `undefined` for another form.
 * @throws InputError when an octet is invalid, or there are too many ranges.
 */
export function parseOctetRanges(text: string, budget: RangeBudget): Range[] | undefined {
  if (!text.includes("-") || !FORM.test(text)) return undefined;
  const octets = text.split(".").map((part) => parseOctets(part, text));
  // Each octet after `last` is 0-255, so one range covers these octets.
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

/** Parses one octet, `7` or `1-254`. */
function parseOctets(part: string, text: string): [low: number, high: number] {
  const [low, high = low] = part.split("-");
  const fault = [low, high].some((octet) => /^0\d/.test(octet))
    ? "some programs read a part with a leading zero as octal; omit the zero"
    : Math.max(+low, +high) > 255
    ? "each part must be a number from 0 to 255"
    : +low > +high
    ? `in "${part}" the first number is above the last`
    : undefined;
  if (fault === undefined) return [+low, +high];
  throw new InputError(`Cannot parse range "${text}": ${fault}`);
}
