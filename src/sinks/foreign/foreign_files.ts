/**
 * Reads servers from files of other programs: XML and greppable output of nmap and masscan, JSON, list
 * and standard output of masscan, JSON lines and CSV of naabu, CSV of zmap, tables of spreadsheets,
 * `host:port`; and every format of blocksweep.
 *
 * @module
 */
import { parseAddress, parseEndpoint, unmappedAddress } from "../../core/address.ts";
import { emptyRecord, type ServerRecord } from "../../core/record.ts";
import { parseRow } from "../json.ts";
import { type NmapPort, NmapReader, parseGrepLine } from "./nmap_files.ts";
import { XmlError } from "./xml_tags.ts";
import { recordFromJson } from "../read_rows.ts";
import { EntryReader } from "./entries.ts";
import { QuotedRows } from "./quoted_rows.ts";
import {
  areOwn,
  type ChosenColumn,
  ignoredKeys,
  parseTableHead,
  type Table,
  type TableRow,
} from "./tables.ts";

/** A server that was read from a file. */
export interface ImportedServer {
  /** The server's record. `protocol` is empty when the line contains only an endpoint. */
  readonly record: ServerRecord;
  /** All values of the line, if blocksweep wrote it; of another line its `tags` and `notes`, if any. */
  readonly row?: Readonly<Record<string, unknown>>;
}

/** A line that gives a target of another form than an endpoint: a name, a range, or several words. */
export interface TargetText extends Pick<ImportedServer, "row"> {
  /** The target or the line; `NAME:PORT` for a row of a table with a name. */
  readonly text: string;
}

/**
 * Reads the servers of a line or of a JSON object: no servers when it is a header, a comment or empty; a
 * text when it is in no format of rows; `undefined` when it is a row that cannot be parsed.
 */
export type LineReader = (line: string) => readonly ImportedServer[] | TargetText | undefined;

/** How lines are read. */
export interface ImportDefaults {
  /** The port of a line without a port. Default: such a line cannot be parsed. */
  readonly port?: number;
  /** The time of a line without a time, Unix milliseconds. */
  readonly seenAt: number;
  /** Columns of tables that the user chose. Default: those with the usual names. */
  readonly columns?: readonly ChosenColumn[];
  /** Receives the columns of each table, and of each object of a list, that are not read. */
  readonly onIgnored?: (columns: readonly string[]) => void;
}

/** The servers of one line, or of one JSON object. */
export interface ParsedLine {
  /** Line number, from 1. */
  readonly number: number;
  /** The line's servers; `undefined`: the line cannot be parsed. */
  readonly servers: readonly ImportedServer[] | undefined;
  /** The text of a line that is in no format of rows. */
  readonly target?: TargetText;
}

/** Maximum length of a line or object, UTF-16 code units. Rows of blocksweep are shorter. */
const MAX_LINE_LENGTH = 1 << 21;

/**
 * Reads a file as a stream, with at most one row, JSON object or XML tag in memory. A file that begins
 * with `<` is read as XML.
 *
 * @param maxLength Maximum length of a line, UTF-16 code units: a longer one cannot be parsed.
 * Default: 2^21.
 * @throws XmlError for malformed XML, and for XML of another format than nmap's. Reading ends
 * there.
 */
export async function* readForeignFile(
  chunks: AsyncIterable<string>,
  defaults: ImportDefaults,
  maxLength = MAX_LINE_LENGTH,
): AsyncIterable<ParsedLine> {
  const iterator = chunks[Symbol.asyncIterator]();
  let first = await iterator.next();
  while (!first.done && first.value === "") first = await iterator.next();
  const all = withFirst(first, iterator);
  if (!first.done && first.value.trimStart().startsWith("<")) return yield* readXml(all, defaults);
  const entries = new EntryReader(maxLength);
  const rows = new QuotedRows(foreignLineReader(defaults));
  for await (const chunk of all) {
    for (const entry of entries.read(chunk)) yield* parsedLines(rows.add(entry));
  }
  for (const entry of entries.end()) yield* parsedLines(rows.add(entry));
  while (rows.isHeld) yield* parsedLines(rows.end());
}

function* parsedLines(
  lines: Iterable<readonly [number: number, found: ReturnType<LineReader>]>,
): Generator<ParsedLine> {
  for (const [number, found] of lines) {
    const isText = found !== undefined && "text" in found;
    yield isText ? { number, servers: undefined, target: found } : { number, servers: found };
  }
}

async function* withFirst(
  first: IteratorResult<string>,
  rest: AsyncIterator<string>,
): AsyncIterable<string> {
  try {
    if (first.done) return;
    yield first.value;
    for (let next = await rest.next(); !next.done; next = await rest.next()) yield next.value;
  } finally {
    await rest.return?.(); // closes the file
  }
}

async function* readXml(
  chunks: AsyncIterable<string>,
  defaults: ImportDefaults,
): AsyncIterable<ParsedLine> {
  const reader = new NmapReader();
  try {
    for await (const chunk of chunks) {
      for (const open of reader.read(chunk)) {
        yield { number: reader.line, servers: ofPort(open, defaults) };
      }
    }
  } catch (error) {
    if (!(error instanceof XmlError)) throw error;
    throw new XmlError(`line ${reader.line}: ${error.message}`);
  }
  if (!reader.isWhole) yield { number: reader.line, servers: undefined };
}

/** Creates a reader for the lines of one file. Each line's format is detected. */
export function foreignLineReader(defaults: ImportDefaults): LineReader {
  let table: Table | undefined;
  let isServerTable = false;
  return (line) => {
    const text = line.trim(); // a byte order mark counts as white space
    if (text === "" || text.startsWith("#") || /^sep=.$/i.test(text)) return [];
    // brackets and commas between JSON objects are skipped, and empty rows
    if (/^[[\],;]+$/.test(text)) return [];
    const object = trimCommas(text);
    if (object.startsWith("{")) return readObject(object, defaults);
    if (/^open (tcp|udp) /.test(text)) return readMasscanLine(text);
    if (/^banner /.test(text)) return []; // masscan also writes an `open` line for this port
    if (/^(?:Timestamp|Host): /.test(text)) return readGrep(text, defaults);
    if (CONSOLE.test(text)) return readConsole(text, defaults);
    const raw = line.replace(/\r$/, "");
    // naabu writes its head again before every host
    const head = table === undefined || HEAD.test(text)
      ? parseTableHead(raw, table === undefined ? defaults.columns : [])
      : undefined;
    if (head !== undefined) {
      const isNew = table === undefined;
      table = head;
      if (isNew && head.ignored.length > 0) defaults.onIgnored?.(head.ignored);
      if (head.isHead) return [];
    }
    if (table !== undefined) return readRow(table.row(raw), defaults);
    if (/^SERVER(?: |$)/.test(text)) return (isServerTable = true, []);
    if (isServerTable) return readEndpoint(text.split(" ", 1)[0], defaults);
    return readEndpoint(text, defaults) ?? readPair(text, defaults) ?? { text: line };
  };
}

/** A head that naabu repeats. */
const HEAD = /^(?:host,)?ip,port\b/;

/** Lines of masscan's and nmap's standard output. */
const CONSOLE =
  /^(?:Discovered open port |Starting (?:masscan|Nmap) |Initiating |Scanning \d+ hosts )/;

/** Reads `Discovered open port 25565/tcp on 10.0.0.7`; other lines on the console give no server. */
function readConsole(
  text: string,
  defaults: ImportDefaults,
): readonly ImportedServer[] | undefined {
  if (!text.startsWith("Discovered")) return [];
  const [, port, host] = /^Discovered open port (\d+)\/(?:tcp|udp) on (\S+)$/.exec(text) ?? [];
  return endpointOnly(host, port, defaults.seenAt);
}

/** A host and a port with white space or separators between them: zmap without a head writes commas. */
const PAIR = /^([^\s,;]+)(?:[,;\t]+|[ \t]+)(\d{1,5})$/;

function readPair(
  text: string,
  { seenAt }: ImportDefaults,
): readonly ImportedServer[] | TargetText | undefined {
  const [, host, port] = PAIR.exec(text) ?? [];
  if (host === undefined) return undefined;
  return endpointOnly(host, port, seenAt) ??
    (host.includes(".") && !host.includes(":") ? { text: `${host}:${port}` } : undefined);
}

/** Reads the server of a row of a table, or the target if it has a name or no port. */
function readRow(
  row: TableRow | undefined,
  defaults: ImportDefaults,
): readonly ImportedServer[] | TargetText | undefined {
  if (row === undefined) return undefined;
  const { values, hosts, port = defaults.port?.toString() } = row;
  if (row.isOwn) return ownRow(values, defaults);
  if (values.success === "0") return [];
  const seenAt = millisecondsOf(values["timestamp-ts"]) ??
    parseTime(values["timestamp-str"] ?? values.timestamp) ?? defaults.seenAt;
  const given = labelsOf(values);
  for (const host of hosts) {
    const servers = endpointOnly(host, port, seenAt) ?? readEndpoint(host, { seenAt });
    if (servers !== undefined) return servers.map((one) => ({ ...one, ...given }));
  }
  const [host] = hosts;
  if (host === undefined || !/^[^\s,#/]+$/.test(host) || !isPort(port)) return undefined;
  return { text: port === undefined ? host : `${host}:${port}`, ...given };
}

/** The tags and notes of a row that blocksweep did not write. */
function labelsOf({ tags, notes }: TableRow["values"]): Pick<ImportedServer, "row"> {
  return tags || notes ? { row: { tags, notes } } : {};
}

/** Whether a row lacks a port, or its port is one. */
function isPort(port: string | undefined): boolean {
  return port === undefined || /^\d{1,5}$/.test(port) && +port >= 1 && +port <= 65535;
}

/**
 * Removes a comma at each end, and white space. A regular expression for white space before a final
 * comma would take quadratic time on many spaces.
 */
export function trimCommas<T extends Pick<string, "length" | "at" | "slice">>(
  text: T,
): string {
  const from = text.at(0) === "," ? 1 : 0;
  const to = text.length > from && text.at(-1) === "," ? -1 : text.length;
  return text.slice(from, to).trim();
}

/** Parses a greppable line; `undefined` when any of its ports is invalid. */
function readGrep(text: string, defaults: ImportDefaults): readonly ImportedServer[] | undefined {
  const servers = parseGrepLine(text)?.map((open) => ofPort(open, defaults));
  return servers === undefined || servers.includes(undefined)
    ? undefined
    : (servers as (readonly ImportedServer[])[]).flat();
}

function ofPort(
  { host, port, seconds }: NmapPort,
  { seenAt }: ImportDefaults,
): readonly ImportedServer[] | undefined {
  return endpointOnly(host, port, millisecondsOf(seconds) ?? seenAt);
}

/**
 * Parses a row of blocksweep, of masscan (`{"ip": …, "timestamp": …, "ports": [{"port": …}]}`) or
 * of naabu (`{"ip": …, "timestamp": …, "port": …}`, where port 0 means that the host is up).
 */
function readObject(text: string, defaults: ImportDefaults): readonly ImportedServer[] | undefined {
  // The last line of masscan 1.0 is invalid JSON: {finished: 1}
  if (/^\{\s*"?finished"?\s*:/.test(text)) return [];
  const row = parseRow(text);
  if (row === undefined) return undefined;
  if (typeof row.ip !== "string") return ownRow(row, defaults);
  const seenAt = millisecondsOf(row.timestamp) ?? parseTime(row.timestamp) ?? defaults.seenAt;
  if (typeof row.port === "number") {
    return row.port === 0 ? [] : endpointOnly(row.ip, row.port, seenAt);
  }
  if (!Array.isArray(row.ports)) return undefined;
  const servers = row.ports.map((one: Readonly<Record<string, unknown>> | null) =>
    one?.status === undefined || one.status === "open"
      ? endpointOnly(String(row.ip), one?.port, seenAt)
      : []
  );
  return servers.some((one) => one === undefined)
    ? undefined
    : (servers as (readonly ImportedServer[])[]).flat();
}

/** Parses a line of masscan's list output: `open tcp 25565 192.0.2.1 1700000000`. */
function readMasscanLine(text: string): readonly ImportedServer[] | undefined {
  const [, , port, host, time] = text.split(/\s+/);
  return endpointOnly(host, port, millisecondsOf(time) ?? 0);
}

/** Parses `host:port`, or only a host when there is a default port. */
function readEndpoint(
  text: string,
  { port, seenAt }: ImportDefaults,
): readonly ImportedServer[] | undefined {
  const endpoint = parseEndpoint(text);
  if (endpoint !== undefined) {
    const address = unmappedAddress(endpoint.address);
    return [{ record: emptyRecord({ ...endpoint, address }, seenAt) }];
  }
  return endpointOnly(text, port, seenAt);
}

/** Reads a row with columns of blocksweep. One that a user may have written is of a list. */
function ownRow(
  row: Readonly<Record<string, unknown>>,
  { seenAt, onIgnored }: ImportDefaults,
): readonly ImportedServer[] | undefined {
  const record = recordFromJson(row);
  if (record === undefined) return undefined;
  if (areOwn(Object.keys(row)) || record.protocol !== "") return [{ record, row }];
  onIgnored?.(ignoredKeys(row));
  const servers = endpointOnly(record.host, record.port, seenAt);
  return servers?.map((one) => ({ ...one, ...labelsOf(row) }));
}

/** A server of which only the endpoint is known; `undefined` when the endpoint is invalid. */
function endpointOnly(
  host: string | undefined,
  port: unknown,
  seenAt: number,
): readonly ImportedServer[] | undefined {
  const parsed = parseAddress(host ?? "");
  const number = /^\d{1,5}$/.test(String(port)) ? Number(port) : NaN;
  if (parsed === undefined || !(number >= 1 && number <= 65535)) return undefined;
  return [{ record: emptyRecord({ address: unmappedAddress(parsed), port: number }, seenAt) }];
}

/** Converts Unix seconds to milliseconds; `undefined` for other values. */
function millisecondsOf(value: unknown): number | undefined {
  const seconds = typeof value === "string" || typeof value === "number" ? Number(value) : NaN;
  return seconds > 0 && seconds < 1e11 ? Math.floor(1000 * seconds) : undefined;
}

/** Parses naabu's `2026-11-21T07:17:15.416Z` and zmap's form with `+0000` to Unix milliseconds. */
function parseTime(value: unknown): number | undefined {
  if (typeof value !== "string" || value.length > 40) return undefined;
  const time = Date.parse(value.replace(/([+-]\d\d)(\d\d)$/, "$1:$2"));
  return Number.isNaN(time) ? undefined : time;
}
