/**
 * The permissions that install/npm/blocksweep.js gives to each command line. A script that prints its
 * arguments replaces Deno. Covers install/npm/manifest.ts.
 */
import { assert, assertEquals } from "@std/assert";
import { HEAD } from "../../src/scan/checkpoint/written_rows.ts";
import { outputIn, ROOT } from "./installed.ts";

const FOLDER = await Deno.makeTempDir({ prefix: "blocksweep-launcher-" });
addEventListener("unload", () => Deno.removeSync(FOLDER, { recursive: true }));
const LAUNCHER = `${FOLDER}/bin/blocksweep.js`;
await Deno.mkdir(`${FOLDER}/bin`);
await Deno.mkdir(`${FOLDER}/node_modules/deno`, { recursive: true });
for (const name of ["blocksweep.js", "flags.json"]) {
  await Deno.copyFile(new URL(`npm/bin/${name}`, ROOT), `${FOLDER}/bin/${name}`);
}
await Deno.writeTextFile(`${FOLDER}/package.json`, '{ "type": "module" }\n');
await Deno.writeTextFile(`${FOLDER}/deno`, '#!/bin/sh\nprintf "%s\\n" "$@"\ncat $PRINTED\n', {
  mode: 0o755,
});
await Deno.writeTextFile(
  `${FOLDER}/node_modules/deno/install_api.cjs`,
  `exports.runInstall = () => ${JSON.stringify(`${FOLDER}/deno`)};\n`,
);

/** The flags that Deno gets for a command line. */
async function flagsOf(words: readonly string[]): Promise<string[]> {
  const text = await outputIn(FOLDER, "env", "PRINTED=/dev/null", "node", LAUNCHER, ...words);
  const flags = text.split("\n");
  return flags.slice(0, flags.findIndex((flag) => flag.endsWith("/lib/main.js")));
}

Deno.test("every command with a task has the flags of the task", async () => {
  const { tasks } = JSON.parse(await Deno.readTextFile(new URL("deno.json", ROOT)));
  const { commands } = JSON.parse(await Deno.readTextFile(`${FOLDER}/bin/flags.json`));
  const names: string[] = [];
  for (const [name, { command = "" }] of Object.entries<{ command?: string }>(tasks)) {
    const [run, called] = command.split(" main.ts ");
    if (called === undefined || !run.startsWith("deno run ") || called !== name) continue;
    names.push(name);
    assertEquals(commands[name]?.join(" "), run.slice("deno run ".length), name);
  }
  assertEquals(Object.keys(commands).sort(), names.sort());
  assert(names.includes("opt-out") && names.includes("contact-page"), names.join());
  assert((await flagsOf(["opt-out", "list"])).some((flag) => flag.startsWith("--allow-env=")));
});

const CONFIGS: Readonly<Record<string, string>> = {
  "engine.json": '\ufeff{ "engine": "udp" }',
  "list.json": '{ "engine": ["xdp"] }',
  "threads.json": '{ "threads": 0 }',
  "portable.json": '{ "engine": "portable" }',
  "tag.json": JSON.stringify({ tag: ['"note threads":1', "engine = 1"], file: { engine: "udp" } }),
  "broken.json": '{ "engine": "udp"',
  "null.json": "null",
  "fast.list": `${HEAD}{"targets":[],"options":{"engine":["udp"]}}\n+ 5,- 10.0.0.1:19132\n`,
  "slow.list": `${HEAD}{"targets":["a"],"options":{"tag":["threads=1"]}}\n= {"engine":"udp"}\n`,
};
for (const [name, text] of Object.entries(CONFIGS)) {
  await Deno.writeTextFile(`${FOLDER}/${name}`, text);
}

/** Command lines that get FFI. */
const FAST = [
  "--version",
  "scan 127.0.0.1 --engine udp",
  "scan --engine=fastest 127.0.0.1",
  "scan 127.0.0.1 --threads 2",
  "scan --config engine.json",
  "scan --config=list.json",
  "scan --config threads.json",
  "scan --config portable.json --engine udp",
  "scan --resume fast",
  "scan --resume slow --threads=1",
  "campaign work --engine udp",
  "fleet --servers 1001",
];

/** Command lines that do not get FFI. */
const SLOW = [
  "scan 127.0.0.1",
  "scan 127.0.0.1 --engine portable",
  "scan 127.0.0.1 --engine=",
  "scan 127.0.0.1 -- --engine udp --threads 2",
  "scan --config portable.json",
  "scan --config tag.json",
  "scan --config broken.json",
  "scan --config null.json",
  "scan --config none.json",
  "scan --config engine.json --engine portable",
  "scan --resume slow",
  "scan --resume fast --engine portable",
  "query 127.0.0.1 --engine ",
  "query 127.0.0.1 --engine udp",
  "query --config engine.json",
  "servers a.db --engine x",
  "contact-page --purpose --engine=x",
  "campaign submit --engine udp",
  "campaign work --threads 2",
  "campaign work -- --engine udp",
  "campaign --engine udp",
  "fleet --servers 1000",
  "fleet -- --servers 1001",
  "demo --servers 4000",
  "schema --threads 2",
  "-- scan --engine udp",
];

for (const [lines, isFast] of [[FAST, true], [SLOW, false]] as const) {
  for (const line of lines) {
    Deno.test(`blocksweep ${line}: ${isFast ? "with" : "without"} --allow-ffi`, async () => {
      assertEquals((await flagsOf(line.split(" "))).includes("--allow-ffi"), isFast);
    });
  }
}

Deno.test("a configuration from a pipe is left to the program", async () => {
  const pipe = `${FOLDER}/pipe`;
  await outputIn(FOLDER, "mkfifo", pipe);
  const shell = `echo TEXT > pipe & PRINTED=pipe node ${LAUNCHER} scan --config pipe; wait`;
  const text = await outputIn(FOLDER, "timeout", "60", "sh", "-c", shell);
  assertEquals(text.split("\n").slice(-2), ["TEXT", ""]);
});
