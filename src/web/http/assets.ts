/**
 * The files that pages load. They are in memory, and their URLs change when they change.
 *
 * @module
 */
import { nodeCrypto } from "../../core/node_modules.ts";
import { type ClientFile, clientFiles } from "../client_files.ts";
import type { Content } from "../api/answer.ts";

export interface Assets {
  /** The path of their folder, with a `/` at its end. */
  readonly folder: string;
  /** The file of a path; `undefined`: there is none. */
  readonly find: (path: string) => Content | undefined;
}

/** Prepares files. The name of their folder is a hash of all of them, because they load each other. */
export function assetsOf(files: readonly ClientFile[] = clientFiles()): Assets {
  const hash = nodeCrypto().createHash("sha256");
  for (const { name, contentType, body } of files) {
    hash.update(JSON.stringify([name, contentType, body]));
  }
  const folder = `/assets/${hash.digest("hex").slice(0, 16)}/`;
  const contents = new Map(
    files.map((
      { name, contentType, body },
    ) => [`${folder}${name}`, { contentType, body, cached: "forever" } as const]),
  );
  return { folder, find: (path) => contents.get(path) };
}
