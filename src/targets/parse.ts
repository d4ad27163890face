/**
 * Parses targets: addresses, ranges and host names as users write them.
 *
 * @module
 */
import {
  type Address,
  formatAddress,
  isLinkLocal,
  parseAddress,
  parseHost,
} from "../core/address.ts";
import { InputError } from "../core/errors.ts";
import { redactUrl } from "../core/redact.ts";
import { parseOctetRanges, RangeBudget } from "./octet_ranges.ts";
import { parsePort } from "./ports.ts";
import { later, type Range, rangeOfOne } from "./ranges.ts";

/** A range of addresses as a target. */
export interface RangeTarget {
  /** The addresses of the target. */
  readonly range: Range;
  /** The explicit port; `undefined`: the ports of the scan. */
  readonly port: number | undefined;
  /** The text of the user. */
  readonly text: string;
}

/** A host name as a target, which has to be resolved. */
export interface NameTarget {
  /** The name in lower case without a final dot. */
  readonly name: string;
  /** The explicit port; `undefined`: the ports of the scan. */
  readonly port: number | undefined;
  /** The line of the list that contains the name, such as `list.txt:3`. Default: the name is in no list. */
  readonly sourceLine?: string;
}

/** A target: a range or a host name. */
export type Target = RangeTarget | NameTarget;

const BITS = { 4: 32, 6: 128 } as const;

/**
 * Parses one target: an address, `address/prefix`, `first-last`, an octet range (`10.0.0.1-254`) or
 * a host name. A `:port` may follow (an IPv6 address is then in brackets).
 *
 * @throws InputError that names the text and its fault; also for octet ranges that expand to
 * several address ranges ({@linkcode parseTargets} parses those).
 *
 * @example
 * ```ts
 * import { parseTarget } from "blocksweep/targets";
 * import { assertEquals, assertThrows } from "@std/assert";
 *
 * assertEquals(parseTarget("10.0.0.0/30"), {
 *   range: { start: 0x0a000000, end: 0x0a000004 },
 *   port: undefined,
 *   text: "10.0.0.0/30",
 * });
 * assertEquals(parseTarget("Play.Example.org:19133"), { name: "play.example.org", port: 19133 });
 * assertThrows(() => parseTarget("10.0.0.0/33"), Error, "the prefix must be 0 to 32");
 * ```
 */
export function parseTarget(text: string): Target {
  const [target, ...more] = parseTargets(text);
  if (more.length === 0) return target;
  throw new InputError(
    `Cannot parse "${text}": it expands to ${more.length + 1} address ranges, not one`,
  );
}

/**
 * Parses one word: a target as for {@linkcode parseTarget}, or octet ranges, which may expand to
 * several address ranges.
 *
 * @param budget The budget of the input that contains the word. Default: a budget for only this word.
 * @throws InputError that names the text and its fault.
 *
 * @example
 * ```ts
 * import { assertEquals } from "@std/assert";
 *
 * assertEquals(parseTargets("10.0.0-1.1-254").map((one) => "range" in one && one.range), [
 *   { start: 0x0a000001, end: 0x0a0000ff },
 *   { start: 0x0a000101, end: 0x0a0001ff },
 * ]);
 * ```
 */
export function parseTargets(text: string, budget: RangeBudget = new RangeBudget()): Target[] {
  refuseUrl(text);
  const { host, port } = splitPort(text);
  const dash = host.indexOf("-");
  const name = !host.includes("/") && !(dash > 0 && isSpan(host, dash)) && !looksLikeAddress(host);
  if (name) return [{ name: parseName(host), port }];
  return parseRanges(host, dash, budget).map((range) => ({ range, port, text }));
}

/** Parses the address ranges of a text that is not a name. */
function parseRanges(text: string, dash: number, budget: RangeBudget): Range[] {
  if (text.includes("/")) return [parsePrefix(text)];
  if (dash > 0) return parseOctetRanges(text, budget) ?? [parseSpan(text, dash)];
  const address = parseLiteral(text, text);
  return [rangeOfOne(address)];
}

/** Splits `host:port`, `[v6]:port` or only a host. */
function splitPort(text: string): { host: string; port: number | undefined } {
  const bracketed = /^\[([^\]]*)\](?::(.*))?$/.exec(text);
  if (bracketed !== null) {
    const [, host, port] = bracketed;
    if (host.includes("%")) throw new InputError(`Cannot parse "${text}": ${ZONE_FAULT}`);
    if (typeof parseAddress(host) !== "bigint") {
      throw new InputError(`Cannot parse "${text}": only an IPv6 address may be in brackets`);
    }
    return { host, port: port === undefined ? undefined : parsePort(port, text) };
  }
  const colon = text.indexOf(":");
  if (colon < 0 || text.includes(":", colon + 1)) return { host: text, port: undefined };
  return { host: text.slice(0, colon), port: parsePort(text.slice(colon + 1), text) };
}

/** Whether a text can only mean an address: its last label is a number, or it contains a `:`. */
function looksLikeAddress(text: string): boolean {
  return text.includes(":") || /\.(\d+|0x[0-9a-f]*)$|^\d+$/i.test(text);
}

/** Whether a text with a `-` means two addresses and not a host name. */
function isSpan(text: string, dash: number): boolean {
  const head = text.slice(0, dash);
  return /[.:]/.test(head) && looksLikeAddress(head) || /^[\d.-]+$/.test(text);
}

function parseLiteral(text: string, whole: string): Address {
  const address = parseAddress(text);
  if (address !== undefined) return address;
  throw new InputError(`Cannot parse "${whole}": ${addressFault(text)}`);
}

/** Why a zone is refused. {@linkcode parseZonedTarget} accepts it. */
const ZONE_FAULT =
  "only query and watch take a zone, as in fe80::1%eth0, after a link-local address";

/**
 * Parses one target as {@linkcode parseTarget}, also a link-local address with a zone: `fe80::1%eth0` or
 * `[fe80::1%eth0]:19132`.
 *
 * @returns The target, and its zone; `undefined`: it has none.
 * @throws InputError that names the text and its fault; also for a link-local address without a zone.
 */
export function parseZonedTarget(text: string): { target: Target; zone: string | undefined } {
  const [, open = "", host, rest = ""] = /^(\[?)([^\[\]]*%[^\[\]]*)(\].*)?$/.exec(text) ?? [];
  const { address, zone } = parseHost(host ?? "") ?? {};
  if (address !== undefined) {
    return { target: parseTarget(`${open}${formatAddress(address)}${rest}`), zone };
  }
  const target = parseTarget(text);
  if (!("range" in target)) return { target, zone };
  const { start, end } = target.range;
  if (!isLinkLocal(start) || BigInt(end) - BigInt(start) > 1n) return { target, zone };
  throw new InputError(
    `Cannot use "${text}": a link-local address needs the zone of its link, as in fe80::1%eth0`,
  );
}

/** The fault of a text that looks like an address but is not one. */
function addressFault(text: string): string {
  if (text.includes("%")) return ZONE_FAULT;
  if (text.includes(":")) return "not an IPv6 address";
  if (/^\d{1,5}$/.test(text)) return `a port follows its host, as in HOST:${text}`;
  const parts = text.split(".");
  if (parts.length !== 4) return "an IPv4 address has four parts, for example 192.0.2.1";
  if (parts.some((part) => /^0\d/.test(part))) {
    return "some programs read a part with a leading zero as octal; omit the zero";
  }
  return "each part must be a number from 0 to 255";
}

function parsePrefix(text: string): Range {
  const slash = text.indexOf("/");
  const address = parseLiteral(text.slice(0, slash), text);
  const bits = BITS[typeof address === "number" ? 4 : 6];
  const digits = text.slice(slash + 1);
  const prefix = /^\d{1,3}$/.test(digits) ? Number(digits) : NaN;
  if (!(prefix <= bits)) {
    throw new InputError(`Cannot parse range "${text}": the prefix must be 0 to ${bits}`);
  }
  if (typeof address === "bigint") {
    const size = 1n << BigInt(bits - prefix);
    const start = address - address % size;
    return { start, end: start + size };
  }
  const size = 2 ** (bits - prefix);
  const start = address - address % size;
  return { start, end: start + size };
}

function parseSpan(text: string, dash: number): Range {
  const start = parseLiteral(text.slice(0, dash), text);
  const last = text.slice(dash + 1);
  const end = parseLiteral(last, text);
  if (typeof start !== typeof end) {
    throw new InputError(`Cannot parse range "${text}": one end is IPv4, the other IPv6`);
  }
  if (start > end) {
    throw new InputError(`Cannot parse range "${text}": the first address is above the last`);
  }
  return { start, end: later(end, 1) };
}

function parseName(text: string): string {
  const name = text.toLowerCase().replace(/\.$/, "");
  const labels = name.split(".");
  const valid = name.length <= 253 &&
    labels.every((label) => /^(?!-)[\p{L}\p{N}_-]{1,63}(?<!-)$/u.test(label));
  if (!valid) {
    throw new InputError(
      `Cannot parse "${text}": expected an address, a range (10.0.0.0/24, 10.0.0.1-254) or a host name`,
    );
  }
  return name;
}

/** A line end of any system. */
export const LINE_END = /\r\n|\n|\r/;

/**
 * Splits text into words at commas and white space, without `#` comments. A hyphen with white space
 * on both sides joins the first and last address of a range.
 *
 * @returns Each word with its line number, from 1.
 */
export function* splitWords(text: string): IterableIterator<{ word: string; line: number }> {
  let line = 0;
  for (const content of text.split(LINE_END)) {
    line++;
    const spans = content.replace(/#.*/, "").replace(
      /(?<=[\da-f.:])[ \t]+-[ \t]+(?=[\da-f.:])/gi,
      "-",
    );
    for (const word of spans.split(/[\s,]+/)) {
      if (word !== "") yield { word, line };
    }
  }
}

/** The first and the last address of a line, with tabs between them, and a text behind. */
const TAB_SPAN = /^[ \t]*([\da-f.:]+)\t\s*([\da-f.:]+)[ \t]*(?:\t.*)?$/i;

/**
 * A list of exclusions in which a range with tabs between its first and last address, as in lists of
 * allocated blocks, is written with a hyphen. In a list of targets, tabs separate targets.
 */
export function withTabSpans(text: string): string {
  return text.split(LINE_END).map((line) => {
    const [, first = "", last = ""] = TAB_SPAN.exec(line) ?? [];
    const isSpan = parseAddress(first) !== undefined && parseAddress(last) !== undefined;
    return isSpan ? `${first}-${last}` : line;
  }).join("\n");
}

/**
 * Parses a list of targets, as from a file.
 *
 * @param source The name of the list in errors.
 * @throws InputError that names the source and the line.
 */
export function parseTargetList(text: string, source: string): Target[] {
  return parseListWithin(new RangeBudget(), text, source);
}

/** Parses a list of targets, as {@linkcode parseTargetList} does, within the budget of several lists. */
export function parseListWithin(budget: RangeBudget, text: string, source: string): Target[] {
  const targets: Target[] = [];
  for (const { word, line } of splitWords(text)) {
    const sourceLine = `${source}:${line}`;
    const parsed = withLocation(sourceLine, () => parseTargets(word, budget));
    for (const target of parsed) {
      targets.push("name" in target ? { ...target, sourceLine } : target);
    }
  }
  if (targets.length === 0) throw new InputError(`Cannot use ${source}: it contains no targets`);
  return targets;
}

/**
 * Parses a list of ranges with reasons, as those in data/. Each line contains
 * a range and its reason.
 *
 * @param source The name of the list in errors.
 * @throws InputError that names the source and the line.
 */
export function parseRangeList(text: string, source: string): { range: Range; reason: string }[] {
  const budget = new RangeBudget();
  return text.split(LINE_END).flatMap((content, i) => {
    const line = content.trim();
    if (line === "" || line.startsWith("#")) return [];
    const [word, ...reason] = line.split(/\s+/);
    return withLocation(`${source}:${i + 1}`, () => parseTargets(word, budget)).map((target) => {
      if ("range" in target) return { range: target.range, reason: reason.join(" ") };
      throw new InputError(`${source}:${i + 1}: Cannot exclude "${word}": not a range`);
    });
  });
}

/** Adds the location of a text to the InputError of its parser. */
export function withLocation<T>(sourceLine: string, parse: () => T): T {
  try {
    return parse();
  } catch (error) {
    throw error instanceof InputError ? new InputError(`${sourceLine}: ${error.message}`) : error;
  }
}

/** Parts of a URL: a scheme, or the `@` after a user. No target contains them. */
const URL_PART = /^[a-z][a-z\d+.-]*:[/\\]|:\/\/|@/i;

/**
 * Rejects a text that contains a URL or a user.
 *
 * @throws InputError that quotes the text without its secrets.
 */
export function refuseUrl(text: string): void {
  if (!URL_PART.test(text)) return;
  throw new InputError(
    `Cannot use "${withoutSecrets(text)}" as a target: ` +
      `${
        text.includes("@") && !text.includes("://")
          ? "a target cannot contain a user"
          : "a URL is not a target"
      }` +
      "; write HOST or HOST:PORT",
  );
}

function withoutSecrets(text: string): string {
  if (text.includes("://")) return redactUrl(text);
  const at = text.lastIndexOf("@");
  return at < 0 ? text.replace(/:.*/s, ":…") : `…${text.slice(at)}`;
}
