/** The project as its deno.json describes it, and the files of its npm package. */

/** The repository's folder. */
export const ROOT = new URL("../../", import.meta.url);
/** The folder of the package that is built. */
export const PACKAGE = new URL("npm/", ROOT);

/** The fields of deno.json that the package is made from. */
export interface Project {
  readonly version: string;
  readonly license: string;
  readonly unstable: readonly string[];
  /** Modules of the library, by subpath. */
  readonly exports: Readonly<Record<string, string>>;
  readonly tasks: Readonly<Record<string, { readonly command?: string }>>;
}

/** The project. */
export const PROJECT: Project = JSON.parse(await Deno.readTextFile(new URL("deno.json", ROOT)));

/** The subpaths of the library that need Deno. The other modules are pure. */
const NEED_DENO: ReadonlySet<string> = new Set([".", "./scan", "./store", "./testing"]);
/** The path of the source that replaces the main module in Node and Bun, without suffix. */
export const NODE_ENTRY = "src/entry/node";

/** A module of the library. */
export interface LibraryModule {
  /** The subpath in `exports`. */
  readonly subpath: string;
  /** The name that programs import. */
  readonly name: string;
  /** The path of its source without suffix, which its files in the package have too. */
  readonly path: string;
  /** Whether Node and Bun load another module in its place. */
  readonly needsDeno: boolean;
}

/** The modules of the library. */
export const LIBRARY: readonly LibraryModule[] = Object.entries(PROJECT.exports).map(
  ([subpath, source]) => ({
    subpath,
    name: `blocksweep${subpath.slice(1)}`,
    path: source.replace(/^\.\/|\.ts$/g, ""),
    needsDeno: NEED_DENO.has(subpath),
  }),
);

/** Writes a file of the package. */
export async function writePackageFile(path: string, text: string): Promise<void> {
  const url = new URL(path, PACKAGE);
  await Deno.mkdir(new URL(".", url), { recursive: true });
  await Deno.writeTextFile(url, text);
}
