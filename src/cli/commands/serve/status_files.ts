/**
 * Reads the files that scans write with `--status-file`.
 *
 * @module
 */
import { parseJson } from "../../../core/checked_values.ts";
import { nodePath } from "../../../core/node_modules.ts";
import { userPath } from "../../../app/mod.ts";

/** Maximum size of a file, bytes: the state of a scan has some KiB. */
const MAX_BYTES = 65_536;

/** The state of a scan by its file. */
export interface StatusFile {
  /** The name of the file, without its folder. */
  readonly file: string;
  /** The state; null: the file cannot be read, or contains no JSON object. */
  readonly state: Readonly<Record<string, unknown>> | null;
}

/** Reads the files. One that cannot be read has no state. */
export function readStatusFiles(paths: readonly string[]): Promise<readonly StatusFile[]> {
  return Promise.all(paths.map(async (path) => ({
    file: nodePath().basename(path),
    state: await readState(userPath(path)),
  })));
}

async function readState(path: string): Promise<StatusFile["state"]> {
  try {
    if ((await Deno.stat(path)).size > MAX_BYTES) return null;
    const state = parseJson(await Deno.readTextFile(path));
    const isObject = typeof state === "object" && state !== null && !Array.isArray(state);
    return isObject ? state as Record<string, unknown> : null;
  } catch (error) {
    if (error instanceof Deno.errors.NotCapable) throw error;
    return null; // for example no such file, or no JSON
  }
}
