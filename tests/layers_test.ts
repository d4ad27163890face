/** Which folder may import which: see docs/architecture.md. Imports point down, or stay inside the folder. */
import { assertEquals } from "@std/assert";

const LAYERS: readonly (readonly string[])[] = [
  [
    ...["bits.ts", "bytes.ts", "address.ts", "endpoints.ts", "endpoint_set.ts", "errors.ts"],
    ...["record.ts", "schema.ts", "text.ts", "redact.ts", "formatted"],
  ],
  ["protocols", "targets", "classify"],
  ["net"],
  ["sweep", "inspect", "sinks", "store"],
  ["scan", "fleet", "watch"],
  ["cli", "mod.ts"],
];
/** Files of layer 0 may use those that stand before them. */
const ORDERED = LAYERS[0];

const SRC = new URL("../src/", import.meta.url);

async function* sources(folder: URL): AsyncIterable<URL> {
  for await (const entry of Deno.readDir(folder)) {
    if (entry.isDirectory) yield* sources(new URL(`${entry.name}/`, folder));
    else if (entry.name.endsWith(".ts")) yield new URL(entry.name, folder);
  }
}

/** The part of src/ that a file belongs to: a folder, or a file at the top. */
function room(file: URL): string {
  return file.href.slice(SRC.href.length).split("/")[0];
}

function layer(name: string): number {
  const found = LAYERS.findIndex((rooms) => rooms.includes(name));
  if (found < 0) throw new Error(`src/${name} is in no layer: name it in tests/layers_test.ts`);
  return found;
}

/** Whether a file of one room may import a file of another. */
function allowed(from: string, to: string): boolean {
  if (from === to) return true;
  if (layer(from) === 0 && layer(to) === 0) return ORDERED.indexOf(to) < ORDERED.indexOf(from);
  return layer(to) < layer(from) || layer(from) === 5 && layer(to) === 5;
}

function imports(text: string): string[] {
  return [...text.matchAll(/(?:from|import|import\()\s*"(\.[^"]+\.ts)"/g)].map(([, path]) => path);
}

Deno.test("imports point down or stay inside the folder", async () => {
  const wrong: string[] = [];
  for await (const file of sources(SRC)) {
    for (const path of imports(await Deno.readTextFile(file))) {
      const target = new URL(path, file);
      if (!allowed(room(file), room(target))) wrong.push(`${room(file)} imports ${room(target)}`);
    }
  }
  assertEquals(wrong, []);
});

Deno.test("the layer rule sees what it must", () => {
  assertEquals(imports('import { a } from "./a.ts";\nexport * from "../b/mod.ts";'), [
    "./a.ts",
    "../b/mod.ts",
  ]);
  assertEquals(imports('await import("./c.ts")'), ["./c.ts"]);
  assertEquals([allowed("net", "protocols"), allowed("protocols", "net")], [true, false]);
  assertEquals([allowed("sweep", "inspect"), allowed("targets", "protocols")], [false, false]);
});

Deno.test("files stay below 300 lines", async () => {
  const long: string[] = [];
  for await (const file of sources(SRC)) {
    const lines = (await Deno.readTextFile(file)).split("\n").length - 1;
    if (lines > 300) long.push(`${file.href.slice(SRC.href.length)}: ${lines}`);
  }
  assertEquals(long, []);
});

Deno.test("every golden file is in the index", async () => {
  const golden = new URL("./golden/", import.meta.url);
  for await (const folder of Deno.readDir(golden)) {
    if (!folder.isDirectory) continue;
    const index = await Deno.readTextFile(new URL(`${folder.name}.ts`, golden));
    for await (const { name } of Deno.readDir(new URL(`${folder.name}/`, golden))) {
      assertEquals(index.includes(`"./${folder.name}/${name}"`), true, `${folder.name}/${name}`);
    }
  }
});
