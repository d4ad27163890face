/**
 * Lists of servers that other programs wrote, line by line: masscan's JSON and list, zmap's CSV,
 * `host:port`; and ours.
 *
 * @module
 */
import { formatAddress, parseAddress, parseEndpoint } from "../address.ts";
import { emptyRecord, type ServerRecord } from "../record.ts";
import { cellsOf } from "./csv.ts";
import { parseRow } from "./json.ts";
import { jsonOfCells, recordOfJson } from "./read.ts";

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

/** A reader for a file, whose kind is told by its lines. */
export function foreignReader(assumed: Assumptions): LineReader {
  let csv: LineReader | undefined;
  return (line) => {
    const text = line.replace(/^\ufeff/, "").trim();
    if (text === "" || text.startsWith("#")) return [];
    if (/^[[\],]+$/.test(text)) return []; // what stands around and between JSON objects
    const object = text.replace(/^,\s*|\s*,$/g, "");
    if (object.startsWith("{")) return readObject(object, assumed);
    if (/^open (tcp|udp) /.test(text)) return readMasscanLine(text);
    if (/^banner /.test(text)) return []; // masscan names the server on a line of its own
    if (csv !== undefined) return csv(text);
    const head = cellsOf(text);
    csv = head.includes("host") || head.includes("saddr") ? csvReader(head, assumed) : undefined;
    return csv !== undefined ? [] : readEndpoint(text, assumed);
  };
}

/** A row of ours, or masscan's `{"ip": …, "timestamp": …, "ports": [{"port": …}]}`. */
function readObject(text: string, assumed: Assumptions): readonly Imported[] | undefined {
  // masscan 1.0 ends with what is no JSON: {finished: 1}
  if (/^\{\s*"?finished"?\s*:/.test(text)) return [];
  const row = parseRow(text);
  if (row === undefined) return undefined;
  if (typeof row.ip !== "string") return ours(row);
  const seenAt = secondsOf(row.timestamp) ?? assumed.seenAt;
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

/** zmap's `2026-11-21T07:17:15.416+0000` in milliseconds. */
function momentOf(value: unknown): number | undefined {
  const time = Date.parse(String(value).replace(/([+-]\d\d)(\d\d)$/, "$1:$2"));
  return Number.isNaN(time) ? undefined : time;
}
