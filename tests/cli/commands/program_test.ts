/**
 * Covers src/app/interrupt_signals.ts, src/app/exit_codes.ts, src/cli/mod.ts,
 * src/cli/commands/scan/scan.ts, src/cli/commands/scan/run.ts, src/cli/commands/scan/opening.ts,
 * src/cli/commands/scan/request.ts, src/cli/commands/scan/target_lookup.ts,
 * src/cli/commands/scan/dry_run.ts, src/cli/commands/scan/target_list.ts,
 * src/cli/commands/completions.ts, src/cli/commands/demo.ts,
 * src/cli/commands/fleet.ts, src/cli/commands/lan.ts and src/cli/commands/schema.ts.
 */
import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { drawFleet, type FleetPlan } from "../../../src/fleet/simulate/draw_fleet.ts";
import { openFleet } from "../../../src/fleet/simulate/open_fleet.ts";
import {
  readCsv,
  readNdjson,
  verifyAgainstManifest,
} from "../../../src/fleet/judge/verify_rows.ts";
import { systemClock } from "../../../src/net/clock.ts";
import { serverId } from "../../../src/core/record.ts";
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

const RANGE = { start: 0x7f210000, end: 0x7f210100 };
const FLEET: FleetPlan = { servers: 40, hostile: 10, range: RANGE, seed: 6 };
const PORTS: Record<string, readonly number[]> = {
  raknet: [19132],
  slp: [25565],
  query: [25565],
};
const QUICK = ["--cooldown", "200ms", "--timeout", "500ms"];

/** A folder that is removed after the test. */
async function inFolder(test: (folder: string) => Promise<void>): Promise<void> {
  const folder = await Deno.makeTempDir();
  try {
    await test(folder);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

/** A fleet on loopback while the test runs. */
async function withFleet(
  plan: FleetPlan,
  test: (check: typeof verifyRows) => Promise<void>,
): Promise<void> {
  const hosts = drawFleet(plan);
  const entries = hosts.map(({ entry }) => entry);
  await using _fleet = await openFleet(hosts, { clock: systemClock, seed: 1 });
  await test((rows, format) => {
    const selection = {
      protocols: ["raknet", "slp", "query"],
      ports: (name: string) => PORTS[name],
      follow: true,
    };
    return verifyAgainstManifest(entries, rows, selection, format);
  });
}

declare function verifyRows(
  rows: ReturnType<typeof readCsv>,
  format: "csv" | "ndjson",
): ReturnType<typeof verifyAgainstManifest>;

const BAD: [args: string[], message: string][] = [
  [["scn"], 'Unknown command "scn"; did you mean scan?'],
  [["scan", "--reate", "5", "127.0.0.1"], "Unknown option --reate; did you mean --rate?"],
  [["scan"], "Cannot scan: name addresses"],
  [["lan", "10.0.0.0/24"], 'Cannot use "10.0.0.0/24": lan takes no targets'],
  [["lan", "--once", "0"], 'Cannot use --once "0": expected a whole number from 1 to 3600'],
  [["lan", "-p", "T:25565"], 'Cannot use --ports "T:25565": lan takes 1 to 64 UDP ports'],
  [["lan", "-p", "1-65"], "lan takes 1 to 64 UDP ports"],
  [["scan", "10.0.0.0/33"], 'Cannot parse range "10.0.0.0/33": the prefix must be 0 to 32'],
  [["scan", "256.1.1.1"], 'Cannot parse "256.1.1.1"'],
  [["scan", "010.0.0.1"], 'Cannot parse "010.0.0.1"'],
  [["scan", "1.2.3"], 'Cannot parse "1.2.3"'],
  [["scan", "10.0.0.9-10.0.0.1"], "the first address is above the last"],
  [["scan", "127.0.0.1", "-p", "0"], 'Cannot parse port "0"'],
  [["scan", "127.0.0.1", "-p", "70000"], 'Cannot parse port "70000"'],
  [["scan", "127.0.0.1", "--rate", "abc"], 'Cannot use --rate "abc"'],
  [["scan", "-iL", "/dev/null"], "Cannot use /dev/null: it contains no targets"],
  [["scan", "-iL", "/nonexistent"], 'Cannot read "/nonexistent": there is no such file'],
  [["scan", "8.8.8.8"], "Cannot scan 1 public address without --i-have-permission"],
  [["scan", "224.0.0.1"], "never probed: multicast"],
  [
    ["scan", "127.0.0.1", "-o", "/nonexistent/x.csv"],
    'Cannot write to "/nonexistent/x.csv": No such file',
  ],
  [["scan", "127.0.0.1", "-o", "x.dat"], 'Cannot choose a format for "x.dat"'],
  [["scan", "127.0.0.1", "-o", "a.csv", "-o", "./a.csv"], 'Cannot write two outputs to "./a.csv"'],
  [["scan", "127.0.0.1", "--status-file", "s", "--metadata-file", "s"], "Cannot write two outputs"],
  [["scan", "127.0.0.1", "--metadata-file", "/nonexistent/m"], 'Cannot write to "/nonexistent/m"'],
  [["scan", "127.0.0.1", "--status-file", "/dev/null"], "it is not a regular file"],
  [["scan", "127.0.0.1", "--stats-every", "abc", "--quiet"], 'Cannot use --stats-every "abc"'],
  [
    ["scan", "127.0.0.1", "--seed", "1", "--from", "6:0"],
    "Cannot start from 6:0: there are 4 passes; the last position is 5:0",
  ],
  [
    ["scan", "127.0.0.1", "--seed", "1", "--from", "5:0,T:4:0"],
    "Cannot start from T:4:0: there are 2 TCP passes; the last position is 3:0",
  ],
  [
    ["scan", "127.0.0.1", "--seed", "1", "--from", "1:2"],
    "Cannot start from 1:2: pass 1 has 1 target\n",
  ],
  [["scan", "127.0.0.1", "--rate", "abc", "--echo-config"], 'Cannot use --rate "abc"'],
  [["scan", "::1", "127.0.0.1", "--source-port", "40001"], "Cannot use --source-port for IPv4 and"],
  [
    ["scan", "127.0.0.1", "--fields", "hsot"],
    'Cannot write column "hsot": there is no such column; did you mean "host"?',
  ],
  [["scan", "127.0.0.1", "--fields", "host,port,host"], 'Cannot write column "host" twice'],
  [["scan", "127.0.0.1", "--fields", ","], "Cannot use --fields: it names no column"],
  [["scan", "8.8.8.8", "--i-have-permission=no"], "--i-have-permission=no: it takes no value"],
  [["scan", "127.0.0.1", "--config", "/nonexistent"], 'Cannot read "/nonexistent"'],
  [["scan", "127.0.0.1", "--status-file", "/nonexistent/s"], 'Cannot write to "/nonexistent/s"'],
  [["scan", "127.0.0.1", "-p", "9-8"], 'Cannot parse ports "9-8": the first is above the last'],
  [["scan", "127.0.0.1", "--host-rate", "5M"], 'Cannot use --host-rate "5M"'],
  [["scan", "127.0.0.1", "--opt-out-file", "/usr"], 'Cannot read "/usr": Is a directory'],
  [["scan", "-", "-iL", "-"], "Cannot read targets from standard input twice"],
  [["scan", "127.0.0.1", "--source-ip", "::1"], "it is not an IPv4 address"],
  [
    ["scan", "127.0.0.1", "--protocol", "sqp"],
    "without a port: it has no default port; name ports",
  ],
  [["scan", "127.0.0.1:9000", "127.0.0.2", "--protocol", "query,sqp"], "it has no default port"],
  [["query", "127.0.0.1", "--protocol", "sqp"], "it has no default port; give HOST:PORT"],
  [["query"], "Cannot query: name a host"],
  [["query", "127.0.0.1", "--timeout", "0"], 'Cannot use --timeout "0": it must be at least 1 ms'],
  [["query", "127.0.0.0/24"], "it is a range"],
  [["query", "255.255.255.255"], "never probed"],
  [
    ["scan", "127.0.0.1", "--protocol", "slp,query", "--verify"],
    "Cannot use --verify with --protocol slp,query: it needs raknet",
  ],
  [["query", "127.0.0.1:25565", "--protocol", "slp", "--verify"], "it needs raknet"],
  [["lan", "10.0.0.1"], "lan takes no targets"],
  [["fleet", "--software", "nonsense"], 'Cannot simulate "nonsense": there is no such software; '],
  [["fleet", "--software", "paperr"], 'Cannot simulate "paperr": did you mean "paper"?'],
  [["fleet", "--software", ","], "Cannot use --software: it names no software"],
  [["fleet", "--range", "10.0.0.0/24"], "not a loopback address"],
  [["fleet", "--range", "localhost"], 'Cannot use --range "localhost": expected addresses'],
  [["fleet", "127.0.0.1"], 'Cannot use "127.0.0.1": write --range 127.0.0.1'],
  [["fleet", "--lab", "--range", "8.8.8.0/24"], "the range must lie in data/private.txt"],
  [["fleet", "--log", "/nonexistent/x"], 'Cannot write to "/nonexistent/x": No such file'],
  [["fleet", "--loss", "200"], "a number from 0 to 100"],
  [["completions", "tcsh"], 'Cannot print completions for "tcsh": expected one of bash, zsh, fish'],
];

for (const [args, message] of BAD) {
  Deno.test(`"${args.join(" ")}" is refused in one line, with exit code 2`, async () => {
    const { code, stdout, stderr } = await run(args);
    assertEquals([code, stdout], [2, ""]);
    assertStringIncludes(stderr, message);
    assertMatch(stderr, /^blocksweep: [^\n]*\n$/);
  });
}

Deno.test("a missing permission names the flag that grants it", async () => {
  const { code, stdout, stderr } = await run(["scan", "127.0.0.1", "-q"], { permissions: [] });
  assertEquals([code, stdout], [2, ""]);
  assertMatch(stderr, /^blocksweep: .*--allow-env/);
  const blind = await run(["scan", "127.0.0.1", "-q"], { permissions: ["--allow-env"] });
  assertMatch(blind.stderr, /^blocksweep: .*--allow-read/);
  const far = await run(["scan", "127.8.0.1"], {
    permissions: ["--allow-net=127.9.0.0/16,0.0.0.0", "--allow-read", "--allow-env"],
  });
  assertEquals(far.code, 2);
  assertStringIncludes(far.stderr, "--allow-net");
});

Deno.test("the guide's permissions that restrict a scan to a range are sufficient", async () => {
  const path = new URL("../../../docs/guide/privacy-and-politeness.md", import.meta.url);
  const guide = await Deno.readTextFile(path);
  const [, recipe] = /^deno run --no-prompt ((?:.*\\\n)*.*)$/m.exec(guide)!;
  const words = recipe.replace(/ #.*/, "").replaceAll("192.168.1.0/24", "127.33.0.0/30")
    .split(/[\s\\]+/).filter((word) => word !== "");
  const main = words.indexOf("main.ts");
  const permissions = words.slice(0, main);
  assert(permissions.length > 0 && permissions.every((word) => word.startsWith("--allow-")));
  const { code, stderr } = await run([...words.slice(main + 1), ...QUICK], { permissions });
  assertEquals(code, 0, stderr);
  const outside = await run(["scan", "127.33.0.4", ...QUICK], { permissions });
  assertEquals(outside.code, 2);
  assertStringIncludes(outside.stderr, "--allow-net");
});

Deno.test("help and version go to standard output, with exit code 0", async () => {
  for (
    const args of [["--help"], ["scan", "--help"], ["help", "query"], ["scan", "--nonsense", "-h"]]
  ) {
    const { code, stdout, stderr } = await run(args, { permissions: [] });
    assertEquals([code, stderr], [0, ""]);
    assertStringIncludes(stdout, "Usage: blocksweep");
  }
  for (const args of [["--version"], ["-V"], ["servers", "--nonsense", "--version"]]) {
    const { code, stdout } = await run(args, { permissions: [] });
    assertEquals(code, 0);
    assertMatch(stdout, /^blocksweep \d+\.\d+\.\d+\n$/);
  }
  assertEquals((await run([])).code, 2);
});

Deno.test("schema and completions need no permission", async () => {
  const schema = JSON.parse((await run(["schema"], { permissions: [] })).stdout);
  assertEquals(schema.properties.schema, { const: 1, description: "version of this schema" });
  for (const shell of ["bash", "zsh", "fish"]) {
    const { code, stdout } = await run(["completions", shell], { permissions: [] });
    assertEquals(code, 0);
    for (const word of ["no-randomize", "fleet", "oJ"]) assertStringIncludes(stdout, word);
  }
});

Deno.test("a scan over real sockets writes every server once, in all its outputs", async () => {
  await inFolder((folder) =>
    withFleet(FLEET, async (check) => {
      const outputs = ["a.csv", "b.ndjson", "c.json", "d.txt"].flatMap((
        name,
      ) => ["-o", `${folder}/${name}`]);
      const files = [
        "--status-file",
        `${folder}/status.json`,
        "--metadata-file",
        `${folder}/meta.json`,
      ];
      const args = ["scan", "127.33.0.0/24", ...QUICK, ...outputs, "-o", "-", ...files];
      const { code, stdout, stderr } = await run(args);
      assertEquals(code, 0, stderr);
      const [, counted] = /\nsoftware: (.*)\n/.exec(stderr)!;
      const counts = counted.split(", ").map((one) => parseInt(one));
      assertEquals(counts.reduce((all, one) => all + one, 0), 40, counted);
      const csv = check(readCsv(await Deno.readTextFile(`${folder}/a.csv`)), "csv");
      assertEquals([csv.faults, csv.right], [[], 40]);
      const rows = readNdjson(await Deno.readTextFile(`${folder}/b.ndjson`));
      assertEquals([check(rows, "ndjson").faults, rows.length], [[], 40]);
      assertEquals(readNdjson(stdout), rows);
      assertEquals(JSON.parse(await Deno.readTextFile(`${folder}/c.json`)).length, 40);
      const list = (await Deno.readTextFile(`${folder}/d.txt`)).trim().split("\n");
      assertEquals(list.toSorted(), rows.map(serverId).toSorted());
      const status = JSON.parse(await Deno.readTextFile(`${folder}/status.json`));
      assertEquals([status.state, status.written, status.scan_id], ["done", 40, rows[0].scan_id]);
      assertEquals(JSON.parse(await Deno.readTextFile(`${folder}/meta.json`)).options.targets, [
        "127.33.0.0/24",
      ]);
      assertStringIncludes(stderr, "done in");
      assertStringIncludes(stderr, "40 rows written");
    })
  );
});

Deno.test("Ctrl-C finishes the pending rows, and the printed command finds the rest", async () => {
  await inFolder((folder) =>
    withFleet(FLEET, async (check) => {
      const output = `${folder}/rows.ndjson`;
      const child = start([
        "scan",
        "127.33.0.0/24",
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

Deno.test("a second Ctrl-C ends a scan at once, and the command that it prints finds the rest", async () => {
  await inFolder((folder) =>
    withFleet(FLEET, async (check) => {
      const output = `${folder}/rows.ndjson`;
      const files = ["-o", output, "--status-file", `${folder}/s`];
      const args = ["scan", "127.33.0.0/24", "--cooldown", "1s", "--timeout", "500ms", ...files];
      const child = start([...args, "--rate", "250"]);
      await until(
        child,
        async () => JSON.parse(await Deno.readTextFile(`${folder}/s`)).written >= 5,
      );
      const printed = new PrintedText(child);
      child.kill("SIGINT");
      await printed.until("Ctrl-C again");
      child.kill("SIGINT");
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
});

Deno.test("SIGTERM ends a scan as Ctrl-C does; without a checkpoint the command is longer", async () => {
  await inFolder(async (folder) => {
    const files = ["-oJ", `${folder}/rows.json`, "--status-file", `${folder}/s`];
    const written = ["rows.json", "rows-2.json", "s", "s.part"].map((name) => `${folder}/${name}`);
    const permissions = SCAN.map((flag) =>
      flag === "--allow-write" ? `${flag}=${written.join()}` : flag
    );
    const child = start(["scan", "127.33.0.0/24", ...QUICK, "--rate", "50", ...files], {
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

Deno.test("a closed terminal, which sends two signals, counts as one Ctrl-C", async () => {
  const module = new URL("../../../src/app/interrupt_signals.ts", import.meta.url).href;
  const script = `
    import { onInterrupt } from "${module}";
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
  await inFolder(async (folder) => {
    await Deno.writeTextFile(`${folder}/script.ts`, script);
    const args = ["run", "--quiet", "--no-config", "--no-prompt", "-A", `${folder}/script.ts`];
    const child = new Deno.Command("deno", { args, stdout: "piped" }).spawn();
    const output = child.stdout.pipeThrough(new TextDecoderStream()).getReader();
    assertEquals((await output.read()).value, "listening\n");
    child.kill("SIGHUP");
    assertEquals((await output.read()).value, "in good order\n");
    await output.cancel();
    assertEquals((await child.status).code, 0);
  });
});

Deno.test({
  name: "a closed terminal ends a command normally even if its errors go to a file",
  ignore: Deno.build.os !== "linux",
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
  name: "a scan under nohup outlives the loss of the terminal",
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

Deno.test("a source address that this machine lacks is refused before the first packet", async () => {
  const args = ["scan", "127.0.0.1", "--source-ip", "203.0.113.7"];
  const permissions = ["--allow-net", "--allow-read", "--allow-env"];
  const { code, stderr } = await run(args, { permissions });
  assertEquals(code, 2);
  assertStringIncludes(stderr, "Cannot open a socket: ");
});

Deno.test("a full disk ends a scan with exit code 1 and a message about lost rows", async () => {
  await withFleet(FLEET, async () => {
    const args = ["scan", "127.33.0.0/24", ...QUICK, "-o", "/dev/full", "--format", "ndjson"];
    // Deno grants access to devices only with --allow-all.
    const { code, stderr } = await run(args, { permissions: ["--allow-all"] });
    assertEquals(code, 1, stderr);
    assertStringIncludes(stderr, 'Cannot write to "/dev/full": No space left on device');
    assertMatch(stderr, /0 rows written to \/dev\/full, \d+ lost/);
  });
});

Deno.test("a reader that closes the pipe ends a scan quietly, with exit code 1", async () => {
  await withFleet(FLEET, async () => {
    const child = start(["scan", "127.33.0.0/24", ...QUICK, "--format", "ndjson"]);
    await child.stdout.cancel();
    const stderr = await new Response(child.stderr).text();
    assertEquals((await child.status).code, 1);
    assert(!/standard output|pipe|lost/i.test(stderr), stderr);
  });
});

Deno.test("query shows one server, as text and as JSON", async () => {
  const fleet = { ...FLEET, servers: 1, hostile: 0, software: ["pocketmine"] };
  await withFleet(fleet, async () => {
    const [{ entry }] = drawFleet(fleet);
    const target = `${entry.host}:${entry.port}`;
    const shown = await run(["query", target]);
    assertEquals([shown.code, shown.stderr], [0, ""]);
    assertStringIncludes(shown.stdout, `${target}  raknet, query`);
    assertStringIncludes(shown.stdout, "PocketMine-MP 5.20.0");
    const json = await run(["query", entry.host, "--json"]);
    const [row] = readNdjson(json.stdout);
    assertEquals([serverId(row), row.protocols, row.software], [
      target,
      ["raknet", "query"],
      "PocketMine-MP 5.20.0",
    ]);
    const verified = await run(["query", target, "--verify", "--protocol", "raknet"]);
    assertStringIncludes(verified.stdout, "yes: MTU 1492, RakNet protocol 11");
    const unresponsive = await run([
      "query",
      "127.33.1.1:9",
      "--timeout",
      "50ms",
      "--retries",
      "0",
    ]);
    assertEquals([unresponsive.code, unresponsive.stdout], [1, ""]);
    assertStringIncludes(unresponsive.stderr, "no reply from ");
  });
});

Deno.test("a dry run and a list of targets send nothing", async () => {
  await withFleet(FLEET, async () => {
    const permissions = ["--allow-read", "--allow-env"];
    const plan = await run(["scan", "0.0.0.0/0", "--dry-run"], { permissions });
    assertEquals(plan.code, 0, plan.stderr);
    assertMatch(plan.stdout, /permission +--i-have-permission/);
    assertMatch(plan.stdout, /limited by {3}--rate/);
    const knocking = await run(["scan", "127.33.0.0/30", "--dry-run", "--verify"]);
    assertMatch(knocking.stdout, /verify +open connection request 1, up to 1,464 bytes/);
    assert(!plan.stdout.includes("verify"));
    const list = await run(["scan", "127.33.0.0/30", "-sL", "--seed", "1"], {
      permissions,
    });
    assertEquals(
      list.stdout.trim().split("\n").toSorted(),
      [0, 1, 2, 3].flatMap((i) => [
        `127.33.0.${i}:19132 raknet`,
        `127.33.0.${i}:25565 query`,
        `127.33.0.${i}:25565 slp`,
      ]),
    );
  });
});

Deno.test("--config reads the output of --echo-config", async () => {
  await inFolder(async (folder) => {
    const args = ["127.33.0.0/30", "-p", "7,U:9", "--seed", "5", "--exclude", "127.33.0.2"];
    const config = await run(["scan", ...args, "--echo-config"], { permissions: [] });
    assertEquals([config.code, config.stderr], [0, ""]);
    const list = await run(["scan", ...args, "-sL"]);
    // U:9 is a port for UDP only
    assertEquals(list.stdout.trim().split("\n").length, 3 * (2 + 1 + 2));
    for (const text of [config.stdout, `\ufeff${config.stdout}`]) {
      await Deno.writeTextFile(`${folder}/scan.json`, text);
      assertEquals(await run(["scan", "--config", `${folder}/scan.json`, "-sL"]), list);
    }
  });
});

Deno.test("targets come from standard input", async () => {
  const list = await run(["scan", "-iL", "-", "-sL", "--no-randomize"], {
    stdin: "127.33.0.1:7\n# x\n",
  });
  assertEquals(list.stdout, "127.33.0.1:7 raknet\n127.33.0.1:7 slp\n127.33.0.1:7 query\n");
  const wrong = await run(["scan", "-"], { stdin: "127.33.0.1\n10.0.0.0/99\n" });
  assertEquals([wrong.code, wrong.stdout], [2, ""]);
  assertStringIncludes(wrong.stderr, "standard input:2: Cannot parse range");
});

Deno.test("the content of a target file is escaped and shortened in errors", async () => {
  const lines = [
    "10.0.0.1\u001b]0;owned\u0007\u009b2J\u0000x",
    `${"a".repeat(3_000_000)}.`,
    "\u202ea\u2028b",
  ];
  for (const stdin of lines) {
    const { code, stdout, stderr } = await run(["scan", "-iL", "-"], { stdin });
    assertEquals([code, stdout], [2, ""]);
    assertMatch(stderr, /^blocksweep: standard input:1: Cannot parse "[^\p{Cc}\u202e\u2028]+\n$/u);
    assert(stderr.length < 300, `${stderr.length} characters`);
  }
  const long = `/nonexistent/${"folder/".repeat(50)}x.txt`;
  const { stderr } = await run(["scan", "-iL", long]);
  assertMatch(
    stderr,
    /^blocksweep: Cannot read "\/nonexistent\/.{1,90}\/x\.txt": there is no such file/,
  );
});

Deno.test("a fleet writes its manifest and its log", async () => {
  await inFolder(async (folder) => {
    const files = ["--manifest", `${folder}/truth.ndjson`, "--log", `${folder}/log.ndjson`];
    const faults = ["--duplicate", "50", "--delay", "2ms", "--jitter", "2ms"];
    const fleet = ["--servers", "3", "--range", "127.59.0.0/24", ...faults];
    const child = start(["fleet", ...fleet, ...files]);
    await until(
      child,
      async () => (await Deno.readTextFile(`${folder}/truth.ndjson`)).split("\n").length === 4,
    );
    const scan = await run(["scan", "127.59.0.0/24", ...QUICK, "-q", "--format", "ndjson"]);
    assertEquals([scan.code, readNdjson(scan.stdout).length], [0, 3]);
    child.kill("SIGINT");
    assertEquals((await finish(child)).code, 130);
    const log = (await Deno.readTextFile(`${folder}/log.ndjson`)).trim().split("\n").map((line) =>
      JSON.parse(line)
    );
    assert(log.some(({ way }) => way === "in") && log.some(({ way }) => way === "out"));
  });
});

Deno.test("an interrupted demo prints no command to continue, and leaves no checkpoint", async () => {
  await inFolder(async (cwd) => {
    const permissions = ["--allow-net=127.0.0.0/8,0.0.0.0", "--allow-read", "--allow-write=demo"];
    const child = start(["demo", "--servers", "400"], { cwd, permissions });
    await until(child, async () => (await Deno.stat(`${cwd}/demo/servers.ndjson`)).size > 0);
    child.kill("SIGINT");
    const { code, stderr } = await finish(child);
    assertEquals(code, 130, stderr);
    assertMatch(stderr, /^interrupted in \S+ s: \d+ rows written/m);
    assertEquals(stderr.includes("continue with"), false, stderr);
    const names = [...Deno.readDirSync(`${cwd}/demo`)].map(({ name }) => name).toSorted();
    assertEquals(names.filter((name) => !/^servers\.|^opt-out/.test(name)), []);
    assertEquals(names.filter((name) => name.includes("checkpoint")), []);
  });
});

Deno.test("demo finds every server, with every field correct", async () => {
  await inFolder(async (folder) => {
    const permissions = [
      "--allow-net=127.0.0.0/8,0.0.0.0",
      `--allow-read=${folder}`,
      `--allow-write=${folder}`,
    ];
    const { code, stdout, stderr } = await run(["demo", "--servers", "60"], {
      permissions,
      cwd: folder,
    });
    assertEquals(code, 0, stderr);
    assertStringIncludes(stdout, "SERVER");
    for (const name of ["csv", "ndjson"]) {
      assertStringIncludes(
        stdout,
        `demo/servers.${name}: 60 of 60 servers found, 60 rows right in every field, 0 faults`,
      );
    }
  });
});

Deno.test("localhost is resolved as other names", async () => {
  const args = ["scan", "localhost", "-sL", "--protocol", "raknet"];
  const permissions = ["--allow-read", "--allow-env"];
  const list = await run(args, { permissions: ["--allow-net=localhost", ...permissions] });
  assertEquals(list.code, 0, list.stderr);
  const refused = await run(args, { permissions });
  assertEquals(refused.code, 2);
  assertStringIncludes(refused.stderr, "--allow-net");
  assertStringIncludes(list.stdout, "127.0.0.1:19132 raknet");
});

Deno.test("without a terminal, status lines are printed at intervals", async () => {
  const args = [
    "scan",
    "127.33.0.0/24",
    "--rate",
    "200",
    "--stats-every",
    "500ms",
    "--max-runtime",
    "2s",
    "-v",
    ...QUICK,
  ];
  const { code, stderr } = await run(args);
  assertEquals(code, 0, stderr);
  assertMatch(stderr, /^targets {6}256: 0 public, 0 private, 256 loopback\n/);
  assertMatch(stderr, /\npass 1 of 4: raknet, 256 targets\n/);
  assertMatch(
    stderr,
    /\d:\d\d {2}\d+\.\d% {2}ETA 0:0\d {2}pass 1\/4 {2}TCP 1\/2 {2}[\d,]+ sent {2}[1-9]\d*\/s {2}\d+ found/,
  );
  assertMatch(stderr, /ended by --max-runtime/);
  assertMatch(stderr, /continue with: .* scan 127\.33\.0\.0\/24 --seed \d+ --from \d:\d+/);
});

Deno.test("a refused scan leaves its outputs unchanged", async () => {
  await inFolder(async (folder) => {
    const output = `${folder}/keep`;
    await Deno.writeTextFile(output, "KEEP\n");
    const refused = [
      ["-oD", output, "--metadata-file", `${folder}/no/m`],
      ["-oD", output, "--status-file", `${folder}/no/s`],
      ["-oD", output, "--stats-every", "abc"],
      ["-oJ", output, "--append"],
    ];
    for (const args of refused) {
      const { code } = await run(["scan", "127.33.0.1", ...args]);
      assertEquals([code, await Deno.readTextFile(output)], [2, "KEEP\n"], args.join(" "));
    }
  });
});
