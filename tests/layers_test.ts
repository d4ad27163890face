/**
 * The rules of imports between folders: see docs/architecture.md. Imports point to lower layers, or
 * stay inside the folder.
 */
import { assert, assertEquals } from "@std/assert";
import { PROTOCOLS } from "../src/protocols/list.ts";
import { FIELDS } from "../src/core/record.ts";
import software from "../data/software.json" with { type: "json" };

/** The parts of src/, from the lowest layer to the highest. */
const LAYERS: readonly (readonly string[])[] = [
  ["core"],
  ["protocols", "targets", "classify"],
  ["net"],
  ["sweep", "inspect", "sinks", "store", "discovery"],
  ["scan", "watch", "fleet"],
  ["app", "testing"],
  ["library", "web", "campaign"],
  ["cli", "mod.ts", "entry"],
];

/**
 * The sub-folders of large folders, from the lowest to the highest. `.` are the files directly in the
 * folder.
 */
const ORDERS: Readonly<Record<string, readonly string[]>> = {
  app: [
    ".",
    "settings",
    "names",
    "geoip",
    "opt_outs",
    "outputs",
    "options",
    "http",
    "network",
    "engines",
    "query",
    "webhooks",
    "databases",
    "metrics",
    "targets",
    "resume",
    "scan",
    "status_api",
    "watch",
    "crawl",
    "lan",
  ],
  scan: [
    "setup",
    "plan",
    "checkpoint",
    "tables",
    "rows",
    "inspect_stage",
    "sweep_stage",
    "adaptive",
    ".",
    "lan",
  ],
  store: [
    "database",
    "rows",
    "members",
    "events",
    "scans",
    "schema",
    "uptime",
    "counts",
    "forget",
    "merging",
    "writers",
    "parts",
    "queries",
    "groups",
    ".",
    "copy",
  ],
  web: [
    "browser",
    "style",
    ".",
    "queries",
    "components",
    "events",
    "charts",
    "server_index",
    "data",
    "pages",
    "api",
    "status",
    "http",
    "visitors",
    "report",
  ],
};
/** Maximum number of imports in one of these folders that point to a higher sub-folder. */
const MAX_UPWARD = 3;

/** Folders of tools that do not depend on each other: each file directly in the folder is a door. */
const TOOLS = ["core", "protocols", "targets", "classify", "sinks", "testing"];
/**
 * Files that other folders may import, beside the `mod.ts` of a folder or of a sub-folder. They are
 * used where the `mod.ts` would load too much: at the start of a scan, for a single engine, or in a
 * thread of the dashboard.
 */
const DOORS = [
  "app/databases/find_server.ts",
  "app/geoip/geoip_fields.ts",
  "app/network/call_context.ts",
  "app/opt_outs/opt_out_file.ts",
  "app/resume/scan_configuration.ts",
  "app/scan/scan_databases.ts",
  "fleet/usual_fleet.ts",
  "net/clock.ts",
  "net/file_descriptors.ts",
  "net/linux/connect/connect_socket.ts",
  "net/linux/frame_engines.ts",
  "net/linux/udp_engine.ts",
  "store/copy/copy_database.ts",
  "store/database/database.ts",
  "store/database/postgres.ts",
  "store/database/postgres_url.ts",
  "store/database/sqlite.ts",
  "store/database_location.ts",
  "store/events/watch_event.ts",
  "store/queries/filters.ts",
  "store/queries/listed_parts_filter.ts",
  "store/queries/orders.ts",
  "store/queries/stored_fields.ts",
  "store/rows/addresses.ts",
  "store/rows/json_cells.ts",
  "store/rows/server_flags.ts",
  "store/rows/server_tags.ts",
  "store/rows/uuid.ts",
  "store/schema/create_tables.ts",
  "store/spill_file.ts",
  "watch/schedule.ts",
  "watch/webhook/webhook_formats.ts",
];

/** Maximum length of a source file, lines. */
const MAX_LINES = 400;
/** Maximum length of a function, lines. */
const MAX_FUNCTION_LINES = 75;
/** Maximum number of files in a folder of src/. */
const MAX_FILES = 16;

const SRC = new URL("../src/", import.meta.url);

async function* sources(folder: URL): AsyncIterable<URL> {
  for await (const entry of Deno.readDir(folder)) {
    if (entry.isDirectory) yield* sources(new URL(`${entry.name}/`, folder));
    else if (/\.tsx?$/.test(entry.name)) yield new URL(entry.name, folder);
  }
}

/** The path of a file below src/. */
function below(file: URL): string {
  return file.href.slice(SRC.href.length);
}

/** The part of src/ that a file belongs to: a folder, or a file at the top. */
function part(path: string): string {
  return path.split("/")[0];
}

function layer(name: string): number {
  const found = LAYERS.findIndex((parts) => parts.includes(name));
  if (found < 0) throw new Error(`src/${name} is in no layer: name it in tests/layers_test.ts`);
  return found;
}

/** Whether a file of one part may import a file of another. */
function allowed(from: string, to: string): boolean {
  return from === to || layer(to) < layer(from);
}

/**
 * The relative imports of a module, including imports of types. Imports in examples of comments do
 * not count.
 */
function imports(text: string): string[] {
  const code = text.replace(/^\s*\/?\*.*$/gm, "");
  return [...code.matchAll(/(?:from|import|import\()\s*"(\.[^"]+\.tsx?)"/g)].map(([, path]) =>
    path
  );
}

/** The imports of each module, as paths below src/. */
async function importGraph(): Promise<Map<string, string[]>> {
  const graph = new Map<string, string[]>();
  for await (const file of sources(SRC)) {
    const paths = imports(await Deno.readTextFile(file));
    graph.set(below(file), paths.map((path) => below(new URL(path, file))).sort());
  }
  return new Map([...graph].sort(([a], [b]) => a < b ? -1 : 1));
}

/** The modules that are loaded with a module: not those of dynamic imports, nor those only of types. */
function loadedWith(text: string): string[] {
  const code = text.replace(/^\s*\/?\*.*$/gm, "");
  const loading = /^(?:import|export) (?!type )(?:[^;"]*? from )?"(\.[^"]+\.tsx?)"/gm;
  return [...code.matchAll(loading)].map(([, path]) => path);
}

/** The strongly connected components of a graph (Tarjan's algorithm). */
function circles(graph: ReadonlyMap<string, readonly string[]>): string[] {
  const [index, low] = [new Map<string, number>(), new Map<string, number>()];
  const stack: string[] = [];
  const found: string[] = [];
  const visit = (node: string) => {
    index.set(node, index.size);
    low.set(node, index.get(node)!);
    stack.push(node);
    for (const to of graph.get(node) ?? []) {
      if (!index.has(to)) visit(to);
      if (stack.includes(to)) low.set(node, Math.min(low.get(node)!, low.get(to)!));
    }
    if (low.get(node) !== index.get(node)) return;
    const group = stack.splice(stack.indexOf(node));
    if (group.length > 1) found.push(group.sort().join(" "));
  };
  for (const node of graph.keys()) if (!index.has(node)) visit(node);
  return found.sort();
}

Deno.test("imports point down or stay inside the folder", async () => {
  const wrong: string[] = [];
  for (const [from, targets] of await importGraph()) {
    const up = targets.filter((to) => !allowed(part(from), part(to)));
    wrong.push(...up.map((to) => `${from} imports ${to}`));
  }
  assertEquals(wrong, []);
});

/** Whether other folders may import a file. */
function isDoor(path: string): boolean {
  return /^\w+(\/\w+)?\/mod\.ts$/.test(path) || DOORS.includes(path) ||
    TOOLS.includes(part(path)) && subFolder(path) === ".";
}

Deno.test("other folders import a folder only by its doors", async () => {
  const graph = await importGraph();
  const between = [...graph].flatMap(([from, targets]) =>
    targets.filter((to) => part(to) !== part(from)).map((to) => [from, to])
  );
  // The public entry points name every file from which a public name comes.
  const inside = between.filter(([from, to]) => part(from) !== "entry" && !isDoor(to));
  assertEquals(inside.map(([from, to]) => `${from} imports ${to}`), []);
  const used = new Set(between.map(([, to]) => to));
  const doors = [...graph.keys()].filter((path) => isDoor(path) && !/^(cli|mod\.ts)/.test(path));
  assertEquals(doors.filter((path) => !used.has(path) && !TOOLS.includes(part(path))), []);
  assertEquals(DOORS.filter((path) => !used.has(path)), []);
  assertEquals(
    ["store/mod.ts", "store/rows/mod.ts", "core/text.ts", "sinks/foreign/tables.ts", "store/a.ts"]
      .map(isDoor),
    [true, true, true, false, false],
  );
});

/** The sub-folder of a file below src/: its second folder, or `.` without one. */
function subFolder(path: string): string {
  const [, name, ...file] = path.split("/");
  return file.length === 0 ? "." : name;
}

/** The imports inside one part of src/ that point to a higher sub-folder. */
function upward(name: string, graph: ReadonlyMap<string, readonly string[]>): string[] {
  const height = (path: string) =>
    path === `${name}/mod.ts` ? Infinity : ORDERS[name].indexOf(subFolder(path));
  return [...graph].filter(([from]) => part(from) === name).flatMap(([from, targets]) =>
    targets.filter((to) => part(to) === name && height(to) > height(from))
      .map((to) => `${from} imports ${to}`)
  );
}

for (const [name, order] of Object.entries(ORDERS)) {
  Deno.test(`in src/${name}/, at most ${MAX_UPWARD} imports point to a higher sub-folder`, async () => {
    const graph = await importGraph();
    const files = [...graph.keys()].filter((path) => part(path) === name);
    assertEquals([...new Set(files.map(subFolder))].sort(), order.toSorted());
    const found = upward(name, graph);
    assert(found.length <= MAX_UPWARD, found.join("\n"));
  });
}

Deno.test("each part of src/ is in one layer, and each part in the layers exists", async () => {
  const parts = await Array.fromAsync(Deno.readDir(SRC), ({ name }) => name);
  assertEquals(LAYERS.flat().sort(), parts.sort());
});

Deno.test("no file imports itself through other files, not even for a type", async () => {
  assertEquals(circles(await importGraph()), []);
});

/** The files that are loaded with some files. */
async function loadedBy(...files: readonly string[]): Promise<string[]> {
  const found = new Set(files);
  for (const path of found) {
    const file = new URL(path, SRC);
    for (const one of loadedWith(await Deno.readTextFile(file))) {
      const loaded = new URL(one, file);
      if (loaded.href.startsWith(SRC.href)) found.add(below(loaded));
    }
  }
  return [...found].sort();
}

/** Folders whose files a scan loads only if an option or an output needs them, but for these files. */
const SELDOM =
  /^(store|watch|web|campaign|fleet|library|testing|app\/(geoip|http|metrics|watch))\//;
const LIGHT = [
  "app/geoip/geoip_fields.ts",
  "app/metrics/otlp_meter.ts",
  "fleet/usual_fleet.ts",
  "store/database/database.ts",
  "store/database/postgres_url.ts",
  "store/database_location.ts",
  "store/events/watch_event.ts",
  "store/queries/orders.ts",
  "store/queries/stored_fields.ts",
  "store/rows/addresses.ts",
  "store/rows/json_cells.ts",
  "store/rows/server_tags.ts",
  "store/rows/stored_values.ts",
  "store/rows/uuid.ts",
  "watch/schedule.ts",
  "watch/webhook/webhook_formats.ts",
];
/** The files that are loaded before `scan` reads its options, and so before its first probe. */
const BEFORE_OPTIONS = ["cli/mod.ts", "cli/commands/scan/scan.ts"];
/** Maximum number of files that a scan loads before its first probe: each takes about 0.5 ms. */
const MAX_LOADED = 320;

Deno.test("a scan starts without loading code that it may not need", async () => {
  const loaded = await loadedBy(...BEFORE_OPTIONS);
  assertEquals(loaded.filter((path) => SELDOM.test(path)), LIGHT);
  assert(loaded.length <= MAX_LOADED, `a scan loads ${loaded.length} files`);
  assertEquals(
    loadedWith(
      'import {\n  a,\n} from "./b.ts";\nimport "./c.ts";\nimport type { D } from "./d.ts";\n' +
        'export * from "./e.ts";\nconst f = await import("./f.ts");',
    ),
    ["./b.ts", "./c.ts", "./e.ts"],
  );
});

/** Maximum number of files that each thread of the dashboard loads, which may have few descriptors left. */
const MAX_OF_THREADS = { "query_thread": 240, "server_index_thread": 60 };

Deno.test("threads of the dashboard start without loading code that they do not need", async () => {
  for (const [name, most] of Object.entries(MAX_OF_THREADS)) {
    const { length } = await loadedBy(`web/data/threads/${name}.ts`);
    assert(length > 10 && length <= most, `${name} loads ${length} files`);
  }
});

/** The modules of Node.js that are loaded whenever a file is imported. */
function loadedNodeModules(text: string): string[] {
  const code = text.replace(/^\s*\/?\*.*$/gm, "");
  return [...code.matchAll(/^import (?!type )[^;]*?"(node:[^"]+)"/gm)].map(([, name]) => name);
}

Deno.test("modules of Node.js are loaded when they are used, except by tests' networks", async () => {
  const loaded: string[] = [];
  for await (const file of sources(SRC)) {
    const names = loadedNodeModules(await Deno.readTextFile(file));
    loaded.push(...names.map((name) => `${below(file)} loads ${name}`));
  }
  assertEquals(loaded, ["testing/fake_network.ts loads node:timers"]);
  const imports =
    'import {\n  a,\n} from "node:b";\nimport "node:c";\nimport type { D } from "node:d";';
  assertEquals(loadedNodeModules(imports), ["node:b", "node:c"]);
});

Deno.test("certificates are not verified in one file only, which reads what servers publish", async () => {
  const found: string[] = [];
  for await (const file of sources(SRC)) {
    const text = await Deno.readTextFile(file);
    const places = text.match(/rejectUnauthorized: .*|unsafelyIgnoreCertificateErrors/g) ?? [];
    found.push(...places.map((place) => `${below(file)}: ${place}`));
  }
  assertEquals(found.sort(), [
    "net/tcp/tls_stream.ts: rejectUnauthorized: false,",
    // the user's choice, by the `sslmode` of a database
    "store/database/postgres_driver.ts: rejectUnauthorized: boolean;",
    'store/database/postgres_driver.ts: rejectUnauthorized: sslMode.startsWith("verify-"),',
  ]);
});

Deno.test("the layer rule finds violations", () => {
  assertEquals(imports('import { a } from "./a.ts";\nexport * from "../b/mod.ts";'), [
    "./a.ts",
    "../b/mod.ts",
  ]);
  assertEquals(imports('await import("./c.ts")'), ["./c.ts"]);
  assertEquals(imports('import type { D } from "./d.ts";\n * import "./e.ts";'), ["./d.ts"]);
  assertEquals([allowed("net", "protocols"), allowed("protocols", "net")], [true, false]);
  assertEquals([allowed("sweep", "inspect"), allowed("targets", "protocols")], [false, false]);
  assertEquals([allowed("cli", "mod.ts"), allowed("mod.ts", "cli")], [false, false]);
  assertEquals([allowed("app", "cli"), allowed("library", "app")], [false, true]);
  const inScan = new Map([["scan/plan/a.ts", ["scan/setup/b.ts", "scan/c.ts", "core/d.ts"]]]);
  assertEquals(upward("scan", inScan), ["scan/plan/a.ts imports scan/c.ts"]);
  const graph = { a: ["b"], b: ["c"], c: ["b"], d: ["a", "e"], e: ["f"], f: ["e", "c"] };
  assertEquals(circles(new Map(Object.entries(graph))), ["b c", "e f"]);
});

/**
 * Files in which protocols may be named: the library exports them by name, and lan sweeps for
 * certain ones.
 */
const NAMES_PROTOCOLS = /^(protocols\/|fleet\/|scan\/lan\/|entry\/)/;
/** Names of protocols that are also names of commands or ordinary words. */
const COMMON = ["query", "lan"];
/** Matches a protocol's name in code. Names that are also commands match only in comparisons. */
const NAME = new RegExp(
  `\\w*(?:nethernet|${
    PROTOCOLS.map(({ name }) => name).filter((name) => !COMMON.includes(name)).join("|")
  })\\w*`,
  "gi",
);
const COMPARED =
  /\b(?:protocols?|name)\b(?:\[\d\])?(?: [!=]== |: |\.(?:includes|indexOf)\()"(?:query|lan)"/g;
/** An import from the folder of one protocol. */
const FOLDER = /"[./]*protocols\/\w+\/[^"]*"/g;

/** The places where code names a protocol, except in columns and their meanings. */
function namesIn(text: string): string[] {
  let code = text.replace(/\/\*[\s\S]*?\*\/|(?<=^|\s)\/\/.*$/gm, "");
  for (const { meaning } of FIELDS) code = code.replaceAll(`"${meaning}"`, '""');
  const columns = FIELDS.map(({ name }) => name).filter((name) => name.match(NAME));
  for (const name of columns) code = code.replaceAll(new RegExp(`\\b${name}\\b`, "g"), "");
  return [NAME, COMPARED, FOLDER].flatMap((form) => code.match(form) ?? []);
}

Deno.test("no protocol is named in code that must derive from the list", async () => {
  const named: string[] = [];
  for await (const file of sources(SRC)) {
    if (NAMES_PROTOCOLS.test(below(file))) continue;
    const names = namesIn(await Deno.readTextFile(file));
    named.push(...names.map((name) => `${below(file)}: ${name}`));
  }
  assertEquals(named, []);
});

/** Names of server software, and its default MOTDs. */
const SOFTWARE_NAMES = [
  ...software.rules.flatMap((rule) => [rule.software, rule.proxy]).filter((name) => name),
  ...software.defaultMotds,
] as readonly string[];
/**
 * Flags of single protocols. A flag of one lower-case word is omitted, because it may be an
 * ordinary text of the program.
 */
const OWN_FLAGS = PROTOCOLS.flatMap(({ flags, verify }) =>
  Object.keys({ ...flags, ...verify?.flags })
)
  .filter((flag) => /[A-Z]/.test(flag));
/** Texts about server software or about one protocol. */
const FACTS: ReadonlySet<string> = new Set([...SOFTWARE_NAMES, ...OWN_FLAGS]);

/** The places where code contains such a text. */
function factsIn(text: string): string[] {
  const code = text.replace(/\/\*[\s\S]*?\*\/|(?<=^|\s)\/\/.*$/gm, "");
  return [...code.matchAll(/"([^"\n]*)"/g)].map(([, one]) => one).filter((one) => FACTS.has(one));
}

Deno.test("facts about software, and flags of one protocol, are only in the files that declare them", async () => {
  const named: string[] = [];
  for await (const file of sources(SRC)) {
    if (/^(protocols|classify|fleet)\//.test(below(file))) continue;
    const facts = factsIn(await Deno.readTextFile(file));
    named.push(...facts.map((fact) => `${below(file)}: ${fact}`));
  }
  assertEquals(named, []);
  assertEquals(
    factsIn('proxy === "geyser"; flags.includes("sampleText") // "velocity"'),
    ["geyser", "sampleText"],
  );
  assertEquals(factsIn('["A Minecraft Server"]; flags.includes("cutShort")').length, 1);
});

/** The places where code contains a usual port as a number. Texts for users may contain it. */
function portsIn(text: string): string[] {
  const code = text.replace(/\/\*[\s\S]*?\*\/|\/\/.*$|"(?:\\.|[^"\\])*"|`[^`]*`/gm, "");
  const ports = new Set(PROTOCOLS.flatMap((one) => [...one.ports[4], ...one.ports[6]]));
  return (code.match(/\b\d+\b/g) ?? []).filter((number) => ports.has(Number(number)));
}

Deno.test("usual ports are only in protocols' declarations and in simulated servers", async () => {
  const written: string[] = [];
  for await (const file of sources(SRC)) {
    if (/^(protocols|fleet)\//.test(below(file))) continue;
    const ports = portsIn(await Deno.readTextFile(file));
    written.push(...ports.map((port) => `${below(file)}: ${port}`));
  }
  assertEquals(written, []);
  assertEquals(portsIn('const PORT = 25565; // 19132\n/** 19133 */ help("as 19132,19133")'), [
    "25565",
  ]);
});

/**
 * The files that may name the list of protocols: the command line, public functions that work without
 * the argument, and the checks of simulated servers. Other code gets the list as an argument.
 */
const LIST_USERS = [
  "cli/mod.ts",
  "fleet/judge/verify_rows.ts",
  "inspect/merge.ts",
  "library/common_options.ts",
  "library/run_scan.ts",
  "protocols/documented_flags.ts",
  "protocols/list.ts",
  "scan/rows/row_thread.ts",
  "scan/rows/row_worker.ts",
  "scan/scan.ts",
  "store/writers/scan_writer.ts",
];

/** Whether code names the list of protocols. */
function usesList(text: string): boolean {
  const code = text.replace(/\/\*[\s\S]*?\*\/|\/\/.*$/gm, "");
  return /(?<!\w|")(?:USUAL_)?PROTOCOLS\b(?!")/.test(code);
}

Deno.test("the list of protocols is named only at the top, and is an argument elsewhere", async () => {
  const used: string[] = [];
  for await (const file of sources(SRC)) {
    if (usesList(await Deno.readTextFile(file))) used.push(below(file));
  }
  assertEquals(used.sort(), LIST_USERS);
  assertEquals(usesList('/** PROTOCOLS */ LAN_PROTOCOLS; title: "PROTOCOLS" // PROTOCOLS'), false);
  assertEquals(usesList("f(list = PROTOCOLS) {}"), true);
  assertEquals(usesList("USUAL_PROTOCOLS.find(b);"), true);
});

Deno.test("the rule about protocols' names finds violations", () => {
  const found = (text: string) => namesIn(text).length;
  assertEquals(found('const a = "raknet";\nb.isSlp; c("asks RakNet servers"); sqpProtocol'), 4);
  assertEquals(
    found('protocol === "query" || protocols.includes("lan") || protocols[0] !== "lan"'),
    3,
  );
  assertEquals(found('import { A } from "../protocols/query/mod.ts";'), 1);
  assertEquals(
    found("/** As RakNet does. */\n// slp\nrow.raknet_protocol; run(['query'], false);"),
    0,
  );
  assertEquals(found('const COMMANDS = ["scan", "query", "lan"]; slippery'), 0);
});

Deno.test(`files have at most ${MAX_LINES} lines`, async () => {
  const long: string[] = [];
  for await (const file of sources(SRC)) {
    const lines = (await Deno.readTextFile(file)).split("\n").length - 1;
    if (lines > MAX_LINES) long.push(`${below(file)}: ${lines}`);
  }
  assertEquals(long, []);
});

/** The last line of the head of a function with a body, as `deno fmt` writes it. */
const HEAD_END =
  /^( *)(?![ */]|(?:\} )?(?:if|else|for|while|do|switch|try|catch|finally)\b).*(?:\)(?:: .+)?|=>) \{$/;

/** The first line of each function in a source, and its number of lines. */
function functionsIn(text: string): (readonly [string, number])[] {
  const lines = text.split("\n");
  return lines.flatMap((line, at) => {
    const [, indent] = HEAD_END.exec(line) ?? [];
    if (indent === undefined) return [];
    const isBeside = (one: string) =>
      one.startsWith(indent) && /[^ ]/.test(one[indent.length] ?? "");
    // A head of several lines ends with `): Result {`, beside its first line.
    const first = /^ *[)}\]]/.test(line) ? lines.slice(0, at).findLastIndex(isBeside) : at;
    const last = lines.findIndex((one, i) => i > at && isBeside(one));
    return [[lines[first].trim(), last - first + 1] as const];
  });
}

Deno.test(`functions have at most ${MAX_FUNCTION_LINES} lines`, async () => {
  const long: string[] = [];
  let count = 0;
  for await (const file of sources(SRC)) {
    for (const [head, lines] of functionsIn(await Deno.readTextFile(file))) {
      count++;
      if (lines > MAX_FUNCTION_LINES) long.push(`${below(file)}: ${head}: ${lines}`);
    }
  }
  assertEquals(long, []);
  assert(count > 4000, `found only ${count} functions`);
  const text = "export async function a(\n  b: B,\n): Promise<C> {\n  if (b) {\n    d();\n  }\n\n" +
    "  return e(() => {\n    f();\n  });\n}\n\nclass G {\n  get h(): I {\n    return 1;\n  }\n}\n";
  assertEquals(functionsIn(text), [
    ["export async function a(", 11],
    ["return e(() => {", 3],
    ["get h(): I {", 3],
  ]);
});

Deno.test(`folders have at most ${MAX_FILES} files, and at least two`, async () => {
  const wrong: string[] = [];
  const look = async (folder: URL) => {
    const entries = await Array.fromAsync(Deno.readDir(folder));
    const files = entries.filter(({ isFile }) => isFile).length;
    if (files > MAX_FILES || entries.length < 2) wrong.push(`${below(folder)}: ${files}`);
    for (const { name, isDirectory } of entries) {
      if (isDirectory) await look(new URL(`${name}/`, folder));
    }
  };
  await look(SRC);
  assertEquals(wrong, []);
});
