/**
 * Removes forgotten servers from files that wait for a database or a webhook: spill files and spools.
 *
 * @module
 */
import { nodePath } from "../../core/node_modules.ts";
import type { DatabaseLocation } from "../../store/database_location.ts";
import { type IdentifyingFields, identityOf, tombstoneKeys } from "../../store/mod.ts";
import { EventSpool, parseSpool } from "../../watch/mod.ts";
import { userPath } from "../environment.ts";
import { usualSpool } from "../watch/watch_webhook.ts";

/** A file with lines of forgotten servers. */
export interface ForgottenInFile {
  readonly path: string;
  /** Number of lines of these servers. */
  readonly lines: number;
  /** Why the lines are still there; `undefined`: they were removed, or nothing was to be changed. */
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
  /** A spool that the user names. Default: the one that a watch of the database uses. */
  readonly spool: string | undefined;
  /** Whether only to count lines. */
  readonly dryRun: boolean;
}

/** Removes the lines of servers from spill files and spools. Returns the files that have such lines. */
export async function forgetInFiles(search: FileSearch): Promise<ForgottenInFile[]> {
  const { location, spool } = search;
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
  const path = spool === undefined ? usualSpool([location]) : userPath(spool);
  found.push(await forgetInSpool(path, search));
  return found.filter(({ lines }) => lines > 0);
}

/** Whether a record or an event is of one of the servers. */
function isOf(keys: ReadonlySet<string>, one: IdentifyingFields): boolean {
  const identity = identityOf(one);
  if (identity === undefined) return false;
  // An event contains the name of a server, but not the SRV record that led to the server.
  const name = identity.hostname ?? "";
  return keys.has(name) || tombstoneKeys(identity).some((key) => keys.has(key));
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

async function forgetInSpool(
  path: string,
  { keys, dryRun }: FileSearch,
): Promise<ForgottenInFile> {
  const isRemoved = (line: string) => {
    const event = parseLine(line);
    return event !== undefined && isOf(keys, event);
  };
  const bytes = await readIfThere(path);
  if (bytes === undefined) return { path, lines: 0 };
  const decoder = new TextDecoder();
  const { events } = parseSpool(bytes, path);
  const lines = events.filter(({ line }) => isRemoved(decoder.decode(line))).length;
  if (lines === 0 || dryRun) return { path, lines };
  let problem: string | undefined;
  try {
    const spool = await EventSpool.open({ path, onWriteError: (reason) => problem = reason });
    const removed = spool.removeMatching(isRemoved);
    await spool.close();
    return { path, lines: removed, problem };
  } catch (error) {
    if (!/another watch uses it/.test((error as Error).message)) throw error;
    return { path, lines, problem: "a watch uses it; stop the watch, and run the command again" };
  }
}

async function readIfThere(path: string): Promise<Uint8Array | undefined> {
  try {
    return await Deno.readFile(path);
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return undefined;
    throw error;
  }
}
