/**
 * Reading back which servers a file of rows holds.
 *
 * @module
 */
import { type Endpoint, parseAddress, parseEndpoint } from "../core/address.ts";
import { linesOf } from "../core/text.ts";
import { cellsOf } from "./csv.ts";
import { parseRow } from "./json.ts";

/**
 * The servers in a file that one of our formats wrote. A file that does not exist holds none; a
 * torn last row is passed over.
 *
 * @param format `csv`, `ndjson`, `hostport`, `grep` or `table`; others hold none that can be read back.
 */
export async function readIds(path: string, format: string): Promise<Endpoint[]> {
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

/** The server of a line; a line that is not ours, or torn, names none. */
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
  const address = host === undefined ? undefined : parseAddress(host);
  const number = Number(port);
  return address === undefined || !(number >= 1 && number <= 65535)
    ? undefined
    : { address, port: number };
}
