/**
 * The examples of docs/library.md, as programs of their own outside the repository. `deno task types`
 * checks their types.
 *
 * Covers src/testing/start_fleet.ts.
 */
import { assert, assertEquals } from "@std/assert";
import { listenSlp, slpServer } from "../fakes/slp.ts";
import { startFleet } from "../../src/testing/start_fleet.ts";
import { longTest } from "../long.ts";

const ROOT = new URL("../../", import.meta.url);
const TEXT = await Deno.readTextFile(new URL("docs/library.md", ROOT));

/** Code blocks of a language, in order. */
function blocks(language: string): string[] {
  return [...TEXT.matchAll(/```(\w+)\n([\s\S]*?)```/g)]
    .filter(([, name]) => name === language).map(([, , code]) => code);
}

const EXAMPLES = blocks("ts");
/** The clone, and the package of the standard library that a program would load from JSR. */
const LINKS = [ROOT, new URL("std/csv/", ROOT)].map(({ pathname }) => JSON.stringify(pathname));
const CONFIG = blocks("json")[0].replace(/"links": \[[^\]]*\]/, `"links": [${LINKS.join(", ")}]`);

/** The cache of Deno, which has the package of the standard library. */
const CACHE: string = await cacheFolder();

async function cacheFolder(): Promise<string> {
  const { stdout } = await new Deno.Command("deno", { args: ["info", "--json"] }).output();
  return JSON.parse(new TextDecoder().decode(stdout)).denoDir;
}

/** The lock file's entries of the standard library. With them, nothing is looked up in a registry. */
const LOCK = await standardLibraryLock();

async function standardLibraryLock() {
  const { version, specifiers, npm } = JSON.parse(
    await Deno.readTextFile(new URL("deno.lock", ROOT)),
  );
  const only = (entries: Readonly<Record<string, unknown>>) =>
    Object.fromEntries(Object.entries(entries).filter(([name]) => name.includes("deno-std@")));
  return { version, specifiers: only(specifiers), npm: only(npm) };
}

/** Addresses of simulated servers that replace those in the examples. */
const HOST = "127.88.1.1";
const RANGE = `${HOST}/32`;

/** An example that sends only to loopback. */
function harmless(example: string): string {
  return example.replaceAll("play.example.org", HOST).replaceAll("192.168.1.0/24", RANGE);
}

/** Runs a function with the examples in a temporary folder. */
async function withExamples(run: (folder: string) => Promise<void>): Promise<void> {
  const folder = await Deno.makeTempDir();
  try {
    await Deno.writeTextFile(`${folder}/deno.json`, CONFIG);
    await Deno.writeTextFile(`${folder}/deno.lock`, JSON.stringify(LOCK));
    for (const [i, example] of EXAMPLES.entries()) {
      await Deno.writeTextFile(`${folder}/${i}.ts`, harmless(example));
    }
    await run(folder);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

/** The output of a program. Fails if the program fails. */
async function output(folder: string, ...args: readonly string[]): Promise<string> {
  // Deno's tasks set INIT_CWD. The paths of a program must not depend on this variable.
  const env = {
    NO_COLOR: "1",
    HOME: folder,
    XDG_CONFIG_HOME: folder,
    INIT_CWD: "/",
    DENO_DIR: CACHE,
  };
  const command = new Deno.Command("deno", { args: [...args], cwd: folder, env });
  const { code, stdout, stderr } = await command.output();
  const decoder = new TextDecoder();
  assertEquals(code, 0, `${args.join(" ")}: ${decoder.decode(stderr)}`);
  return decoder.decode(stdout);
}

/** Runs an example with the permissions that the document names, on loopback. */
function runExample(folder: string, i: number): Promise<string> {
  const grants = [
    "--allow-net=127.0.0.0/8,0.0.0.0,[::1],[::],localhost",
    "--allow-read",
    "--allow-env",
    "--allow-write=.",
  ];
  return output(folder, "run", "--no-prompt", "--cached-only", ...grants, `${i}.ts`);
}

Deno.test("the library's two one-liners find servers from a folder of their own", async () => {
  await using fleet = await startFleet({ range: RANGE, servers: 1, software: ["bds"] });
  const name = fleet.servers[0].truth.raknet.columns.name!;
  await withExamples(async (folder) => {
    const [queried, scanned] = await Promise.all([runExample(folder, 0), runExample(folder, 1)]);
    assert(queried.includes(`host: "${HOST}"`) && queried.includes("port: 19132"), queried);
    assert(scanned.startsWith(`${HOST} 19132 ${name} `), scanned);
    assertEquals(scanned.trim().split("\n").length, 1);
  });
});

Deno.test("a program finds a server by its name, with the system's resolver", async () => {
  await using server = listenSlp(slpServer("vanilla"), "127.0.0.1");
  const example = EXAMPLES[1].replace("192.168.1.0/24", `localhost:${server.port}`);
  await withExamples(async (folder) => {
    await Deno.writeTextFile(`${folder}/1.ts`, example);
    const scanned = await runExample(folder, 1);
    assert(scanned.startsWith(`127.0.0.1 ${server.port} `), scanned);
  });
});

/** Discovery needs a local network, and loopback is none. */
const NEEDS_LAN = /\blan\(/;

longTest("every other example of the library's guide runs", async () => {
  await using _fleet = await startFleet({ range: RANGE, servers: 1, software: ["bds"] });
  await withExamples(async (folder) => {
    const others = [...EXAMPLES.entries()].slice(2).filter(([, one]) => !NEEDS_LAN.test(one));
    await Promise.all(others.map(async ([i, example]) => {
      assert((await runExample(folder, i)).trim() !== "", `it prints nothing: ${example}`);
    }));
  });
});
