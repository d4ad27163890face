/**
 * Servers in files that other programs wrote: nmap's and masscan's XML and greppable lines,
 * masscan's JSON and list, naabu's JSON lines, zmap's CSV, `host:port`; and ours.
 *
 * @module
 */
import { formatAddress, parseAddress, parseEndpoint } from "../core/address.ts";
import { emptyRecord, type ServerRecord } from "../core/record.ts";
import { linesOf } from "../core/text.ts";
import { cellsOf } from "./csv.ts";
import { parseRow } from "./json.ts";
import { NmapReader, type OpenPort, readGrepLine } from "./nmap_files.ts";
import { XmlError } from "./xml_tags.ts";
import { jsonOfCells, recordOfJson } from "./read_rows.ts";

/** What a line says. */
export interface Imported {
  /** The server; `protocol` is empty where the line says no more than where it is. */
  readonly record: ServerRecord;
  /** The whole row, where it is one of ours. */
  readonly row?: Readonly<Record<string, unknown>>;
}

/**
 * What a line holds: servers, none because it is no row (a head, a comment), or `undefined` because
 * it cannot be read.
 */
export type LineReader = (line: string) => readonly Imported[] | undefined;

/** What stands for what a line does not say. */
export interface Assumptions {
  /** The port, where it names none. */
  readonly port?: number;
  /** When it was seen, where it says no time, Unix milliseconds. */
  readonly seenAt: number;
}

/** Servers that were read at a line. */
export interface ReadLine {
  /** The number of the line, from 1. */
  readonly number: number;
  /** The servers; `undefined`: the line cannot be read. */
  readonly servers: readonly Imported[] | undefined;
}

/** Characters of a line at the most: no row of ours is longer. */
const LONGEST_LINE = 1 << 21;

/**
 * Reads a file as it comes in, with at most one line or tag of it in memory. What begins with `<`
 * is XML, everything else is read line by line.
 *
 * @param longest Characters of a line at the most: a longer one cannot be read. Default: 2 Mi.
 * @throws XmlError where XML is malformed, or is not nmap's: nothing after it is read.
 */
export async function* readForeign(
  chunks: AsyncIterable<string>,
  assumed: Assumptions,
  longest = LONGEST_LINE,
): AsyncIterable<ReadLine> {
  const iterator = chunks[Symbol.asyncIterator]();
  let first = await iterator.next();
  while (!first.done && first.value === "") first = await iterator.next();
  const all = withFirst(first, iterator);
  if (!first.done && first.value.trimStart().startsWith("<")) return yield* readXml(all, assumed);
  const read = foreignReader(assumed);
  let number = 0;
  for await (const { line, tooLong } of linesOf(all, longest)) {
    yield { number: ++number, servers: tooLong ? undefined : read(line) };
  }
}

async function* withFirst(
  first: IteratorResult<string>,
  rest: AsyncIterator<string>,
): AsyncIterable<string> {
  if (first.done) return;
  yield first.value;
  yield* { [Symbol.asyncIterator]: () => rest };
}

async function* readXml(
  chunks: AsyncIterable<string>,
  assumed: Assumptions,
): AsyncIterable<ReadLine> {
  const reader = new NmapReader();
  try {
    for await (const chunk of chunks) {
      for (const open of reader.read(chunk)) {
        yield { number: reader.line, servers: ofPort(open, assumed) };
      }
    }
  } catch (error) {
    if (!(error instanceof XmlError)) throw error;
    throw new XmlError(`line ${reader.line}: ${error.message}`);
  }
  if (!reader.isWhole) yield { number: reader.line, servers: undefined };
}

/** A reader for a file of lines, whose kind is told by them. */
export function foreignReader(assumed: Assumptions): LineReader {
  let csv: LineReader | undefined;
  return (line) => {
    const text = line.trim(); // a byte order mark counts as white space
    if (text === "" || text.startsWith("#")) return [];
    if (/^[[\],]+$/.test(text)) return []; // what stands around and between JSON objects
    const object = withoutCommas(text);
    if (object.startsWith("{")) return readObject(object, assumed);
    if (/^open (tcp|udp) /.test(text)) return readMasscanLine(text);
    if (/^banner /.test(text)) return []; // masscan names the server on a line of its own
    if (/^(?:Timestamp|Host): /.test(text)) return readGrep(text, assumed);
    if (csv !== undefined) return csv(text);
    const head = cellsOf(text);
    csv = head.includes("host") || head.includes("saddr") ? csvReader(head, assumed) : undefined;
    return csv !== undefined ? [] : readEndpoint(text, assumed);
  };
}

/**
 * Text without a comma at each end, and the white space between it and the rest. A pattern that
 * looks for white space before a comma at the end would start anew at each of many spaces.
 */
export function withoutCommas<T extends Pick<string, "length" | "at" | "slice">>(
  text: T,
): string {
  const from = text.at(0) === "," ? 1 : 0;
  const to = text.length > from && text.at(-1) === "," ? -1 : text.length;
  return text.slice(from, to).trim();
}

/** A greppable line, of which each open port has to be one. */
function readGrep(text: string, assumed: Assumptions): readonly Imported[] | undefined {
  const servers = readGrepLine(text)?.map((open) => ofPort(open, assumed));
  return servers === undefined || servers.includes(undefined)
    ? undefined
    : (servers as (readonly Imported[])[]).flat();
}

function ofPort(
  { host, port, seconds }: OpenPort,
  { seenAt }: Assumptions,
): readonly Imported[] | undefined {
  return bare(host, port, secondsOf(seconds) ?? seenAt);
}

/**
 * A row of ours, masscan's `{"ip": …, "timestamp": …, "ports": [{"port": …}]}`, or naabu's
 * `{"ip": …, "timestamp": …, "port": …}`, where port 0 says no more than that the host is up.
 */
function readObject(text: string, assumed: Assumptions): readonly Imported[] | undefined {
  // masscan 1.0 ends with what is no JSON: {finished: 1}
  if (/^\{\s*"?finished"?\s*:/.test(text)) return [];
  const row = parseRow(text);
  if (row === undefined) return undefined;
  if (typeof row.ip !== "string") return ours(row);
  const seenAt = secondsOf(row.timestamp) ?? momentOf(row.timestamp) ?? assumed.seenAt;
  if (typeof row.port === "number") return row.port === 0 ? [] : bare(row.ip, row.port, seenAt);
  if (!Array.isArray(row.ports)) return undefined;
  const servers = row.ports.map((one: Readonly<Record<string, unknown>> | null) =>
    one?.status === undefined || one.status === "open"
      ? bare(String(row.ip), one?.port, seenAt)
      : []
  );
  return servers.some((one) => one === undefined)
    ? undefined
    : (servers as (readonly Imported[])[]).flat();
}

/** `open tcp 25565 192.0.2.1 1700000000` */
function readMasscanLine(text: string): readonly Imported[] | undefined {
  const [, , port, host, time] = text.split(/\s+/);
  return bare(host, port, secondsOf(time) ?? 0);
}

/** `host:port`, or a host alone where a port is assumed. */
function readEndpoint(
  text: string,
  { port, seenAt }: Assumptions,
): readonly Imported[] | undefined {
  const endpoint = parseEndpoint(text);
  if (endpoint !== undefined) return [{ record: emptyRecord(endpoint, seenAt) }];
  return bare(text, port, seenAt);
}

/** Ours, where there is a column `host`; else zmap's: `saddr`, and `sport` of what was answered. */
function csvReader(head: readonly string[], assumed: Assumptions): LineReader {
  return (line) => {
    const row = jsonOfCells(head, cellsOf(line));
    if (row === undefined || !head.includes("saddr")) return row && ours(row);
    if (row.success === "0") return [];
    const seconds = secondsOf(row["timestamp-ts"]) ?? momentOf(row["timestamp-str"]);
    return bare(String(row.saddr), row.sport ?? assumed.port, seconds ?? assumed.seenAt);
  };
}

function ours(row: Readonly<Record<string, unknown>>): readonly Imported[] | undefined {
  const record = recordOfJson(row);
  return record === undefined ? undefined : [{ record, row }];
}

function bare(host: string, port: unknown, seenAt: number): readonly Imported[] | undefined {
  const address = parseAddress(host ?? "");
  const number = /^\d{1,5}$/.test(String(port)) ? Number(port) : NaN;
  if (address === undefined || !(number >= 1 && number <= 65535)) return undefined;
  return [{
    record: { ...emptyRecord({ address, port: number }, seenAt), host: formatAddress(address) },
  }];
}

/** Unix seconds in milliseconds. */
function secondsOf(value: unknown): number | undefined {
  const seconds = typeof value === "string" || typeof value === "number" ? Number(value) : NaN;
  return seconds > 0 && seconds < 1e11 ? Math.floor(1000 * seconds) : undefined;
}

/** naabu's `2026-11-21T07:17:15.416Z`, and zmap's with `+0000` in place of `Z`, in milliseconds. */
function momentOf(value: unknown): number | undefined {
  if (typeof value !== "string" || value.length > 40) return undefined;
  const time = Date.parse(value.replace(/([+-]\d\d)(\d\d)$/, "$1:$2"));
  return Number.isNaN(time) ? undefined : time;
}
