/**
 * The commands `opt-out add`, `opt-out list` and `opt-out remove`: the entries of the opt-out file.
 *
 * @module
 */
import { systemClock } from "../../net/clock.ts";
import { EXIT, reason } from "../../app/mod.ts";
import {
  dateOf,
  type OptedOut,
  type OptOutEntry,
  OptOutFile,
  optOutLine,
  parseOptedOut,
} from "../../app/opt_outs/opt_out_file.ts";
import { type Address, family, formatAddress } from "../../core/address.ts";
import { InputError } from "../../core/errors.ts";
import { countOf } from "../../core/quantities.ts";
import { harmlessText } from "../../core/text.ts";
import { WriteError } from "../../sinks/sink.ts";
import { parseTargets } from "../../targets/parse.ts";
import { type Range, RangeSet } from "../../targets/ranges.ts";
import { type CommandCall, readCommandLine } from "../options/command_line.ts";
import { print, reportError, reportLine } from "../term/console.ts";
import { printResult } from "../term/json_results.ts";

/** Runs `opt-out add`; returns the exit code. */
export async function runOptOutAdd(call: CommandCall): Promise<number> {
  const { words, options } = readCommandLine("opt-out add", call);
  const { why, from, optOutFile, quiet } = options;
  const wanted = named(words, "opt out");
  if (why === undefined || from === undefined) {
    throw new InputError("Cannot opt out without --why and --from: say why, and who wants it");
  }
  const file = new OptOutFile(optOutFile, reportLine);
  const entries = await file.entries();
  const added = wanted.filter((one) => !entries.some((entry) => isSame(entry, one)));
  const lines = added.map(({ word }) => optOutLine(word, dateOf(systemClock.wall()), from, why));
  if (lines.length > 0) changed(file, () => file.append(lines.join("")));
  for (const one of wanted) {
    const verb = added.includes(one) ? "added to" : "already in";
    if (!quiet) reportLine(`${one.word}: ${verb} ${file.path}`);
  }
  return EXIT.done;
}

/** Runs `opt-out list`; returns the exit code. */
export async function runOptOutList(call: CommandCall): Promise<number> {
  const { options } = readCommandLine("opt-out list", call);
  const { json, ranges, optOutFile, quiet } = options;
  if (json && ranges) throw new InputError("Cannot use --json with --ranges");
  const entries = await new OptOutFile(optOutFile, reportLine).entries();
  if (ranges) {
    for (const one of networksOf(entries.flatMap((entry) => entry.ranges))) await print(one);
    const names = entries.filter(({ name }) => name !== undefined).length;
    if (names > 0 && !quiet) reportLine(`${countOf(names, "host name")} left out`);
    return EXIT.done;
  }
  for (const { word, date, from, why } of entries) {
    if (json) await printResult("opt-out list", { range: word, date, from, why });
    else await print(harmlessText([word, date ?? [], from ?? [], why].flat().join("  ")));
  }
  return EXIT.done;
}

/** Runs `opt-out remove`; returns the exit code. */
export function runOptOutRemove(call: CommandCall): Promise<number> {
  const { words, options: { optOutFile, quiet } } = readCommandLine("opt-out remove", call);
  const wanted = named(words, "remove an opt-out");
  const file = new OptOutFile(optOutFile, reportLine);
  const missing: string[] = [];
  let left: readonly OptOutEntry[] = [];
  changed(file, () =>
    file.remove((entries) => {
      const chosen = wanted.map((one) => {
        const same = entries.filter((entry) => isSame(entry, one));
        if (same.length === 0) {
          refusePart(entries, one);
          missing.push(one.word);
        }
        return same;
      });
      const removed = missing.length > 0 ? [] : chosen.flat();
      left = entries.filter((entry) => !removed.includes(entry));
      return removed;
    }));
  if (missing.length > 0) {
    reportError(
      `Cannot remove ${missing.map((word) => `"${word}"`).join(", ")}: not in "${file.path}"`,
    );
    return Promise.resolve(EXIT.failed);
  }
  for (const one of quiet ? [] : wanted) {
    const other = overlapping(left, one);
    const still = other && `; the entry "${other.word}" still opts out addresses of it`;
    reportLine(`${one.word}: removed from ${file.path}${still ?? ""}`);
  }
  return Promise.resolve(EXIT.done);
}

/**
 * The ranges and names that a command names.
 *
 * @throws InputError without any, or for one that cannot be parsed.
 */
function named(words: readonly string[], what: string): OptedOut[] {
  if (words.length === 0) throw new InputError(`Cannot ${what}: name ranges or host names`);
  return words.map((word) => parseOptedOut(withoutPort(word)));
}

/** Whether two opt-outs are the same range or name. */
function isSame(a: OptedOut, b: OptedOut): boolean {
  return a.name === b.name && a.ranges.length === b.ranges.length &&
    a.ranges.every(({ start, end }, i) => start === b.ranges[i].start && end === b.ranges[i].end);
}

/** The first of some entries that shares addresses with an opt-out, without being the same. */
function overlapping(
  entries: readonly OptOutEntry[],
  { ranges }: OptedOut,
): OptOutEntry | undefined {
  return entries.find((entry) =>
    entry.ranges.some((one) =>
      ranges.some((other) =>
        typeof one.start === typeof other.start && one.start < other.end && other.start < one.end
      )
    )
  );
}

/** @throws InputError for a word with a port. */
function withoutPort(word: string): string {
  if (parseTargets(word).every(({ port }) => port === undefined)) return word;
  throw new InputError(
    `Cannot opt out "${word}": it applies to all ports; leave out the port`,
  );
}

/** @throws InputError if an entry contains other addresses besides those to remove, or some of them. */
function refusePart(entries: readonly OptOutEntry[], wanted: OptedOut): void {
  const other = overlapping(entries, wanted);
  if (other === undefined) return;
  throw new InputError(
    `Cannot remove "${wanted.word}": the file has it in the entry "${other.word}"; ` +
      "remove that entry, and add the ranges that stay opted out",
  );
}

/** Changes the file. @throws WriteError when that fails. */
function changed(file: OptOutFile, change: () => void): void {
  try {
    change();
  } catch (error) {
    const isOther = error instanceof InputError || error instanceof Deno.errors.NotCapable;
    throw isOther ? error : new WriteError(`Cannot write to "${file.path}": ${reason(error)}`);
  }
}

/** The networks that together contain some ranges, in ascending order. */
function networksOf(ranges: readonly Range[]): string[] {
  const of = (
    bits: 4 | 6,
  ) => [...RangeSet.of(ranges.filter(({ start }) => family(start) === bits))];
  return [...of(4), ...of(6)].flatMap((range) => [...networksIn(range)]);
}

function* networksIn({ start, end }: Range<Address>): IterableIterator<string> {
  const [isIpv4, bits] = typeof start === "number" ? [true, 32] : [false, 128];
  for (let at = BigInt(start), size; at < BigInt(end); at += size) {
    let prefix = bits;
    for (size = 1n; prefix > 0 && at % (2n * size) === 0n && at + 2n * size <= end; size *= 2n) {
      prefix--;
    }
    yield `${formatAddress(isIpv4 ? Number(at) : at)}${prefix === bits ? "" : `/${prefix}`}`;
  }
}
