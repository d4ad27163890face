/** Scans that signals stop. Covers src/app/interrupt_signals.ts and src/cli/commands/scan/run.ts. */
import { assert, assertEquals, assertMatch } from "@std/assert";
import { readNdjson } from "../../../src/fleet/judge/verify_rows.ts";
import { inFolder } from "../../app/resume/stopped_programs.ts";
import { HAS_SCRIPT } from "../pseudo_terminal.ts";
import { QUICK, smallFleet, withFleet } from "../fleet.ts";
import {
  ENVIRONMENT,
  finish,
  PrintedText,
  programWords,
  run,
  SCAN,
  start,
  until,
} from "../program.ts";
import { longTest } from "../../long.ts";

const FLEET = smallFleet(0x7f2b0000);

Deno.test("Ctrl-C finishes the pending rows, and the printed command finds the rest", async () => {
  await inFolder((folder) =>
    withFleet(FLEET, async (check) => {
      const output = `${folder}/rows.ndjson`;
      const child = start([
        "scan",
        "127.43.0.0/24",
        ...QUICK,
        "--rate",
        "250",
        "-o",
        output,
        "--status-file",
        `${folder}/s`,
      ]);
      await until(
        child,
        async () => JSON.parse(await Deno.readTextFile(`${folder}/s`)).written >= 5,
      );
      child.kill("SIGINT");
      const first = await finish(child);
      assertEquals(first.code, 130, first.stderr);
      const before = readNdjson(await Deno.readTextFile(output));
      assert(
        before.length >= 5 && before.length < 40,
        `${before.length} rows before the interruption`,
      );
      const [, command] = /continue with: (?:blocksweep|deno task) (scan .*)\n/.exec(first.stderr)!;
      assertEquals(command, `scan --resume ${output}.checkpoint`);
      const second = await run([...command.split(" "), "--rate", "10k"]);
      assertEquals(second.code, 0, second.stderr);
      const rows = readNdjson(await Deno.readTextFile(output));
      assertEquals([check(rows, "ndjson").faults, rows.length], [[], 40]);
    })
  );
});

longTest(
  "SIGTERM after Ctrl-C ends a scan at once, and the command that it prints finds the rest",
  async () => {
    await inFolder((folder) =>
      withFleet(FLEET, async (check) => {
        const output = `${folder}/rows.ndjson`;
        const files = ["-o", output, "--status-file", `${folder}/s`];
        const args = ["scan", "127.43.0.0/24", "--cooldown", "1s", "--timeout", "500ms", ...files];
        const child = start([...args, "--rate", "250"]);
        await until(
          child,
          async () => JSON.parse(await Deno.readTextFile(`${folder}/s`)).written >= 5,
        );
        const printed = new PrintedText(child);
        child.kill("SIGINT");
        await printed.until("Ctrl-C again");
        child.kill("SIGTERM");
        const stderr = await printed.rest();
        assertEquals((await child.status).code, 130, stderr);
        await child.stdout.cancel();
        assertEquals(stderr.includes("interrupted in"), false, stderr);
        const [, command] = /continue with: (?:blocksweep|deno task) (scan .*)\n/.exec(stderr)!;
        const second = await run([...command.split(" "), "--rate", "10k"]);
        assertEquals(second.code, 0, second.stderr);
        const rows = readNdjson(await Deno.readTextFile(output));
        assertEquals([check(rows, "ndjson").faults, rows.length], [[], 40]);
      })
    );
  },
);

Deno.test("SIGTERM ends a scan as Ctrl-C does; without a checkpoint the command is longer", async () => {
  await inFolder(async (folder) => {
    const files = ["-oJ", `${folder}/rows.json`, "--status-file", `${folder}/s`];
    const written = ["rows.json", "rows-2.json", "s", "s.part"].map((name) => `${folder}/${name}`);
    const permissions = SCAN.map((flag) =>
      flag === "--allow-write" ? `${flag}=${written.join()}` : flag
    );
    const child = start(["scan", "127.43.0.0/24", ...QUICK, "--rate", "50", ...files], {
      permissions,
    });
    await until(
      child,
      async () => JSON.parse(await Deno.readTextFile(`${folder}/s`)).probes_sent > 0,
    );
    child.kill("SIGTERM");
    const { code, stderr } = await finish(child);
    assertEquals(code, 130, stderr);
    assertEquals(JSON.parse(await Deno.readTextFile(`${folder}/rows.json`)), []);
    assertMatch(stderr, /cannot keep a checkpoint in "\S*rows\.json\.checkpoint": .*--allow-write/);
    assertMatch(stderr, /continue with: .* -oJ \S*rows-2\.json .*--append/);
    assertMatch(stderr, /rows\.json may get some servers twice/);
    const [, command] = /continue with: (?:blocksweep|deno task) (scan .*)\n/.exec(stderr)!;
    const second = await run(command.replace("--rate 50", "").split(/ +/), { permissions });
    assertEquals(second.code, 0, second.stderr);
    assertEquals(JSON.parse(await Deno.readTextFile(`${folder}/rows-2.json`)), []);
  });
});

/** Runs a script that imports `onInterrupt`, and sends it a signal when it has written a line. */
async function signalled(script: string, signal: Deno.Signal): Promise<string> {
  const module = new URL("../../../src/app/interrupt_signals.ts", import.meta.url).href;
  let text = "";
  await inFolder(async (folder) => {
    await Deno.writeTextFile(
      `${folder}/script.ts`,
      `import { onInterrupt } from "${module}"; ${script}`,
    );
    const args = ["run", "--quiet", "--no-config", "--no-prompt", "-A", `${folder}/script.ts`];
    const child = new Deno.Command("deno", { args, stdout: "piped" }).spawn();
    const printed = new PrintedText(child, child.stdout);
    await printed.until("listening\n");
    child.kill(signal);
    text = await printed.rest();
    assertEquals((await child.status).code, 0, text);
  });
  return text;
}

Deno.test("a closed terminal, which sends two signals, counts as one Ctrl-C", async () => {
  const script = `
    const { promise, resolve } = Promise.withResolvers();
    using _interrupt = onInterrupt(resolve, true);
    console.log("listening");
    await promise;
    const again = Promise.withResolvers();
    Deno.addSignalListener("SIGHUP", again.resolve);
    Deno.kill(Deno.pid, "SIGHUP");
    await again.promise;
    Deno.removeSignalListener("SIGHUP", again.resolve);
    console.log("in good order");`;
  assertEquals(await signalled(script, "SIGHUP"), "listening\nin good order\n");
});

Deno.test({
  name:
    "a repetition of Ctrl-C after the command has ended does not kill the program (not on Windows)",
  ignore: Deno.build.os === "windows",
  fn: async () => {
    const script = `
      const { promise, resolve } = Promise.withResolvers();
      {
        using _interrupt = onInterrupt(resolve);
        console.log("listening");
        await promise;
      }
      const later = Promise.withResolvers();
      Deno.addSignalListener("SIGUSR1", later.resolve);
      Deno.kill(Deno.pid, "SIGINT");
      Deno.kill(Deno.pid, "SIGUSR1");
      await later.promise;
      Deno.removeSignalListener("SIGUSR1", later.resolve);
      console.log("in good order");`;
    assertEquals(await signalled(script, "SIGINT"), "listening\nin good order\n");
  },
});

Deno.test({
  name:
    "a closed terminal ends a command normally even if its errors go to a file (script of util-linux)",
  ignore: !HAS_SCRIPT,
  fn: () =>
    inFolder(async (folder) => {
      const module = new URL("../../../src/app/interrupt_signals.ts", import.meta.url).href;
      const script = `
        import { onInterrupt } from "${module}";
        const { promise, resolve } = Promise.withResolvers();
        using _interrupt = onInterrupt(resolve);
        const waiting = setTimeout(() => {}, 60_000);
        Deno.kill(Deno.pid, "SIGHUP");
        await promise;
        clearTimeout(waiting);
        Deno.writeTextFileSync("${folder}/end", "in good order");`;
      await Deno.writeTextFile(`${folder}/script.ts`, script);
      const deno = `deno run --quiet --no-config --no-prompt -A ${folder}/script.ts`;
      for (const redirected of ["2>err", ">out 2>err", "</dev/null >out"]) {
        const inTerminal = `cd ${folder} && script -qec "${deno} ${redirected}" /dev/null`;
        const { code } = await new Deno.Command("sh", { args: ["-c", inTerminal] }).output();
        assertEquals([code, await Deno.readTextFile(`${folder}/end`)], [0, "in good order"]);
        await Deno.remove(`${folder}/end`);
      }
    }),
});

Deno.test({
  name: "a scan under nohup outlives the loss of the terminal (not on Windows)",
  ignore: Deno.build.os === "windows",
  fn: async () => {
    const unresponsive = Deno.listenDatagram({
      transport: "udp",
      hostname: "127.41.0.1",
      port: 19132,
    });
    const words = programWords(["scan", "-iL", "-", "--protocol", "raknet", ...QUICK]);
    const child = new Deno.Command("sh", {
      args: ["-c", 'exec nohup "$@"', "sh", ...words],
      env: ENVIRONMENT,
      ...{ stdin: "piped", stdout: "piped", stderr: "piped" },
    }).spawn();
    const ended = finish(child);
    const targets = child.stdin.getWriter();
    try {
      // This is more than a pipe can hold. When it is written, the program runs and reads its
      // targets.
      await targets.write(new TextEncoder().encode("# no target\n".repeat(20_000)));
      child.kill("SIGHUP");
      await targets.write(new TextEncoder().encode("127.41.0.1\n"));
      await targets.close();
      await Promise.race([unresponsive.receive(), ended]);
      child.kill("SIGHUP");
    } catch {
      // If the program has ended, the exit code shows the reason.
    } finally {
      unresponsive.close();
    }
    const { code, stderr } = await ended;
    assertEquals([code, /^done in .*: 0 rows written/m.test(stderr)], [0, true], stderr);
  },
});
