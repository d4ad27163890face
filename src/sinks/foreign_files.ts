/**
 * Reads servers from files of other scanners: XML and greppable output of nmap and masscan, JSON
 * and list output of masscan, JSON lines of naabu, CSV of zmap, `host:port`; and every format of
 * blocksweep.
 *
 * @module
 */
import { parseAddress, parseEndpoint, unmappedAddress } from "../core/address.ts";
import { emptyRecord, type ServerRecord } from "../core/record.ts";
import { linesOf } from "../core/text.ts";
import { cellsOf } from "./csv.ts";
import { parseRow } from "./json.ts";
import { NmapReader, type OpenPort, parseGrepLine } from "./nmap_files.ts";
import { XmlError } from "./xml_tags.ts";
import { jsonFromCells, recordFromJson } from "./read_rows.ts";

/** A server that was read from a file. */
export interface ImportedServer {
  /** The server's record. `protocol` is empty when the line contains only an endpoint. */
  readonly record: ServerRecord;
  /** All values of the line, if blocksweep wrote the line. */
  readonly row?: Readonly<Record<string, unknown>>;
}

/**
 * Reads the servers of a line: no servers when the line is a header, a comment or an empty line;
 * `"text"` when the line is in no format of rows, but for example a name; `undefined` when the line
 * is a row that cannot be parsed.
 */
export type LineReader = (line: string) => readonly ImportedServer[] | "text" | undefined;

/** Default values for lines without a port or a time. */
export interface ImportDefaults {
  /** The port of a line without a port. Default: such a line cannot be parsed. */
  readonly port?: number;
  /** The time of a line without a time, Unix milliseconds. */
  readonly seenAt: number;
}

/** The servers of one line. */
export interface ParsedLine {
  /** Line number, from 1. */
  readonly number: number;
  /** The line's servers; `undefined`: the line cannot be parsed. */
  readonly servers: readonly ImportedServer[] | undefined;
  /** The line, if it is in no format of rows: for example a name, or a host without a port. */
  readonly text?: string;
}

/** Maximum length of a line, UTF-16 code units. Rows of blocksweep are shorter. */
const MAX_LINE_LENGTH = 1 << 21;

/**
 * Reads a file as a stream, with at most one line or XML tag in memory. A file that begins with `<`
 * is read as XML, any other line by line.
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
  const read = foreignLineReader(defaults);
  let number = 0;
  for await (const { line, tooLong } of linesOf(all, maxLength)) {
    const servers = tooLong ? undefined : read(line);
    number++;
    yield servers === "text" ? { number, servers: undefined, text: line } : { number, servers };
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
  let rows: RowReader | undefined;
  return (line) => {
    const text = line.trim(); // a byte order mark counts as white space
    if (text === "" || text.startsWith("#")) return [];
    if (/^[[\],]+$/.test(text)) return []; // brackets and commas between JSON objects are skipped
    const object = trimCommas(text);
    if (object.startsWith("{")) return readObject(object, defaults);
    if (/^open (tcp|udp) /.test(text)) return readMasscanLine(text);
    if (/^banner /.test(text)) return []; // masscan also writes an `open` line for this port
    if (/^(?:Timestamp|Host): /.test(text)) return readGrep(text, defaults);
    if (rows !== undefined) return rows(text);
    rows = rowReader(text, defaults);
    return rows !== undefined ? [] : readEndpoint(text, defaults) ?? "text";
  };
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
  { host, port, seconds }: OpenPort,
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
  if (typeof row.ip !== "string") return ownRow(row);
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

/** Reads the servers of a line below a head; `undefined` when the line cannot be parsed. */
type RowReader = (line: string) => readonly ImportedServer[] | undefined;

/** The reader of the lines below a head of CSV, or of a table; `undefined` for another line. */
function rowReader(line: string, defaults: ImportDefaults): RowReader | undefined {
  if (/^SERVER(?: |$)/.test(line)) return (row) => readEndpoint(row.split(" ", 1)[0], defaults);
  const head = cellsOf(line);
  const isHead = head.includes("saddr") || head.includes("host") && head.includes("port");
  return isHead ? csvReader(head, defaults) : undefined;
}

/** A reader for CSV of blocksweep (column `host`) or of zmap (`saddr`, and optionally `sport`). */
function csvReader(head: readonly string[], defaults: ImportDefaults): RowReader {
  return (line) => {
    const row = jsonFromCells(head, cellsOf(line));
    if (row === undefined || !head.includes("saddr")) return row && ownRow(row);
    if (row.success === "0") return [];
    const seconds = millisecondsOf(row["timestamp-ts"]) ?? parseTime(row["timestamp-str"]);
    return endpointOnly(String(row.saddr), row.sport ?? defaults.port, seconds ?? defaults.seenAt);
  };
}

function ownRow(row: Readonly<Record<string, unknown>>): readonly ImportedServer[] | undefined {
  const record = recordFromJson(row);
  return record === undefined ? undefined : [{ record, row }];
}

/** A server of which only the endpoint is known; `undefined` when the endpoint is invalid. */
function endpointOnly(
  host: string,
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
