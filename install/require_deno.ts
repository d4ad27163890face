/**
 * Checks that `deno` is in the PATH, before `deno task install`: the installed command runs `deno`. npx
 * adds a `deno` to the PATH of the task, which the user's shell does not find later.
 */
const IS_WINDOWS = Deno.build.os === "windows";
const NAMES = IS_WINDOWS ? ["deno.exe", "deno.cmd"] : ["deno"];

/** Whether a path is a file. A folder of the PATH that cannot be read contains no command. */
function isFile(path: string): boolean {
  try {
    return Deno.statSync(path).isFile;
  } catch {
    return false;
  }
}

const folders = (Deno.env.get("PATH") ?? "").split(IS_WINDOWS ? ";" : ":")
  .filter((folder) => folder !== "" && !/node_modules[/\\]\.bin[/\\]?$/.test(folder));
if (!folders.some((folder) => NAMES.some((name) => isFile(`${folder}/${name}`)))) {
  const text = "blocksweep: Cannot install the command: it runs deno, which is not in the PATH. " +
    `Install Deno first, for example: npm install -g deno@${Deno.version.deno}\n`;
  Deno.stderr.writeSync(new TextEncoder().encode(text));
  Deno.exit(2);
}
