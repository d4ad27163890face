/**
 * Checks the documents: their links lead to existing files, their commands parse, their tables
 * agree with the code, and each flag has a meaning (src/core/flags.ts).
 */
import { assert, assertEquals, assertRejects, assertThrows } from "@std/assert";
import { GROUPED_COMMANDS, isCommand, splitCommand } from "../src/app/options/command_words.ts";
import { readCommandLine, readOptions } from "./cli/command_line.ts";
import { SELECTION } from "../src/app/options/groups/selection.ts";
import { scanChoice } from "../src/app/scan/scan_choice.ts";
import { demoFleet } from "../src/cli/commands/demo.ts";
import { InputError } from "../src/core/errors.ts";
import { withCommas } from "../src/core/quantities.ts";
import { DEFAULT_SPEED, DEFAULTS } from "../src/app/settings/defaults.ts";
import { CLIENT_GUID } from "../src/protocols/raknet/ping.ts";
import { serverId } from "../src/core/record.ts";
import { parseJsonTemplate, PLACEHOLDER_NAMES } from "../src/watch/webhook/template.ts";
import { PROTOCOLS } from "../src/protocols/list.ts";
import { goldenPaths, indexOf } from "./golden/write_index.ts";
import { SECTIONS, withSections } from "../docs/write_reference.ts";
import { documentedFlags } from "../src/protocols/documented_flags.ts";
import { ROUTES } from "../src/web/api/routes.ts";
import { FILTER_PARAMETERS } from "../src/web/queries/filters.ts";
import {
  anchorsIn,
  commandsIn,
  exists,
  linksIn,
  pathsIn,
  readDocuments,
  readSources,
  spansIn,
} from "./documents.ts";

const DOCUMENTS = await readDocuments();
const README = textOf("README.md");
const REFERENCE = textOf("docs/reference.md");
const SCANNING = textOf("docs/guide/scanning.md");
const CONFIG = JSON.parse(await Deno.readTextFile(new URL("../deno.json", import.meta.url)));
const LOCK = JSON.parse(await Deno.readTextFile(new URL("../deno.lock", import.meta.url)));

/** The text of the document at a path. */
function textOf(path: string): string {
  return DOCUMENTS.find((document) => document.path === path)!.text;
}

/** The cells of the table after a mark in a document. */
function table(document: string, mark: string): string[][] {
  const [, text] = document.split(`<!-- ${mark} -->\n\n`);
  const [rows] = text.split("\n\n");
  return rows.split("\n").slice(2).map((row) =>
    row.split("|").slice(1, -1).map((cell) => cell.trim())
  );
}

Deno.test("the reference equals the output of `deno task docs`", () => {
  assertEquals(withSections(REFERENCE), REFERENCE, "run deno task docs");
});

Deno.test("a section of the reference that is missing, or that the task does not write, is an error", () => {
  const [first] = Object.keys(SECTIONS);
  assertThrows(() => withSections("# Reference\n"), Error, `lacks the section "${first}"`);
  const unknown = "<!-- generated: none -->\n<!-- end -->\n";
  assertThrows(() => withSections(unknown), Error, 'nothing generates the section "none"');
});

/** Flags of messages that occur in no row. */
const NOT_IN_ROWS = ["foreignMtu", "fewAddresses"];

Deno.test("every flag that the sources set is in the reference", async () => {
  const documented = documentedFlags().map(({ name }) => name);
  // flags.push("name"), flag("name"), flags: ["name"], flags = ["name"], ? ["name"]
  const set = /(?:\.(?:push|add)|\bflag)\("(\w+)"\)|(?<!\w)\["(\w+)"[\],]/g;
  let count = 0;
  for (const folder of ["protocols", "inspect", "scan", "classify"]) {
    for (const text of await readSources(`src/${folder}/`)) {
      const lines = text.split("\n").filter((line) => /flag/i.test(line) && !/^ *\*/.test(line));
      for (const [, called, listed] of lines.join("\n").matchAll(set)) {
        const name = called ?? listed;
        count++;
        assert(documented.includes(name) || NOT_IN_ROWS.includes(name), name);
      }
    }
  }
  assert(count > 20, `only ${count} flags`);
});

Deno.test("the guide to webhooks lists the placeholders, and its templates are valid", () => {
  const guide = textOf("docs/guide/webhooks.md");
  const listed = table(guide, "placeholders").map(([name]) => name.slice(2, -2));
  assertEquals(listed, PLACEHOLDER_NAMES);
  const templates = [...guide.matchAll(/```json\n(.*?)```/gs)].map(([, text]) => text);
  assertEquals(templates.length, 2);
  for (const text of templates) parseJsonTemplate(text, "guide");
});

Deno.test("the guide to scans lists the protocols in order of rank", () => {
  assertEquals(
    table(SCANNING, "protocols").map(([name, transport]) => [name, transport]),
    PROTOCOLS.map(({ name, transport }) => [`\`${name}\``, transport.toUpperCase()]),
  );
});

/** The tasks of deno.json, by name. */
const TASKS: Record<string, { readonly command: string }> = CONFIG.tasks;

/** Throws if the program would refuse a command of a document. */
async function checkCommand([program, ...words]: readonly string[]): Promise<void> {
  if (program === "blocksweep") return checkArgs(words);
  if (words[0] === "run") return await checkRun(words.slice(1));
  if (words[0] !== "task") return;
  const task = TASKS[words[1]];
  assert(task !== undefined, `no task "${words[1]}"`);
  const [, command] = / main\.ts (\w+)$/.exec(task.command) ?? [];
  if (command !== undefined) checkArgs([command, ...words.slice(2)]);
}

/** Checks the arguments of blocksweep. */
function checkArgs(words: readonly string[]): void {
  const [command, args] = splitCommand(words);
  if (["--help", "--version", "COMMAND"].includes(command)) return;
  if (GROUPED_COMMANDS.has(command) && args.join() === "--help") return;
  assert(isCommand(command), `no command "${command}"`);
  if (args.includes("--help")) return;
  const { given } = readCommandLine(command, args);
  if (command !== "scan") return;
  const { protocols, ports } = scanChoice(readOptions("scan", given), () => 1);
  for (const { name } of protocols) {
    assert(ports(name, 4).length > 0, `${args.join(" ")}: no port for ${name}`);
  }
}

/** Checks the arguments of `deno run`: the script exists and has the options. */
async function checkRun(words: readonly string[]): Promise<void> {
  const at = words.findIndex((word) => word.endsWith(".ts"));
  if (at < 0) return; // a script of a package
  const [script, ...args] = words.slice(at);
  assert(await exists(script), `no script ${script}`);
  if (script === "main.ts") return checkArgs(args);
  // the file of the case
  const file = script === "bench/sweep.ts" ? `bench/sweep/${args[0]}.ts` : script;
  const source = await Deno.readTextFile(new URL(`../${file}`, import.meta.url));
  const [, options] = /(?:readOptions\([^{]*|OPTIONS = )\{(.*?)\n\}/s.exec(source) ?? [];
  for (const name of args.filter((arg) => arg.startsWith("--")).map((arg) => arg.slice(2))) {
    assert(options?.match(new RegExp(`^\\s*"?${name}"?:`, "m")), `${script} has no --${name}`);
  }
}

Deno.test("the protocol in the architecture is the one that the tests run", async () => {
  const path = "protocols/invented/herald/mod.ts";
  const source = await Deno.readTextFile(new URL(path, import.meta.url));
  const [, example] = /```ts\n(.*?)```/s.exec(textOf("docs/architecture.md"))!;
  assertEquals(example.replace("../protocol.ts", "../../../../src/protocols/protocol.ts"), source);
});

Deno.test("every command in a document parses", async () => {
  let count = 0;
  for (const { path, text } of DOCUMENTS) {
    for (const words of commandsIn(text)) {
      count++;
      try {
        await checkCommand(words);
      } catch (error) {
        throw new Error(`${path}: ${words.join(" ")}: ${(error as Error).message}`);
      }
    }
  }
  assert(count > 50, `only ${count} commands`);
});

Deno.test("every link in a document leads to an existing file and heading", async () => {
  for (const { path, text } of DOCUMENTS) {
    for (const link of linksIn(text).filter((target) => !target.includes("://"))) {
      const [file, anchor] = link.split("#");
      const target = file === "" ? path : new URL(file, `file:///${path}`).pathname.slice(1);
      assert(await exists(target), `${path}: ${link}`);
      if (anchor === undefined) continue;
      const headings = anchorsIn(textOf(target));
      assert(headings.includes(anchor), `${path}: ${link}`);
    }
  }
});

Deno.test("every path in a document's code spans exists", async () => {
  for (const { path, text } of DOCUMENTS) {
    for (const named of pathsIn(text)) assert(await exists(named), `${path}: ${named}`);
  }
});

Deno.test("the architecture names folders, and names that the code has, but no file inside a folder", async () => {
  const spans = spansIn(textOf("docs/architecture.md"));
  const files = spans.filter((span) => /^src\/\w+\/[\w/]+\.tsx?$/.test(span));
  assertEquals(files.filter((path) => !/[A-Z]{4}/.test(path)), [], "name the folder instead");
  const source = (await readSources("src/")).join("\n");
  const words = new Set(source.match(/\w+/g));
  const names = spans.flatMap((span) => /^([A-Z]+[a-z]\w*|\w+(?=\(\)$))/.exec(span)?.[1] ?? []);
  assert(names.length > 50, `${names.length} names`);
  assertEquals(names.filter((name) => !words.has(name)), []);
});

for (const path of ["README.md", "CONTRIBUTING.md"]) {
  Deno.test(`${path} has at most 6 KB`, () => {
    const { length } = new TextEncoder().encode(textOf(path));
    assert(length <= 6 * 1024, `${path} has ${length} bytes`);
  });
}

Deno.test("the README shows servers of the demo's fleet", () => {
  const [, shown] = /\n(SERVER .*?)```/s.exec(README)!;
  const { options: { servers, seed } } = readCommandLine("demo", []);
  const entries = demoFleet(servers, seed).map(({ entry }) => entry);
  const rows = shown.split("\n").filter((line) => line.startsWith("127."));
  assert(rows.length >= 3, `${rows.length} rows`);
  for (const line of rows) {
    const [server, protocols] = line.split(/ +/);
    const entry = entries.find((one) => serverId(one) === server);
    assertEquals(Object.keys(entry?.truth ?? {}).join("+"), protocols, line);
  }
});

Deno.test("the documents include the guides", () => {
  const guides = DOCUMENTS.filter(({ path }) => path.startsWith("docs/guide/"));
  assert(guides.length > 1, `${guides.length} guides`);
});

Deno.test("every document is linked from a document that everybody finds", () => {
  const links = ["README.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md"].flatMap((path) =>
    linksIn(textOf(path))
  );
  for (const { path } of DOCUMENTS) {
    assert(path === "README.md" || links.includes(path), `nothing links ${path}`);
  }
});

Deno.test("the checks of documents find errors", async () => {
  const text = "See [a](docs/a.md#b-c) and `src/core/none.ts`, `deno task\n  nothing`.\n\n" +
    "```sh\nblocksweep scan 10.0.0.1 --bad | head   # a comment\ndeno run -A bench/engines.ts " +
    "\\\n  --none 1 > out\n```\n";
  assertEquals(linksIn(text), ["docs/a.md#b-c"]);
  assertEquals(anchorsIn("# B, `c`\n```sh\n# no heading\n```\n"), ["b-c"]);
  assertEquals(pathsIn(text), ["src/core/none.ts"]);
  const commands = commandsIn(text);
  assertEquals(commands, [
    ["blocksweep", "scan", "10.0.0.1", "--bad"],
    ["deno", "run", "-A", "bench/engines.ts", "--none", "1"],
    ["deno", "task", "nothing"],
  ]);
  assertThrows(() => checkArgs(commands[0].slice(1)), InputError, "--bad");
  await assertRejects(() => checkCommand(commands[1]), Error, "has no --none");
  await assertRejects(() => checkCommand(commands[2]), Error, 'no task "nothing"');
  assertThrows(() => checkArgs(["scan", "10.0.0.1", "--protocol", "none"]), InputError, "none");
  assertThrows(() => checkArgs(["scan", "10.0.0.1", "-p", "U:9"]), Error, "no port for nethernet");
});

Deno.test("every task that runs the program has --no-prompt, and names each permission", () => {
  for (const [name, { command }] of Object.entries<{ command: string }>(CONFIG.tasks)) {
    if (!/deno (run|install) /.test(command)) continue;
    assert(command.includes("--no-prompt"), name);
    assert(!/--allow-all|(^| )-A( |$)/.test(command), name);
  }
});

/** Folders whose tests have tasks or scripts of their own, because they need other software or root. */
const OWN_TASKS = ["interop", "browser", "postgres", "namespaces", "npm"];

Deno.test("deno task test runs every test file", async () => {
  const words = ["pure", "rest", "sockets"].flatMap((group) =>
    TASKS[`test:${group}`].command.split(" ")
  );
  const files = (await filesIn("tests/")).filter((path) => path.endsWith("_test.ts"));
  assert(files.length > 300, `${files.length} files`);
  for (const path of files) {
    const isListed = words.some((word) => path === word || path.startsWith(`${word}/`));
    assertEquals(isListed, !OWN_TASKS.includes(path.split("/")[1]), path);
  }
});

/** Folders that git ignores, and its own. */
const IGNORED = [
  ".git/",
  ...(await Deno.readTextFile(new URL("../.gitignore", import.meta.url)))
    .split("\n").filter((line) => /^\/.*\/$/.test(line)).map((line) => line.slice(1)),
];

/** The paths of the files below a folder that git does not ignore. */
async function filesIn(folder: string): Promise<string[]> {
  const found: string[] = [];
  for await (
    const { name, isDirectory } of Deno.readDir(new URL(`../${folder}`, import.meta.url))
  ) {
    const path = folder + name;
    if (!isDirectory) found.push(path);
    else if (name !== "node_modules" && !IGNORED.includes(`${path}/`)) {
      found.push(...await filesIn(`${path}/`));
    }
  }
  return found;
}

/** The first mark of a merge conflict in a text; a formatter makes a row of a table from one. */
function conflictIn(text: string): string | undefined {
  return /^(?:<{7} .*|>{7} .*|={7}|\| ={7} +\|.*)$/m.exec(text)?.[0];
}

Deno.test("no file contains marks of a merge conflict", async () => {
  const files = await filesIn("");
  assert(files.length > 1000, `${files.length} files`);
  for (const path of files) {
    const text = await Deno.readTextFile(new URL(`../${path}`, import.meta.url));
    assertEquals(conflictIn(text), undefined, path);
  }
  for (const mark of ["<".repeat(7) + " HEAD", "=".repeat(7), `| ${"=".repeat(7)} |   |`]) {
    assertEquals(conflictIn(`a\n${mark}\nb\n`), mark);
  }
});

Deno.test("the guide to the dashboard names each filter, and each path", () => {
  const spans = spansIn(textOf("docs/guide/dashboard.md"));
  const names = [...Object.keys(FILTER_PARAMETERS), ...ROUTES.map(({ path }) => path)];
  assert(names.length > 30, `${names.length} names`);
  assertEquals(names.filter((name) => !spans.includes(name)), []);
});

Deno.test("the guide to databases names each option that selects servers", () => {
  const words = new Set(
    spansIn(textOf("docs/guide/databases.md")).map((span) => span.split(" ")[0]),
  );
  const names = SELECTION.options.map(({ name }) => `--${name}`);
  assertEquals(names.filter((name) => !words.has(name)), []);
});

Deno.test("docs/operators.md names the default limits of a scan", () => {
  const guide = textOf("docs/operators.md");
  const words = guide.replaceAll(/\s+/g, " ");
  const [, limits] = guide.split("### Rates\n");
  const listed = [...limits.matchAll(/^\|.*\| +([\d,]+) +\|$/gm)].map(([, number]) => number);
  const { hostRate, netRate, rate } = DEFAULT_SPEED;
  assertEquals(listed, [hostRate, netRate, rate].map(withCommas));
  assert(guide.includes(CLIENT_GUID.toString(16).replace(/(..)(?!$)/g, "$1 ")));
  assert(words.includes(`every ${DEFAULTS.watch.intervalMs / 1000} s by default`));
  const { portsAround, netBudget } = DEFAULTS.adaptive;
  assert(words.includes(`up to ${2 * portsAround + 1} ports of each protocol, ${portsAround} on`));
  assert(words.includes(`at most ${withCommas(netBudget)} probes in an adaptive scan`));
});

Deno.test("in tasks that run the program, the runtime's lines about downloads do not disturb its output", () => {
  const tasks = Object.entries<{ command: string }>(CONFIG.tasks)
    .filter(([, { command }]) => /\bmain\.ts \w+$/.test(command));
  assert(tasks.length > 10);
  for (const [name, { command }] of tasks) assert(command.includes("run --quiet "), name);
});

Deno.test("tasks that may read all files load code when it is needed, because that starts them faster", () => {
  const tasks = Object.entries(TASKS).filter(([, { command }]) => command?.includes(" main.ts"));
  for (const [name, { command }] of tasks) {
    // With this flag, a dynamic import needs the permission to read the file.
    const isLazy = command.includes(" --unstable-lazy-dynamic-imports ");
    assertEquals(isLazy, command.includes(" --allow-read "), name);
  }
});

Deno.test("the driver of PostgreSQL is in the lock file, although no import names it", async () => {
  const source = await Deno.readTextFile(
    new URL("../src/store/database/postgres_driver.ts", import.meta.url),
  );
  const [, version] = /const DRIVER = "npm:(pg@[\d.]+)"/.exec(source)!;
  assert(version in LOCK.npm, version);
});

Deno.test("documents and sources follow the version of deno.json", async () => {
  const { version } = CONFIG;
  const changes = textOf("CHANGELOG.md");
  const [newest] = /^## (?:Unreleased|\[[\d.]+\].*)$/m.exec(changes)!;
  assert(newest === "## Unreleased" || newest.startsWith(`## [${version}] - 2`), newest);
  let count = 0;
  for (const { path, text } of DOCUMENTS) {
    for (const [named, found] of text.matchAll(/@blocksweep\/blocksweep@\^?(\d+\.\d+\.\d+)/g)) {
      count++;
      assertEquals(found, version, `${path}: ${named}`);
    }
  }
  assert(count > 0);
  for (const text of await readSources("src/")) {
    assert(!text.includes(`"${version}"`), "the version in a source");
  }
});

Deno.test("the standard library has the pinned version", () => {
  assertEquals(
    LOCK.npm["deno-std@1.4.0"].integrity,
    "sha512-7c0Y6tyn0Sx0NKiaAeGtDwrpG+C7VFcOStVcYXPnjAuIEonxzVV+n6s8iuFjg6keqzxo/zrPbR/J9EY9BLNsRA==",
  );
});

Deno.test("the index of golden messages equals the output of `deno task golden`", async () => {
  const index = await Deno.readTextFile(new URL("./golden/index.ts", import.meta.url));
  assert(index === indexOf(await goldenPaths()), "run `deno task golden`");
});
