/**
 * Covers src/cli/commands/scan/scan.ts, src/app/scan/, src/cli/commands/scan/dry_run.ts, src/cli/commands/scan/target_list.ts,
 * src/cli/commands/completions.ts, src/cli/commands/demo.ts,
 * src/cli/commands/fleet.ts, src/cli/commands/lan.ts and src/cli/commands/schema.ts.
 */
import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { demoFleet } from "../../../src/cli/commands/demo.ts";
import { formatAddress } from "../../../src/core/address.ts";
import { drawFleet } from "../../../src/fleet/simulate/draw_fleet.ts";
import { readCsv, readNdjson } from "../../../src/fleet/judge/verify_rows.ts";
import { serverId } from "../../../src/core/record.ts";
import { inFolder } from "../../app/resume/stopped_programs.ts";
import { QUICK, smallFleet, withFleet } from "../fleet.ts";
import { finish, run, start, until } from "../program.ts";

const FLEET = smallFleet(0x7f210000);
const CONFIG = JSON.parse(
  await Deno.readTextFile(new URL("../../../deno.json", import.meta.url)),
);

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
    assertEquals(stdout, versionLine("portable"));
  }
  assertEquals((await run([])).code, 2);
});

/** What `--version` prints with these engines. */
function versionLine(engines: string): string {
  const { version: { deno, v8 }, build: { os, arch } } = Deno;
  return `blocksweep ${CONFIG.version} (deno ${deno}, v8 ${v8}, ${os} ${arch}; engines: ${engines})\n`;
}

Deno.test("the version names the engines that the permissions allow", async () => {
  const isFast = Deno.build.os === "linux";
  for (
    const [permissions, engines] of [
      [["--allow-net", "--allow-ffi"], isFast ? "portable, udp, packet, xdp" : "portable"],
      [["--allow-net=127.0.0.1", "--allow-ffi"], "portable"],
      [["--allow-net"], "portable"],
    ] as const
  ) {
    const { stdout } = await run(["--version"], { permissions });
    assertEquals(stdout, versionLine(engines), permissions.join(" "));
  }
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
        `127.33.0.${i}:19132 nethernet`,
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
    assertEquals(list.stdout.trim().split("\n").length, 3 * (2 + 1 + 1 + 2));
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
  assertEquals(
    list.stdout,
    "127.33.0.1:7 raknet\n127.33.0.1:7 nethernet\n127.33.0.1:7 slp\n127.33.0.1:7 query\n",
  );
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
    assertMatch(
      stderr,
      /^blocksweep: standard input:1: Cannot (?:parse "|read this row)[^\p{Cc}\u202e\u2028]+\n$/u,
    );
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
    const fleet = ["--servers", "3", "--crowded", "--range", "127.59.0.0/24", ...faults];
    const child = start(["fleet", ...fleet, ...files]);
    await until(
      child,
      async () => (await Deno.readTextFile(`${folder}/truth.ndjson`)).split("\n").length === 4,
    );
    const scan = await run(["scan", "127.59.0.0/24", ...QUICK, "-q", "--format", "ndjson"]);
    const range = { start: 0x7f3b0000, end: 0x7f3b0100 };
    const crowded = drawFleet({ servers: 3, seed: 1, range, crowded: true });
    assertEquals(
      [scan.code, readNdjson(scan.stdout).map(({ host }) => host).toSorted()],
      [0, crowded.map(({ entry }) => entry.host).toSorted()],
    );
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
    assertMatch(stderr, /^interrupted in \S+ s: \d+ rows? written/m);
    assertEquals(stderr.includes("continue with"), false, stderr);
    const names = [...Deno.readDirSync(`${cwd}/demo`)].map(({ name }) => name).toSorted();
    assertEquals(names.filter((name) => !/^servers\.|^opt-out/.test(name)), []);
    assertEquals(names.filter((name) => name.includes("checkpoint")), []);
  });
});

Deno.test("demo and fleet name the range and what to do when an address is in use", async () => {
  await inFolder(async (folder) => {
    const { endpoint } = demoFleet(20, 4711).find(({ streams }) => streams !== undefined)!;
    const advice = "; end the program that uses it, for example another fleet or demo in";
    const one = ["--range", "127.114.9.9", "--servers", "1", "--software", "vanilla"];
    for (
      const [args, address, port, end] of [
        [
          ["demo", "--servers", "20", "--seed", "4711"],
          endpoint.address,
          endpoint.port,
          "127.16.0.0/16",
        ],
        [["fleet", ...one], 0x7f720909, 25565, "127.114.9.9, or use another --range"],
      ] as const
    ) {
      using _other = Deno.listen({ hostname: formatAddress(address), port });
      const { code, stderr } = await run(args, { cwd: folder });
      assertEquals(code, 2, stderr);
      assertStringIncludes(stderr, `Cannot open ${formatAddress(address)}:${port}: `);
      assert(stderr.endsWith(`${advice} ${end}\n`), stderr);
    }
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
    const next = stderr.slice(stderr.indexOf("\nnext: "));
    const tasks = [...next.matchAll(/deno(?:@\S+)? task (\w+)/g)].map(([, name]) => name);
    assertEquals(tasks, ["lan", "scan", "install"]);
    assert(tasks.every((name) => name in CONFIG.tasks), next);
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
    /\d:\d\d {2}\d+\.\d% {2}ETA 0:0\d {2}pass 1\/4 {2}TCP 1\/4 {2}[\d,]+ sent {2}[1-9]\d*\/s {2}\d+ found/,
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
