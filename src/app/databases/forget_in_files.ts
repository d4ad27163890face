/**
 * Removes forgotten servers from files that wait for a database or a webhook: spill files and outboxes.
 *
 * @module
 */
import { nodePath } from "../../core/node_modules.ts";
import type { DatabaseLocation } from "../../store/database_location.ts";
import type { WatchEvent } from "../../store/events/watch_event.ts";
import { eventKeys, type IdentifyingFields, identityOf, tombstoneKeys } from "../../store/mod.ts";
import { EventOutbox } from "../../watch/mod.ts";
import { userPath } from "../environment.ts";
import { usualOutbox } from "../webhooks/open_webhook.ts";

/** A file with lines or events of forgotten servers. */
export interface ForgottenInFile {
  readonly path: string;
  /** Number of lines or events of these servers; `undefined`: a watch uses the file, and removes them. */
  readonly lines: number | undefined;
  /** Why they are still there; `undefined`: they were removed, or nothing was to be changed. */
  readonly problem?: string;
}

/** The name of a spill file: the scan, and the number of the database among the scan's outputs. */
const SPILL = /^spill-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\.\d+\.ndjson$/;

/** The files that {@linkcode forgetInFiles} searches, and the servers to remove. */
export interface FileSearch {
  /** The database: files beside it, and in the current folder, are searched. */
  readonly location: DatabaseLocation;
  /** The keys of the servers, as `tombstoneKeys` returns them. */
  readonly keys: ReadonlySet<string>;
  /** An outbox that the user names. Default: the one that a watch of the database uses. */
  readonly outbox: string | undefined;
  /** Whether only to count lines. */
  readonly dryRun: boolean;
}

/** Removes servers from spill files and the outbox. Returns the files that have lines or events of them. */
export async function forgetInFiles(search: FileSearch): Promise<ForgottenInFile[]> {
  const { location, outbox } = search;
  const folders = new Set([userPath(".")]);
  if (location.postgres === undefined) folders.add(nodePath().dirname(userPath(location.file)));
  const found: ForgottenInFile[] = [];
  for (const folder of new Set([...folders].map((folder) => Deno.realPathSync(folder)))) {
    for (const { name, isFile } of Deno.readDirSync(folder)) {
      if (isFile && SPILL.test(name)) {
        found.push(await forgetInSpill(nodePath().join(folder, name), search));
      }
    }
  }
  const path = outbox === undefined ? usualOutbox([location]) : userPath(outbox);
  found.push(await forgetInOutbox(path, search));
  return found.filter(({ lines }) => lines !== 0);
}

/** Whether a record is of one of the servers. */
function isOf(keys: ReadonlySet<string>, one: IdentifyingFields): boolean {
  const identity = identityOf(one);
  if (identity === undefined) return false;
  return keys.has(identity.hostname ?? "") || tombstoneKeys(identity).some((key) => keys.has(key));
}

/**
 * The server of a line; `undefined` for text that is neither a record nor an event: a crash may
 * have left it.
 */
function parseLine(line: string): IdentifyingFields | undefined {
  try {
    const { host, port, requested_as: requestedAs } = Object(JSON.parse(line));
    if (typeof host !== "string" || typeof port !== "number") return undefined;
    return { host, port, requested_as: typeof requestedAs === "string" ? requestedAs : null };
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

async function forgetInSpill(
  path: string,
  { keys, dryRun }: FileSearch,
): Promise<ForgottenInFile> {
  for (;;) {
    const before = await Deno.stat(path);
    const lines = (await Deno.readTextFile(path)).split("\n");
    const kept = lines.filter((line) => {
      const one = line === "" ? undefined : parseLine(line);
      return one === undefined || !isOf(keys, one);
    });
    const removed = lines.length - kept.length;
    if (removed === 0 || dryRun) return { path, lines: removed };
    await Deno.writeTextFile(`${path}.part`, kept.join("\n"), { mode: 0o600 });
    // The scan may have appended rows meanwhile.
    if ((await Deno.stat(path)).size !== before.size) continue;
    await Deno.rename(`${path}.part`, path);
    return { path, lines: removed };
  }
}

async function forgetInOutbox(
  path: string,
  { keys, dryRun }: FileSearch,
): Promise<ForgottenInFile> {
  if (!isThere(path)) return { path, lines: 0 };
  let problem: string | undefined;
  let outbox: EventOutbox;
  try {
    outbox = await EventOutbox.open({ path, onWriteError: (reason) => problem = reason });
  } catch (error) {
    if (!/another watch uses it/.test((error as Error).message)) throw error;
    return { path, lines: undefined };
  }
  const isRemoved = (event: WatchEvent) => eventKeys(event).some((key) => keys.has(key));
  const lines = dryRun
    ? outbox.oldest(Infinity).filter(isRemoved).length
    : outbox.removeMatching(isRemoved);
  await outbox.close(true);
  return { path, lines, problem };
}

function isThere(path: string): boolean {
  try {
    return Deno.statSync(path).isFile;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return false;
    throw error;
  }
}
