/**
 * Named pipes as outputs of commands, which run in processes of their own and are ended by signals.
 */
import { assertEquals, assertMatch } from "@std/assert";
import { finish, PATIENCE_MS, run, start } from "../program.ts";

const TARGET = "127.56.0.1";
const SCAN = ["scan", TARGET, "--protocol", "raknet", "--cooldown", "1ms", "--format", "ndjson"];

/** Runs a test with a pipe that no program reads. */
function test(name: string, fn: (pipe: string, folder: string) => Promise<void>): void {
  Deno.test({
    name: `${name} (not on Windows)`,
    ignore: Deno.build.os === "windows",
    fn: async () => {
      const folder = await Deno.makeTempDir();
      try {
        await new Deno.Command("sh", { args: ["-c", `mkfifo ${folder}/pipe`] }).output();
        await fn(`${folder}/pipe`, folder);
      } finally {
        await Deno.remove(folder, { recursive: true });
      }
    },
  });
}

/**
 * Sends a signal to the program after its first output. Returns the result of the program. A program
 * that ignores the signal is killed.
 */
async function endWaiting(
  args: readonly string[],
  signal: Deno.Signal,
): Promise<[code: number, stderr: string]> {
  const child = start(args);
  const timer = setTimeout(() => child.kill("SIGKILL"), PATIENCE_MS);
  const reader = child.stderr.getReader();
  const { value } = await reader.read();
  child.kill(signal);
  let text = new TextDecoder().decode(value);
  for (;;) {
    const { value, done } = await reader.read();
    if (done) break;
    text += new TextDecoder().decode(value);
  }
  clearTimeout(timer);
  await child.stdout.cancel();
  return [(await child.status).code, text];
}

test(
  "the first signal ends a scan that waits for the reader of a pipe: nothing is sent",
  async (pipe, folder) => {
    const target = Deno.listenDatagram({ transport: "udp", hostname: TARGET, port: 19132 });
    const waits = `blocksweep: waiting for a reader of the pipe "${pipe}"\n`;
    for (const signal of ["SIGINT", "SIGTERM"] as const) {
      const outputs = ["-o", `${folder}/rows.ndjson`, "-o", pipe, "-o", `${folder}/rows.db`];
      assertEquals(await endWaiting([...SCAN, ...outputs], signal), [130, waits]);
      const left = [...Deno.readDirSync(folder)].map(({ name }) => name).sort();
      // there is no checkpoint and no list of rows
      assertEquals(left, ["pipe", "rows.db", "rows.ndjson"]);
    }
    await target.send(new Uint8Array([7]), target.addr as Deno.NetAddr);
    assertEquals((await target.receive())[0].length, 1);
    target.close();
  },
);

test(
  "the first signal ends a resumed scan that waits for the reader of a pipe",
  async (pipe, folder) => {
    const checkpoint = `${folder}/checkpoint`;
    const targets = ["scan", "127.56.0.0/24", ...SCAN.slice(2)];
    const limits = ["--rate", "100", "--max-runtime", "50ms", "--checkpoint", checkpoint];
    const reading = Deno.readTextFile(pipe);
    const first = await run([...targets, ...limits, "-o", pipe]);
    assertMatch(`${first.code} ${first.stderr}`, /^0 .*--resume/s);
    await reading;
    const kept = await Deno.readTextFile(checkpoint);
    const [command] = first.stderr.match(/^continue with: .*\n/m)!;
    const waits = `blocksweep: waiting for a reader of the pipe "${pipe}"\n`;
    const ended = await endWaiting(["scan", "--resume", checkpoint], "SIGINT");
    assertEquals(ended, [130, waits + command]);
    assertEquals(await Deno.readTextFile(checkpoint), kept);
  },
);

test("an export reports that it waits for the reader of a pipe", async (pipe, folder) => {
  const rows = `${folder}/rows.db`;
  assertEquals((await run([...SCAN, "-o", rows])).code, 0);
  const child = start(["export", rows, "--format", "csv", "-o", pipe]);
  const reader = child.stderr.getReader();
  const { value } = await reader.read();
  reader.releaseLock();
  const waits = `blocksweep: waiting for a reader of the pipe "${pipe}"\n`;
  assertEquals(new TextDecoder().decode(value), waits);
  assertMatch(await Deno.readTextFile(pipe), /^host,port,/);
  assertEquals((await finish(child)).code, 0);
});
