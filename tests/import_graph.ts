/** The modules of the project, and which of them load which: for tests of the tree, and to select tests. */
import config from "../deno.json" with { type: "json" };

const ROOT = new URL("../", import.meta.url);
/** Import names of modules of this project: `blocksweep` and its subpaths. */
const OWN: Readonly<Record<string, string>> = Object.fromEntries(
  Object.entries<string>(config.imports).filter(([, path]) => path.startsWith("./"))
    .map(([name, path]) => [name, path.slice(2)]),
);

/** The TypeScript files below a folder, as paths from the root of the project. */
export async function filesIn(folder: string): Promise<string[]> {
  const found: string[] = [];
  for await (const { name, isDirectory } of Deno.readDir(new URL(folder, ROOT))) {
    if (isDirectory) found.push(...await filesIn(`${folder}${name}/`));
    else if (/\.tsx?$/.test(name)) found.push(`${folder}${name}`);
  }
  return found.sort();
}

/** The texts of all modules of the program and of its tests, by path. */
export async function readModules(): Promise<Map<string, string>> {
  const texts = new Map<string, string>();
  for (const folder of ["src/", "bench/", "tests/"]) {
    for (const path of await filesIn(folder)) {
      texts.set(path, await Deno.readTextFile(new URL(path, ROOT)));
    }
  }
  return texts.set("main.ts", await Deno.readTextFile(new URL("main.ts", ROOT)));
}

/** The modules that a module loads or starts, as imports, workers and programs. */
export function loads(path: string, text: string): string[] {
  const code = text.replace(/^\s*\/?\*.*$/gm, "");
  const named = code.matchAll(/(?:\bfrom |\bimport |\bimport\(|new URL\()"([^"]+)"/g);
  return [...named].flatMap(([, name]) => {
    if (name in OWN) return [OWN[name]];
    const isFile = name.startsWith(".") && /\.tsx?$/.test(name);
    return isFile ? [new URL(name, `file:///${path}`).pathname.slice(1)] : [];
  });
}

/** The modules that each module loads directly. */
export function graphOf(texts: ReadonlyMap<string, string>): Map<string, string[]> {
  return new Map([...texts].map(([path, text]) => [path, loads(path, text)]));
}

/** The modules that a module loads directly and indirectly, and itself. */
export function reach(path: string, graph: ReadonlyMap<string, readonly string[]>): Set<string> {
  const reached = new Set([path]);
  for (const one of reached) for (const next of graph.get(one) ?? []) reached.add(next);
  return reached;
}
