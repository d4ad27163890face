/** Reading files of other programs in tests. */
import { assertEquals } from "@std/assert";
import { serverId } from "../../../src/core/record.ts";
import {
  foreignLineReader,
  type ImportDefaults,
  readForeignFile,
} from "../../../src/sinks/foreign/foreign_files.ts";

/** The servers in a text with their times; `?` for each line that cannot be parsed. */
export function read(text: string, assumed: ImportDefaults = { seenAt: 5 }): string[] {
  const reader = foreignLineReader(assumed);
  return text.split("\n").flatMap((line) => {
    const servers = reader(line);
    if (servers === undefined || "text" in servers) return ["?"];
    return servers.map(({ record }) => `${serverId(record)} ${record.seen_at}`);
  });
}

/** As `read`, for a stream with chunks of `size` characters; `?` is followed by the line number. */
export async function readFile(text: string, size = text.length || 1, longest?: number) {
  const parts = Array.from(
    { length: Math.ceil(text.length / size) },
    (_, i) => text.slice(i * size, (i + 1) * size),
  );
  const found: string[] = [];
  for await (
    const { number, servers } of readForeignFile(ReadableStream.from(parts), { seenAt: 5 }, longest)
  ) {
    if (servers === undefined) found.push(`? ${number}`);
    for (const { record } of servers ?? []) found.push(`${serverId(record)} ${record.seen_at}`);
  }
  return found;
}

// Sources: masscan 1.3.2 and zmap 2.1.1 for servers in a network namespace, nmap 7.93 for its own
// host; for naabu written by hand, in the form of its `pkg/runner/output.go`.
export const file = (name: string) => Deno.readTextFile(new URL(`./${name}`, import.meta.url));

/** As `readFile`, with chunks of several sizes, and without times. */
export async function readAlike(text: string): Promise<string[]> {
  const [whole, ...others] = await Promise.all(
    [text.length, 1, 7].map((size) => readFile(text, size)),
  );
  for (const other of others) assertEquals(other, whole, text);
  return whole.map((one) => one.startsWith("?") ? one : one.split(" ")[0]);
}
