/**
 * Servers in files of rows, with what the rows contain about them.
 *
 * @module
 */
import { systemClock } from "../../net/clock.ts";
import { isTag } from "../../store/rows/server_tags.ts";
import { InputError } from "../../core/errors.ts";
import { serverId } from "../../core/record.ts";
import { type ImportedServer, readForeignFile, XmlError } from "../../sinks/foreign/mod.ts";
import type { StoredRecord } from "../../store/mod.ts";
import { readReason, standardInput, userPath } from "../environment.ts";
import { countOf } from "../../core/quantities.ts";
import { decodeTextStream, tidyText } from "../../core/text.ts";
import { parseJson } from "../../core/checked_values.ts";
import { unguardText } from "../../sinks/csv.ts";

/**
 * The servers in a file of rows, in the order of the file. Lines that cannot be read are skipped
 * and counted.
 *
 * @param report Receives a line with the number of skipped lines.
 * @param readText Receives each line that is in no format of rows, and its number. Default: such lines
 * are skipped.
 * @throws InputError when the file cannot be read.
 */
export async function* readServerRows(
  path: string,
  report: (line: string) => void,
  readText?: (line: string, number: number) => void,
): AsyncIterable<StoredRecord> {
  for await (const server of readImportedRows(path, report, readText)) yield server.stored;
}

/** A server of a file, and the members of its row; `undefined`: its format has no columns. */
export interface ImportedRow {
  readonly stored: StoredRecord;
  readonly row: ImportedServer["row"];
}

/** The servers in a file as {@linkcode readServerRows} reads them, with their rows. */
export async function* readImportedRows(
  path: string,
  report: (line: string) => void,
  readText?: (line: string, number: number) => void,
): AsyncIterable<ImportedRow> {
  const text = decodeTextStream(await openRowFile(path));
  const now = systemClock.wall();
  let unread = 0;
  try {
    for await (const { number, servers, target } of readForeignFile(text, { seenAt: now })) {
      if (target !== undefined && readText !== undefined) readText(target.text, number);
      else if (servers === undefined) unread++;
      for (const server of servers ?? []) yield { stored: stored(server, now), row: server.row };
    }
  } catch (error) {
    if (!(error instanceof XmlError)) throw error;
    throw new InputError(`Cannot read "${path}": ${error.message}`);
  }
  if (unread === 0) return;
  report(`blocksweep: ${path}: ignored ${countOf(unread, "line")} that cannot be read`);
}

/**
 * A list of targets in which each row of a file is replaced by its `host:port`. Lines keep their
 * numbers. Lines that are no rows are not changed.
 *
 * @param source The name of the list in errors.
 * @throws InputError that names the line of a row that cannot be read.
 */
export async function withoutRows(text: string, source: string): Promise<string> {
  if (IPV4_TARGETS.test(text)) return text;
  const lines: string[] = [];
  try {
    for await (
      const { number, servers, target } of readForeignFile(oneChunk(text), { seenAt: 0 })
    ) {
      if (servers === undefined && target === undefined) {
        throw new InputError(`${source}:${number}: Cannot read this row: it has no valid endpoint`);
      }
      while (lines.length < number) lines.push("");
      const ids = servers?.map(({ record }) => serverId(record)) ?? [target!.text];
      lines[number - 1] = [lines[number - 1], ...ids].join(" ").trim();
    }
  } catch (error) {
    if (!(error instanceof XmlError)) throw error;
    throw new InputError(`Cannot read "${source}": ${error.message}`);
  }
  return lines.join("\n");
}

/** A list of IPv4 addresses, ranges and endpoints, one a line: none of them is a row. */
const IPV4_TARGETS = /^[\d.:/\n-]*$/;

async function* oneChunk(text: string): AsyncIterable<string> {
  yield await Promise.resolve(text);
}

/**
 * Opens a file of rows, `-` for standard input.
 *
 * @throws InputError when that fails.
 */
export async function openRowFile(path: string): Promise<ReadableStream<Uint8Array<ArrayBuffer>>> {
  if (path === "-") return standardInput();
  try {
    const file = await Deno.open(userPath(path));
    if (!(await file.stat()).isDirectory) return file.readable;
    file.close();
  } catch (error) {
    if (error instanceof Deno.errors.NotCapable) throw error;
    throw new InputError(`Cannot read "${path}": ${readReason(error)}`);
  }
  throw new InputError(`Cannot read "${path}": it is a folder, not a file`);
}

/**
 * The database record of a server from a file. Its state (online, missed scans, first and last
 * time, time of players' names) and its tags are those in the row, if the row has one.
 *
 * @param now The current time, Unix milliseconds. Later times in the row are not used.
 */
export function stored({ record, row }: ImportedServer, now: number): StoredRecord {
  const time = (value: unknown) => {
    const ms = wholeNumber(value) ?? seen;
    return ms <= now ? ms : seen;
  };
  const seen = record.seen_at > now ? now : record.seen_at; // the clock of the row's writer was ahead
  const online = row?.online === undefined ? true : [true, "true"].includes(row.online as string);
  const protocol = record.protocol || (record.protocols[0] ?? ""); // a file may lack that column
  return {
    ...record,
    protocol,
    seen_at: seen,
    online: protocol !== "" && online,
    missed_scans: Math.min(wholeNumber(row?.missed_scans) ?? 0, 1e9),
    first_seen: time(row?.first_seen) || now, // 0: a row without times
    probed_at: time(row?.probed_at),
    players_at: record.players === null ? null : Math.min(seen, time(row?.players_at || undefined)),
    tags: tagTexts(row?.tags).filter(isTag),
    ...(typeof row?.notes === "string" && { notes: tidyText(unguardText(row.notes)) || null }),
  };
}

/**
 * The tags in a value of a row: a list, also as JSON; or words with commas, semicolons or bars between
 * them. Texts that cannot be tags are among them.
 */
export function tagTexts(value: unknown): readonly string[] {
  const isJson = typeof value === "string" && value.startsWith("[");
  const list = isJson ? parsedTexts(value) : value;
  if (typeof list === "string") return tagWords(list);
  return Array.isArray(list) ? list.filter((one) => typeof one === "string") : [];
}

function tagWords(text: string): string[] {
  return text.split(/[,;|]/).map(tidyText).filter((word) => word !== "");
}

function parsedTexts(json: string): unknown {
  try {
    return parseJson(json);
  } catch {
    return json; // words that begin with a bracket
  }
}

/** The whole number in a value of JSON, or in a cell of CSV; `undefined` for any other value. */
function wholeNumber(value: unknown): number | undefined {
  const number = typeof value === "string" && /^\d+$/.test(value) ? Number(value) : value;
  return Number.isSafeInteger(number) && number as number >= 0 ? number as number : undefined;
}
