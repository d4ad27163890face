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

/** Names that a module exports. */
async function namesOf(path: string): Promise<string[]> {
  const { nodes } = JSON.parse(await output("doc", "--json", path));
  const modules: { symbols: { name: string }[] }[] = Object.values(nodes);
  return modules.flatMap(({ symbols }) => symbols.map(({ name }) => name));
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

Deno.test("the main entry point exports about 30 names", async () => {
  const names = await namesOf(EXPORTS["."]);
  assert(names.length <= 35, `${names.length} names: ${names.join(", ")}`);
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
