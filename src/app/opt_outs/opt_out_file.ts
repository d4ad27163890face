/**
 * The user's file of ranges and host names that opted out. Lines are only appended, and removed by
 * writing spaces over them: programs that append at the same time lose nothing, and need no lock.
 *
 * @module
 */
import { systemClock } from "../../net/clock.ts";
import { nodePath, resolvePath } from "../../core/node_modules.ts";
import { type Address, formatAddress, isLoopback, parseAddress } from "../../core/address.ts";
import { InputError } from "../../core/errors.ts";
import { decodeLatin1, oneLine } from "../../core/text.ts";
import type { OptOutSource } from "../../net/mod.ts";
import { RangeBudget } from "../../targets/octet_ranges.ts";
import { LINE_END, parseTargets, withLocation } from "../../targets/parse.ts";
import { type Range, unmapped } from "../../targets/ranges.ts";
import { env, reason, userPath } from "../environment.ts";
import type { OptedOutNames, OptOutLookups } from "./opted_out_names.ts";

/** What opts out: ranges of addresses, or a host name. */
export interface OptedOut {
  /** The range or name as the user wrote it. */
  readonly word: string;
  /** The addresses; none for a name. */
  readonly ranges: readonly Range[];
  /** The name in lower case; `undefined`: the word is a range. */
  readonly name: string | undefined;
}

export interface OptOutEntry extends OptedOut {
  /** Index of the line, from 0. */
  readonly line: number;
  /** The date, as in 2026-01-31; `null`: the line has none. */
  readonly date: string | null;
  /** Who wants the opt-out; `null`: the line does not say it. */
  readonly from: string | null;
  /** Why; for lines without date and person all of the text. */
  readonly why: string;
}

/** Date, person and reason after a range, with two spaces or a tab between them. */
const FIELDS = /^(\d{4}-\d\d-\d\d)(?: {2,}|\t+)(.*?)(?: {2,}|\t+)(.*)$/s;

/** A line for an opt-out file. Line feeds in its texts become visible characters. */
export function optOutLine(word: string, date: string, from: string, why: string): string {
  return `${oneLine(`${word}  ${date}  ${from}  ${why}`)}\n`;
}

/**
 * Parses the range or the name of an opt-out, which applies to all ports.
 *
 * @throws InputError that names the text and its fault.
 */
export function parseOptedOut(word: string, budget?: RangeBudget): OptedOut {
  const targets = parseTargets(word, budget);
  const ranges = targets.flatMap((target) => "range" in target ? unmapped(target.range) : []);
  const [name] = targets.flatMap((target) => "name" in target ? target.name : []);
  return { word, ranges, name };
}

/**
 * @throws InputError for `127.0.0.1 - 127.0.0.9`, also with a tab in place of the hyphen, which would
 * opt out only the first address.
 */
function refuseSpaces(word: string, rest: string): void {
  const [, last] = /^(?:[-–]\s*)?([^\s–-]\S*)/.exec(rest) ?? [];
  if (last === undefined || parseAddress(last) === undefined) return;
  throw new InputError(
    `Cannot parse "${word} ${rest}": write the range without spaces, as in ${word}-${last}`,
  );
}

/**
 * Parses an opt-out file. Blank lines and lines that begin with `#` are skipped.
 *
 * @param source The name of the file in errors.
 * @param first Number of lines before the text.
 * @param onFault Receives the InputError of each line that cannot be parsed, which is skipped.
 * Default: it is thrown.
 * @throws InputError that names the file and the line.
 */
export function parseOptOutEntries(
  text: string,
  source: string,
  first = 0,
  onFault?: (error: InputError) => void,
): OptOutEntry[] {
  const budget = new RangeBudget();
  return text.split(LINE_END).flatMap((content, i) => {
    const line = first + i;
    const trimmed = content.trim();
    if (trimmed === "" || trimmed.startsWith("#")) return [];
    const [, word, rest] = /^(\S+)\s*(.*)$/s.exec(trimmed)!;
    const [, date = null, from = null, why = rest] = FIELDS.exec(rest) ?? [];
    try {
      const parsed = withLocation(`${source}:${line + 1}`, () => {
        refuseSpaces(word, rest);
        return parseOptedOut(word, budget);
      });
      return [{ ...parsed, line, date, from, why }];
    } catch (error) {
      if (onFault === undefined || !(error instanceof InputError)) throw error;
      onFault(error);
      return [];
    }
  });
}

interface ParsedFile {
  readonly text: string;
  readonly entries: OptOutEntry[];
  /** The fault of the first line that cannot be parsed. */
  readonly fault?: InputError;
}

/** The error for an opt-out file if only some of its lines can be parsed. */
export class PartlyReadOptOuts extends InputError {
  /** @param ranges The addresses of the lines that can be parsed. */
  constructor(message: string, readonly ranges: readonly Range[]) {
    super(message);
  }
}

/** A last line without a line end counts when it has stayed the same for this time, milliseconds. */
const SETTLED_MS = 1000;

/** The source of an opt-out that a server itself shows. */
const MARKER: OptOutSource = { from: "the server", why: "marker in its MOTD" };

/** The file in the configuration folder that keeps addresses that opted out. */
export class OptOutFile {
  readonly #path: string;
  /** The names in the file; `undefined`: it has had none. */
  #names: OptedOutNames | undefined;
  /** The file when it was last read. */
  #parsed: ParsedFile = { text: "", entries: [] };
  #wasRead = false;
  /** The text of the file at the last call of `read()`, and the time at which it was new. */
  #seen = { text: "", at: 0 };
  /** Whether that call left out a last line without a line end. */
  #isHeld = false;
  /** How often such a line was left out before, and then read. */
  #settled = 0;
  readonly #noted = new Set<Address>();
  /** Addresses that are to be appended. */
  #pending: { readonly address: Address; readonly source: OptOutSource }[] = [];
  #warned = false;

  /**
   * @param path The file; default: `opt-out.txt` in the user's configuration folder.
   * @param report Receives a line when the file cannot be written, or a name has no address.
   * @param lookups Looks up names. Default: names are left out.
   * @throws Deno.errors.NotCapable if that folder may not be looked up.
   */
  constructor(
    path: string | undefined,
    private readonly report: (line: string) => void,
    private readonly lookups?: OptOutLookups,
  ) {
    this.#path = path === undefined ? usualPath() : userPath(path);
  }

  get path(): string {
    return this.#path;
  }

  /**
   * The entries of the file. A missing file counts as empty.
   *
   * @throws InputError when the file cannot be read, so that no address in it is probed by mistake.
   */
  async entries(): Promise<OptOutEntry[]> {
    const { entries, fault } = this.#parse(await this.#readText());
    if (fault !== undefined) throw fault;
    return entries;
  }

  async #readText(): Promise<string> {
    try {
      const { isFile } = await Deno.stat(this.#path);
      // reading a named pipe would wait for a writer, without end
      if (!isFile && await Deno.realPath(this.#path) !== "/dev/null") {
        throw new InputError(`Cannot read "${this.#path}": it is not a regular file`);
      }
      return await Deno.readTextFile(this.#path);
    } catch (error) {
      if (error instanceof Deno.errors.NotFound) return "";
      if (error instanceof Deno.errors.NotCapable || error instanceof InputError) throw error;
      throw new InputError(`Cannot read "${this.#path}": ${reason(error)}`);
    }
  }

  /** Parses the file. Lines that were parsed before are kept, because a long file takes a while. */
  #parse(text: string): ParsedFile {
    const { text: before, entries, fault } = this.#parsed;
    const isLonger = before.endsWith("\n") && text.startsWith(before);
    const kept = isLonger ? before : "";
    const lines = kept.split(LINE_END).length - 1;
    const faults = isLonger && fault !== undefined ? [fault] : [];
    const added = parseOptOutEntries(text.slice(kept.length), this.#path, lines, (error) => {
      faults.push(error);
    });
    this.#parsed = { text, entries: isLonger ? [...entries, ...added] : added, fault: faults[0] };
    return this.#parsed;
  }

  /**
   * The addresses in the file, and those that its names have had since the first call. Only the first
   * call waits for lookups, because slow name servers must not delay ranges that were added since. A
   * name that cannot be resolved is reported once.
   *
   * Later calls leave out a last line without a line end until it has stayed the same for a second,
   * because a program may still be writing it: `192.0.2.0/2` would become `192.0.2.0/28`.
   *
   * @throws InputError when the file cannot be read; PartlyReadOptOuts from a later call if only some
   * of the lines can be parsed.
   */
  async read(): Promise<Range[]> {
    const text = await this.#readText();
    const whole = this.#wasRead ? this.#withoutNewEnd(text) : text;
    if (this.#isHeld && whole === text) this.#settled++;
    this.#isHeld = whole !== text;
    const { entries, fault } = this.#parse(whole);
    if (fault !== undefined && !this.#wasRead) throw fault;
    const names = new Set(entries.flatMap(({ name }) => name ?? []));
    if (names.size > 0 && this.lookups !== undefined) {
      const { OptedOutNames } = await import("./opted_out_names.ts");
      this.#names ??= new OptedOutNames(this.lookups, this.report);
    }
    this.#names?.set(names);
    const lookups = this.#names?.lookUp();
    if (!this.#wasRead) await lookups;
    this.#wasRead = true;
    const ranges = [...entries.flatMap(({ ranges }) => ranges), ...this.#names?.ranges ?? []];
    if (fault !== undefined) throw new PartlyReadOptOuts(fault.message, ranges);
    return ranges;
  }

  /** The text without a last line that lacks a line end and is new. */
  #withoutNewEnd(text: string): string {
    if (text !== this.#seen.text) this.#seen = { text, at: this.#now() };
    if (this.#now() - this.#seen.at >= SETTLED_MS) return text;
    return text.slice(0, Math.max(text.lastIndexOf("\n"), text.lastIndexOf("\r")) + 1);
  }

  #now(): number {
    return (this.lookups?.clock ?? systemClock).now();
  }

  /**
   * A text that differs after the file has changed, or a lookup has found addresses, and while a last
   * line is left out. Each minute the first call begins the lookups. Several callers may compare it.
   */
  async version(): Promise<string> {
    const { size, mtime, ino } = await Deno.stat(this.#path).catch((error) => {
      if (error instanceof Deno.errors.NotFound) return { size: 0, mtime: null, ino: null };
      if (error instanceof Deno.errors.NotCapable) throw error;
      throw new InputError(`Cannot read "${this.#path}": ${reason(error)}`);
    });
    void this.#names?.lookUp();
    const held = this.#isHeld ? this.#now() : "";
    return [size, mtime?.getTime(), ino, this.#names?.found ?? 0, this.#settled, held].join();
  }

  /**
   * Appends lines.
   *
   * @throws Error of the file system.
   */
  append(lines: string): void {
    Deno.mkdirSync(nodePath().dirname(this.#path), { recursive: true, mode: 0o700 });
    appendLines(this.#path, lines);
  }

  /**
   * Removes entries: writes spaces over their lines. Lines that another program appends meanwhile
   * stay.
   *
   * @param choose Returns those of the entries that are removed.
   * @throws InputError for a file that cannot be read; Error of the file system.
   */
  remove(choose: (entries: readonly OptOutEntry[]) => readonly OptOutEntry[]): void {
    using file = this.#openWritten();
    if (file === undefined) return void choose([]);
    const bytes = new Uint8Array(file.statSync().size);
    for (let at = 0, read; at < bytes.length; at += read) {
      read = file.readSync(bytes.subarray(at)) ?? bytes.length;
    }
    const chosen = choose(parseOptOutEntries(new TextDecoder().decode(bytes), this.#path));
    const lines = linesOf(bytes);
    for (const { line } of chosen) {
      const { start, length } = lines[line];
      file.seekSync(start, Deno.SeekMode.Start);
      let spaces = new Uint8Array(length).fill(SPACE);
      while (spaces.length > 0) spaces = spaces.subarray(file.writeSync(spaces));
    }
  }

  /** Opens the file; `undefined` if there is none. */
  #openWritten(): Deno.FsFile | undefined {
    try {
      return Deno.openSync(this.#path, { read: true, write: true });
    } catch (error) {
      if (error instanceof Deno.errors.NotFound) return undefined;
      throw error;
    }
  }

  /**
   * Adds an address, loopback excepted. Addresses that are added in one event loop iteration are
   * appended together, in a microtask: a program that exits right afterwards loses none.
   */
  note(address: Address, source = MARKER): void {
    if (isLoopback(address) || this.#noted.has(address)) return;
    this.#noted.add(address);
    if (this.#pending.push({ address, source }) === 1) queueMicrotask(() => this.#write());
  }

  #write(): void {
    const date = dateOf((this.lookups?.clock ?? systemClock).wall());
    const lines = this.#pending.map(({ address, source: { from, why } }) =>
      optOutLine(formatAddress(address), date, from, why)
    );
    this.#pending = [];
    try {
      this.append(lines.join(""));
    } catch (error) {
      if (!this.#warned) {
        this.report(`blocksweep: cannot write opt-outs to "${this.#path}": ${reason(error)}`);
      }
      this.#warned = true;
    }
  }
}

/**
 * Appends lines to a file. A missing file is created with mode 0600. If the last byte of the file
 * is not a line feed, one is written first.
 */
function appendLines(path: string, lines: string): void {
  using file = Deno.openSync(path, { read: true, append: true, create: true, mode: 0o600 });
  const last = new Uint8Array([LINE_FEED]);
  if (file.statSync().size > 0) {
    file.seekSync(-1, Deno.SeekMode.End);
    file.readSync(last);
  }
  const isWhole = last[0] === LINE_FEED || last[0] === CARRIAGE_RETURN;
  let bytes = new TextEncoder().encode(isWhole ? lines : `\n${lines}`);
  while (bytes.length > 0) bytes = bytes.subarray(file.writeSync(bytes));
}

const [LINE_FEED, CARRIAGE_RETURN, SPACE] = [10, 13, 32];

/** The first byte of each line of a file, and its length without the line end. */
function linesOf(bytes: Uint8Array): { start: number; length: number }[] {
  let start = 0;
  // in Latin-1 each byte is one character
  return decodeLatin1(bytes).split(new RegExp(`(${LINE_END.source})`)).flatMap((text, i) => {
    const line = { start, length: text.length };
    start += text.length;
    return i % 2 === 0 ? line : [];
  });
}

/** The date of a time in UTC, such as 2026-01-31. */
export function dateOf(wall: number): string {
  return new Date(wall).toISOString().slice(0, 10);
}

/**
 * The default path of the opt-out file.
 *
 * @throws Deno.errors.NotCapable when the path depends on variables that the program may not read.
 * Without the opt-outs in that file, scans would probe addresses that opted out.
 */
function usualPath(): string {
  const refused = ["HOME", "XDG_CONFIG_HOME", "APPDATA", "USERPROFILE"].filter((variable) =>
    Deno.permissions.querySync({ name: "env", variable }).state !== "granted"
  );
  if (configurationFolder() !== undefined || refused.length === 0) {
    return configurationPath("opt-out.txt");
  }
  throw new Deno.errors.NotCapable(
    `Cannot find the opt-out file: run again with --allow-env=${refused.join()}, or name a file with ` +
      "--opt-out-file",
  );
}

/** The path of a file in the user's configuration folder; without one, in the current folder. */
export function configurationPath(file: string): string {
  const folder = configurationFolder();
  return folder === undefined ? userPath(file) : resolvePath(folder, "blocksweep", file);
}

/** The folder of the user's configuration; `undefined` if the environment names none. */
function configurationFolder(): string | undefined {
  const home = env("HOME") ?? env("USERPROFILE");
  return env("XDG_CONFIG_HOME") ?? env("APPDATA") ?? (home && resolvePath(home, ".config"));
}
