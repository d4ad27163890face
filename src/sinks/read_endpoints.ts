/**
 * Reads the endpoints of servers from a file that this program wrote.
 *
 * @module
 */
import { type Endpoint, parseEndpoint, parseHost } from "../core/address.ts";
import { linesOf } from "../core/text.ts";
import { cellsOf } from "./csv.ts";
import { parseRow } from "./json.ts";

/**
 * Reads the endpoints in a file of rows. Returns no endpoints for a missing file. Skips lines that are
 * not rows, and an incomplete last row.
 *
 * @param format `csv`, `ndjson`, `hostport`, `grep` or `table`. Returns no endpoints for other
 * formats.
 */
export async function readEndpoints(path: string, format: string): Promise<Endpoint[]> {
  const read = READERS[format]?.();
  if (read === undefined) return [];
  let file: Deno.FsFile;
  try {
    file = await Deno.open(path);
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return [];
    throw error;
  }
  const found: Endpoint[] = [];
  const text = file.readable.pipeThrough(new TextDecoderStream());
  for await (const { line, ended } of linesOf(text)) {
    const endpoint = read(line, ended);
    if (endpoint !== undefined) found.push(endpoint);
  }
  return found;
}

/** Parses the endpoint of a line; `undefined` when the line is not a complete row. */
type Reader = (line: string, ended: boolean) => Endpoint | undefined;

const READERS: Readonly<Record<string, (() => Reader) | undefined>> = {
  csv: () => {
    let head: readonly string[] | undefined;
    return (line) => {
      const cells = cellsOf(line);
      head ??= cells;
      if (cells.length !== head.length) return undefined;
      return toEndpoint(cells[head.indexOf("host")], cells[head.indexOf("port")]);
    };
  },
  ndjson: () => (line) => {
    const { host, port } = parseRow(line) ?? {};
    return typeof host === "string" ? toEndpoint(host, Number(port)) : undefined;
  },
  hostport: () => parseEndpoint,
  grep: () => (line) => {
    const [, host, port] = /\bHost: (\S+) \([^)]*\)\tPorts: (\d+)\/open\/.*\/\/$/.exec(line) ?? [];
    return toEndpoint(host, port);
  },
  table: () => (line, ended) => ended ? parseEndpoint(line.split(" ", 1)[0]) : undefined,
};

function toEndpoint(host?: string, port?: string | number): Endpoint | undefined {
  const parsed = host === undefined ? undefined : parseHost(host);
  const number = Number(port);
  return parsed === undefined || !(number >= 1 && number <= 65535)
    ? undefined
    : { ...parsed, port: number };
}
