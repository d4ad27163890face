/** `deno task install`, which runs install/require_deno.ts first. */
import { assertEquals, assertMatch } from "@std/assert";
import { inFolder } from "./app/resume/stopped_programs.ts";

const ROOT = new URL("../", import.meta.url);
const { tasks } = JSON.parse(await Deno.readTextFile(new URL("deno.json", ROOT)));
/** What the task does before it installs, and the installation. */
const [CHECK, ...INSTALLATION]: string[] = tasks.install.command.split(" && ");

/** Runs the check of the task with a PATH. */
async function check(path: string) {
  const words = CHECK.replace(/^deno/, `'${Deno.execPath()}'`);
  const { code, stderr } = await new Deno.Command("sh", {
    args: ["-c", `PATH='${path}' ${words}`],
    cwd: ROOT,
    env: { NO_COLOR: "1" },
  }).output();
  return { code, stderr: new TextDecoder().decode(stderr) };
}

/** Creates a folder with a command `deno`. */
async function withDeno(folder: string): Promise<string> {
  await Deno.mkdir(folder, { recursive: true });
  await Deno.writeTextFile(`${folder}/deno`, "");
  return folder;
}

Deno.test({
  name:
    "deno task install says before it installs that deno is missing in the PATH, also under npx (not on Windows)",
  ignore: Deno.build.os === "windows",
  fn: () =>
    inFolder(async (folder) => {
      const npx = await withDeno(`${folder}/_npx/7a/node_modules/.bin`);
      for (const path of ["", `${folder}/missing`, `${folder}:${npx}`, `${npx}/`]) {
        const { code, stderr } = await check(path);
        assertEquals(code, 2, stderr);
        assertMatch(stderr, /^blocksweep: Cannot install .*: npm install -g deno@\d+\.\d+\.\d+$/m);
      }
      const own = await withDeno(`${folder}/bin`);
      assertEquals(await check(`${npx}:${own}`), { code: 0, stderr: "" });
      assertEquals(INSTALLATION.length, 1);
      assertMatch(INSTALLATION[0], /^deno install --global .* main\.ts$/);
    }),
});
