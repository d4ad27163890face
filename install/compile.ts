/**
 * Compiles the program into one file that needs no Deno: `deno task compile`. With the name of a system
 * (`x86_64-unknown-linux-gnu`) and a path, it compiles for that system into that file.
 *
 * The file has the permissions of `deno task install`, and contains the modules that the program loads
 * by a computed name: threads, and the packages in compiled_packages.ts.
 */
const ROOT = new URL("../", import.meta.url);
const { tasks } = JSON.parse(await Deno.readTextFile(new URL("deno.json", ROOT)));

/** The flags of the installed program. */
const [, FLAGS] = /( --unstable-net .*) main\.ts$/.exec(tasks.install.command)!;
/** A thread's module, as the code that starts it names it. */
const THREAD = /new URL\(\s*"\.\/([\w\/]+\.ts)",\s*import\.meta\.url,?\s*\)/g;

/** The paths of the modules of threads below a folder. */
async function threadsIn(folder: string): Promise<string[]> {
  const found: string[] = [];
  for await (const { name, isDirectory } of Deno.readDir(new URL(folder, ROOT))) {
    if (isDirectory) found.push(...await threadsIn(`${folder}${name}/`));
    else if (name.endsWith(".ts")) {
      const text = await Deno.readTextFile(new URL(folder + name, ROOT));
      for (const [, path] of text.matchAll(THREAD)) found.push(folder + path);
    }
  }
  return found.sort();
}

/** The arguments of Deno that compile the program. */
export async function compileArguments(target?: string, output = "blocksweep"): Promise<string[]> {
  const included = ["install/compiled_packages.ts", ...await threadsIn("src/")];
  return [
    ...["compile", "--frozen", "--no-check"],
    ...FLAGS.trim().split(" ").filter((flag) => flag !== "--unstable-lazy-dynamic-imports"),
    ...included.flatMap((path) => ["--include", path]),
    ...target === undefined ? [] : ["--target", target],
    ...["--output", output, "main.ts"],
  ];
}

if (import.meta.main) {
  const [target, output] = Deno.args;
  const args = await compileArguments(target, output);
  const { code } = await new Deno.Command("deno", { args, cwd: ROOT }).spawn().status;
  Deno.exitCode = code;
}
