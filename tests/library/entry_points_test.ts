// deno-lint-ignore-file no-console
/** The entry points of the library: their names, and the modules that they load. */
import { assert, assertEquals } from "@std/assert";

const ROOT = new URL("../../", import.meta.url);
const CONFIG = JSON.parse(await Deno.readTextFile(new URL("deno.json", ROOT)));
const EXPORTS: Record<string, string> = CONFIG.exports;

/** The output of a `deno` command. */
async function output(...args: readonly string[]): Promise<string> {
  const command = new Deno.Command("deno", { args: [...args], cwd: ROOT, stderr: "inherit" });
  const { code, stdout } = await command.output();
  assertEquals(code, 0, args.join(" "));
  return new TextDecoder().decode(stdout);
}

/** A module as `deno doc --json` prints it. */
interface Documented {
  readonly symbols: readonly {
    readonly name: string;
    readonly declarations: readonly {
      readonly kind: string;
      readonly location: { readonly filename: string; readonly byteIndex: number };
    }[];
  }[];
}

/** The public declarations of each subpath, by name: those of its namespaces as `NAMESPACE.NAME`. */
async function publicNames(): Promise<Map<string, Map<string, string>>> {
  const subpaths = Object.entries(EXPORTS);
  const documents = await Promise.all(subpaths.map(([_, path]) => output("doc", "--json", path)));
  const names = new Map<string, Map<string, string>>();
  for (const [i, [subpath, path]] of [...subpaths.entries()].toReversed()) { // protocols one by one first
    const found = new Map<string, string>();
    const { symbols }: Documented = JSON.parse(documents[i]).nodes[new URL(path, ROOT).href];
    for (const { name, declarations: [{ kind, location }] } of symbols) {
      found.set(name, `${location.filename}:${location.byteIndex}`);
      if (kind !== "namespace") continue;
      // `deno doc` lists no members of a namespace that only exports again: it is also a subpath.
      const members = names.get(`${subpath}/${name}`);
      assert(members !== undefined, `the namespace ${name} of ${subpath} has no subpath`);
      for (const [member, place] of members) found.set(`${name}.${member}`, place);
    }
    names.set(subpath, found);
  }
  return names;
}

/** Paths of the modules in src/ that importing a module loads. */
async function modulesOf(path: string): Promise<string[]> {
  const { modules } = JSON.parse(await output("info", "--json", path));
  const specifiers: string[] = modules.map((one: { specifier: string }) => one.specifier);
  return specifiers.filter((one) => one.startsWith(`${ROOT}src/`));
}

Deno.test("examples import each entry point by the name that programs use", () => {
  const names = Object.keys(EXPORTS).map((subpath) => `blocksweep${subpath.slice(1)}`);
  assertEquals(
    Object.entries<string>(CONFIG.imports).filter(([name]) => name.startsWith("blocksweep")),
    Object.values(EXPORTS).map((path, i): [string, string] => [names[i], path]),
  );
});

Deno.test("the documentation of every entry point is checked", () => {
  const { command } = CONFIG.tasks["doc:lint"];
  const paths = Object.values(EXPORTS).map((path) => path.slice(2));
  assertEquals(command, `deno doc --lint ${paths.join(" ")}`);
});

/** Maximum number of public names: docs/versions.md promises to keep all of them. */
const MAX_NAMES = 300;

Deno.test("the entry points export at most 300 names, and the main one about 30", async () => {
  const names = await publicNames();
  const lines = [...names].map(([subpath, { size }]) => `${String(size).padStart(5)} ${subpath}`);
  const sum = [...names.values()].reduce((sum, { size }) => sum + size, 0);
  const { size } = new Set([...names.values()].flatMap((found) => [...found.values()]));
  const table = [...lines.toReversed(), `${size} names, ${sum} with those in several subpaths`];
  console.log(table.join("\n"));
  assert(size <= MAX_NAMES, `${size} names`);
  assert(names.get(".")!.size <= 35);
});

/** Maximum number of modules that one protocol may load: its own, those of its layer, and core. */
const MAX_MODULES = 24;

Deno.test("a program that reads one protocol loads no other", async () => {
  for (const [subpath, path] of Object.entries(EXPORTS)) {
    const [, name] = /^\.\/protocols\/(\w+)$/.exec(subpath) ?? [];
    if (name === undefined) continue;
    const modules = await modulesOf(path);
    assert(modules.length <= MAX_MODULES, `${name}: ${modules.length} modules`);
    const folders = modules.flatMap((one) => /\/protocols\/(\w+)\//.exec(one)?.[1] ?? []);
    const own = name === "lan" ? ["lan", "nethernet"] : [name]; // LAN discovery finds both
    assertEquals([...new Set(folders)].toSorted(), own);
  }
});
