/**
 * The checkpoint of a crawl: a small JSON file with what its discovery has found lately. When servers
 * are due is in the database.
 *
 * @module
 */
import { randomBytes } from "../system_random.ts";
import {
  FieldError,
  integer,
  listOf,
  objectOf,
  parseJson,
  tuple,
} from "../../core/checked_values.ts";
import { InputError } from "../../core/errors.ts";
import type { RecentYield } from "../../discovery/mod.ts";
import { type Disk, replaceFile } from "../../sinks/file_operations.ts";
import type { DatabaseLocation } from "../../store/database_location.ts";

const VERSION = 1;

/** The path of the checkpoint of a crawl: beside the database; `undefined`: the database is no file. */
export function crawlPath({ file, postgres }: DatabaseLocation): string | undefined {
  return postgres === undefined ? `${file}.crawl` : undefined;
}

const FIELDS = objectOf({
  crawl: integer(VERSION, VERSION),
  discovery: listOf(tuple(integer(1), integer())),
});

/**
 * Reads what discovery has found lately: probes, and servers that they found.
 *
 * @returns Nothing if there is no file.
 * @throws InputError for a file that cannot be read, or is no checkpoint of a crawl.
 */
export async function readCrawlFile(disk: Disk, path: string): Promise<RecentYield["batches"]> {
  let text: string;
  try {
    await using file = await disk.open(path, "read");
    text = new TextDecoder().decode(await file.read());
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return [];
    throw new InputError(`Cannot read "${path}": ${(error as Error).message}`);
  }
  try {
    const { discovery } = FIELDS(parseJson(text), "");
    return discovery.map(([probes, found]) => ({ probes, found }));
  } catch (error) {
    if (!(error instanceof FieldError)) throw error;
    throw new InputError(
      `Cannot read "${path}": ${error.message}; remove it to begin without what discovery has found`,
    );
  }
}

/**
 * Replaces the checkpoint of a crawl.
 *
 * @throws Error when the file cannot be written. The old file stays.
 */
export async function writeCrawlFile(
  disk: Disk,
  path: string,
  batches: RecentYield["batches"],
): Promise<void> {
  const discovery = batches.map(({ probes, found }) => [probes, found]);
  const text = `${JSON.stringify({ crawl: VERSION, discovery })}\n`;
  const partialPath = `${path}.${randomBytes(16).toHex()}.part`; // another crawl of the database may write too
  await replaceFile(disk, path, new TextEncoder().encode(text), partialPath);
}
