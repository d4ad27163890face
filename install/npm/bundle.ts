/**
 * Bundles the program, its threads and the library into `lib/`. Deno refuses TypeScript in
 * `node_modules`. Code that several of them load is in chunks that they share.
 */
import { bundleForNode, SHARED } from "./node_bundle.ts";
import { LIBRARY, NODE_ENTRY, PACKAGE, PROJECT, ROOT, writePackageFile } from "./project.ts";

/** Names of the packages whose code is in the bundles. */
const LICENSED = await Deno.readTextFile(new URL("THIRD_PARTY_LICENSES", import.meta.url));
/** The comment before a module of a package: its path in Deno's cache. */
const BUNDLED = /^\/\/ .*\/npm\/[^\/]+\/((?:@[^\/]+\/)?[^\/]+)\//gm;
/** A thread's module, as the code that starts it names it. */
const THREAD = /new URL\("\.\/([\w\/]+)\.ts", import\.meta\.url\)/g;
/** A constant that contains the name and version of an npm package. */
const PACKAGE_NAME = /"npm:((?:@[\w-]+\/)?[\w-]+)@([\d.]+)"(?=[,;]?$)/gm;

/** The packages that the program loads when it needs them: versions by name. */
export type Dependencies = Record<string, string>;

/** Sources of threads: the workers that the code starts by a URL beside itself. */
async function threadSources(folder: string): Promise<string[]> {
  const found: string[] = [];
  for await (const { name, isDirectory } of Deno.readDir(new URL(folder, ROOT))) {
    if (isDirectory) found.push(...await threadSources(`${folder}${name}/`));
    else if (/\.tsx?$/.test(name)) {
      const text = await Deno.readTextFile(new URL(folder + name, ROOT));
      for (const [, path] of text.matchAll(THREAD)) found.push(`${folder}${path}`);
    }
  }
  return found;
}

async function runBundle(sources: readonly string[]): Promise<void> {
  const { success } = await new Deno.Command(Deno.execPath(), {
    args: [
      ...["bundle", "--quiet", "--frozen-lockfile", "--code-splitting", "--outdir", "npm/lib"],
      ...sources.map((path) => `${path}.ts`),
    ],
    cwd: ROOT,
  }).output();
  if (!success) throw new Error("deno bundle failed");
}

/** What `package.json` names of the bundles. */
export interface Bundles {
  /** The npm packages that they load. */
  readonly dependencies: Dependencies;
  /** The paths of the program and its threads, which do something when they are loaded. */
  readonly programs: readonly string[];
}

/** Makes the bundles. */
export async function bundleProgram(): Promise<Bundles> {
  const threads = await threadSources("src/");
  await runBundle(["main", ...LIBRARY.map(({ path }) => path), SHARED, ...threads]);
  const lib = new URL("lib/", PACKAGE);
  const dependencies: Dependencies = {};
  const started: string[] = [];
  // All code that starts threads and names packages is in chunks, which are in the first folder.
  for await (const { name, isFile } of Deno.readDir(lib)) {
    if (!isFile) continue;
    const text = await Deno.readTextFile(new URL(name, lib));
    const changed = text.replace(THREAD, (_, path) => {
      const thread = threads.find((one) => one.endsWith(`/${path}`))!;
      started.push(thread);
      return `new URL("./${thread}.js", import.meta.url)`;
    }).replace(PACKAGE_NAME, (_, dependency, version) => {
      dependencies[dependency] = version;
      return `"${dependency}"`;
    }).replace(BUNDLED, (_, bundled) => {
      if (LICENSED.includes(`\n${bundled} `)) return `// ${bundled}/`;
      throw new Error(`name ${bundled} and its license in install/npm/THIRD_PARTY_LICENSES`);
    });
    if (changed !== text) await Deno.writeTextFile(new URL(name, lib), changed);
  }
  if (started.sort().join() !== threads.sort().join()) {
    throw new Error(`threads in the sources: ${threads}; in the bundles: ${started}`);
  }
  await writeStandIns();
  const programs = ["main", ...threads].map((path) => `./lib/${path}.js`);
  return { dependencies: { deno: Deno.version.deno, ...dependencies }, programs };
}

/** What programs in Node and Bun can import. */
const PURE = LIBRARY.filter(({ needsDeno }) => !needsDeno).map(({ name }) => name);

/**
 * Writes what Node and Bun load in place of each module that needs Deno. It exports the same names,
 * because otherwise an import would fail with an error about a missing name. Its types are empty, so
 * that the compiler reports the import.
 */
async function writeStandIns(): Promise<void> {
  for (const { name, subpath, path } of LIBRARY.filter(({ needsDeno }) => needsDeno)) {
    const names = Object.keys(await import(new URL(`lib/${path}.js`, PACKAGE).href));
    if (subpath === ".") {
      await writeNodeModule(names);
      continue;
    }
    const message = `${name} needs Deno, because it uses Deno's sockets and files. ` +
      `In Node and Bun you can import blocksweep, ${
        PURE.join(", ")
      }, or run the command blocksweep.`;
    await writePackageFile(
      `lib/${path}.node.js`,
      `throw new Error(${JSON.stringify(message)});\nexport let ${names.join(", ")};\n`,
    );
    await writePackageFile(`lib/${path}.node.d.ts`, `/** ${message} */\nexport {};\n`);
  }
}

/**
 * Writes what Node and Bun load in place of the main module: `query()` and the constants, and functions that
 * report that they need Deno. Types have only the former, so that the compiler reports the others.
 *
 * @param names The names that the module exports in Deno.
 */
async function writeNodeModule(names: readonly string[]): Promise<void> {
  const own = Object.keys(await import(new URL(`${NODE_ENTRY}.ts`, ROOT).href));
  const message = "needs Deno, because it uses Deno's sockets and files. " +
    "In Node and Bun, blocksweep has query(), and you can run the command blocksweep.";
  await bundleForNode(names.filter((name) => !own.includes(name)), message);
}

/** The unstable features of Deno that the program uses, as flags. */
export const UNSTABLE_FLAGS = PROJECT.unstable.map((name) => `--unstable-${name}`);
