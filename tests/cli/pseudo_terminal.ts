/** The program `script` of util-linux, which opens a pseudo-terminal. */

/** Whether it is installed. */
export const HAS_SCRIPT = Deno.build.os === "linux" &&
  new Deno.Command("sh", {
    args: ["-c", "script --version"],
    stdout: "null",
    stderr: "null",
  }).outputSync().success;

if (!HAS_SCRIPT) {
  const note = "script of util-linux is not installed: tests on a pseudo-terminal are skipped\n";
  Deno.stderr.writeSync(new TextEncoder().encode(note));
}
