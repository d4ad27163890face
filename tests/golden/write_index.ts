/** Writes `index.ts`, which imports each golden message: `deno task golden`. */

const FOLDER = new URL("./", import.meta.url);

/** Paths of the golden files, sorted: `raknet/r01-ping.json`. */
export async function goldenPaths(): Promise<string[]> {
  const paths: string[] = [];
  for await (const { name: folder, isDirectory } of Deno.readDir(FOLDER)) {
    if (!isDirectory) continue;
    for await (const { name } of Deno.readDir(new URL(`${folder}/`, FOLDER))) {
      paths.push(`${folder}/${name}`);
    }
  }
  return paths.sort();
}

/** The text of `index.ts` for these files. */
export function indexOf(paths: readonly string[]): string {
  const exports = paths.map((path) =>
    `export { default as "${path}" } from "./${path}" with { type: "json" };`
  );
  return [
    "/** The content of each golden file, by its path. Written by `deno task golden`. */",
    "// deno-fmt-ignore-file",
    ...exports,
    "",
  ].join("\n");
}

if (import.meta.main) {
  await Deno.writeTextFile(new URL("index.ts", FOLDER), indexOf(await goldenPaths()));
}
