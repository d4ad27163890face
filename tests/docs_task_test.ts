/** `deno task docs`, which runs docs/write_reference.ts with the permissions of the task. */
import { assertEquals, assertStringIncludes } from "@std/assert";

const ROOT = new URL("../", import.meta.url);
const { tasks } = JSON.parse(await Deno.readTextFile(new URL("deno.json", ROOT)));
/** The command line of the task, without the permission to write. */
const UNABLE_TO_WRITE = tasks.docs.command.replace(/--allow-write=\S+/, "");

/** Runs a command of a shell at the root of the repository. */
async function shell(command: string): Promise<[code: number, stderr: string]> {
  const { code, stderr } = await new Deno.Command("sh", {
    args: ["-c", command],
    cwd: ROOT,
    env: { NO_COLOR: "1" },
  }).output();
  return [code, new TextDecoder().decode(stderr)];
}

Deno.test("deno task docs writes, and with --check it checks without a permission to write", async () => {
  assertEquals(tasks.docs.command === UNABLE_TO_WRITE, false);
  const [written, why] = await shell(UNABLE_TO_WRITE);
  assertEquals(written, 1);
  assertStringIncludes(why, "docs/reference.md");
  const [checked, fault] = await shell(`${UNABLE_TO_WRITE} --check`);
  assertEquals(checked, 0, fault);
});

Deno.test("deno task docs refuses other arguments, and writes nothing then", async () => {
  const [code, stderr] = await shell(`${UNABLE_TO_WRITE} --chek`);
  assertEquals(code, 1);
  assertStringIncludes(stderr, "unknown argument --chek: there is only --check");
});
