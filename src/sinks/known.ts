/**
 * Reading back which servers a file of rows holds.
 *
 * @module
 */
import { CsvParseStream } from "@std/csv";
import { type Endpoint, parseAddress, parseEndpoint } from "../address.ts";

/**
 * The servers in a file that one of our formats wrote. A file that does not exist holds none; a
 * torn last line is passed over.
 *
 * @param format `csv`, `ndjson` or `list`; other formats hold none that can be read back.
 */
export async function readIds(path: string, format: string): Promise<Endpoint[]> {
  const read = READERS[format];
  if (read === undefined) return [];
  let file: Deno.FsFile;
  try {
    file = await Deno.open(path);
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return [];
    throw error;
  }
  const text = file.readable.pipeThrough(new TextDecoderStream());
  const found: Endpoint[] = [];
  for await (const endpoint of read(text)) {
    if (endpoint !== undefined) found.push(endpoint);
  }
  return found;
}

type Reader = (text: ReadableStream<string>) => AsyncIterable<Endpoint | undefined>;

const READERS: Readonly<Record<string, Reader | undefined>> = {
  csv: async function* (text) {
    const rows = text.pipeThrough(wholeLines()).pipeThrough(
      new CsvParseStream({ skipFirstRow: true }),
    );
    for await (const { host, port } of rows) yield toEndpoint(host, port);
  },
  ndjson: async function* (text) {
    for await (const lines of text.pipeThrough(wholeLines())) {
      for (const line of lines.split("\n")) {
        if (line === "") continue;
        yield fromJson(line);
      }
    }
  },
  list: async function* (text) {
    for await (const lines of text.pipeThrough(wholeLines())) {
      for (const line of lines.split("\n")) yield parseEndpoint(line);
    }
  },
};

function fromJson(line: string): Endpoint | undefined {
  try {
    const { host, port } = JSON.parse(line) as { host?: string; port?: number };
    return toEndpoint(host, port);
  } catch {
    return undefined; // a line that is not ours names no server
  }
}

/** Text cut at its line feeds: what follows the last one is dropped. */
function wholeLines(): TransformStream<string, string> {
  let rest = "";
  return new TransformStream({
    transform(chunk, controller) {
      const text = rest + chunk;
      const end = text.lastIndexOf("\n") + 1;
      rest = text.slice(end);
      if (end > 0) controller.enqueue(text.slice(0, end));
    },
  });
}

function toEndpoint(
  host: string | undefined,
  port: string | number | undefined,
): Endpoint | undefined {
  const address = host === undefined ? undefined : parseAddress(host);
  const number = Number(port);
  return address === undefined || !(number >= 1 && number <= 65535)
    ? undefined
    : { address, port: number };
}
