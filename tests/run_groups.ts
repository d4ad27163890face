// deno-lint-ignore-file no-console
/**
 * Runs the groups of tests one after the other, whatever failed before: `deno task test`. Prints the
 * result of each group, failures in full, and a summary. What a group prints is in
 * `reports/tests/GROUP.txt`, its results for programs in `reports/tests/GROUP.xml`.
 */
import { readJunit, summaryOf, type TestResult } from "./summary.ts";

const FOLDER = "reports/tests";
/** The groups with their tasks, in order. */
const GROUPS: Readonly<Record<string, string>> = {
  types: "types",
  pure: "test:pure",
  doc: "test:doc",
  rest: "test:rest",
  sockets: "test:sockets",
};

/**
 * What a reader needs of the output of a group: Deno's line of counts, after all errors if the group has
 * failed. If Deno lists no errors then, that is the whole output.
 */
export function resultOf(name: string, output: string, isOk: boolean): string {
  if (isOk) return `${name}: ${output.match(/^ok \| .*$/gm)?.at(-1) ?? "ok"}`;
  const start = output.search(/^ *ERRORS *$/m);
  const errors = (start < 0 ? output : output.slice(start)).trimEnd();
  return `${errors}\n${name}: FAILED`;
}

/** Shows on a terminal how many tests of a group have ended. */
function showProgress(name: string, output: string): void {
  if (!Deno.stdout.isTerminal()) return;
  const ended = output.match(/ \.\.\. .*(?:ok|FAILED|ignored) \(/g)?.length ?? 0;
  Deno.stdout.writeSync(new TextEncoder().encode(`\r${name}: ${ended} tests …\x1b[K\r`));
}

/**
 * Runs a command, and prints its result.
 *
 * @param name The name of the group, which is that of its files in the folder too.
 * @returns Whether it has succeeded.
 */
export async function runGroup(
  name: string,
  command: Deno.Command,
  folder: string,
): Promise<boolean> {
  const child = command.spawn();
  using file = await Deno.open(`${folder}/${name}.txt`, { create: true, write: true });
  let output = "";
  const readers = [child.stdout, child.stderr].map(async (stream) => {
    for await (const text of stream.pipeThrough(new TextDecoderStream())) {
      output += text;
      file.writeSync(new TextEncoder().encode(text));
      showProgress(name, output);
    }
  });
  const [{ success }] = await Promise.all([child.status, ...readers]);
  console.log(resultOf(name, output, success));
  return success;
}

/** The tests in the file that a group has written. `undefined`: it has written none. */
async function testsOf(name: string): Promise<readonly TestResult[] | undefined> {
  try {
    return readJunit(await Deno.readTextFile(`${FOLDER}/${name}.xml`));
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return undefined;
    throw error;
  }
}

if (import.meta.main) {
  await Deno.remove(FOLDER, { recursive: true }).catch((error) => {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
  });
  await Deno.mkdir(FOLDER, { recursive: true });
  // Under npx, the first `deno` of the PATH can be a script that passes no signals on.
  const PATH = `${Deno.execPath().replace(/[^\\/]*$/, "")}:${Deno.env.get("PATH")}`;
  const results = new Map<string, readonly TestResult[] | undefined>();
  for (const [name, task] of Object.entries(GROUPS)) {
    const args = ["task", "--quiet", task];
    const env = { PATH, NO_COLOR: "1" };
    const options: Deno.CommandOptions = { args, env, stdout: "piped", stderr: "piped" };
    const isOk = await runGroup(name, new Deno.Command("deno", options), FOLDER);
    if (!isOk) Deno.exitCode = 1;
    if (name !== "types") results.set(name, await testsOf(name));
  }
  console.log(summaryOf(results).join("\n"));
  console.log(`The whole output is in ${FOLDER}/.`);
}
