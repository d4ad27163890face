/** The command of the npm package, which install/npm/ builds. */
import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { QUICK, smallFleet, withFleet } from "../cli/fleet.ts";
import { ENVIRONMENT, PrintedText } from "../cli/program.ts";
import { HAS_SCRIPT, interrupted } from "../cli/pseudo_terminal.ts";
import { isFlawless, readCsv } from "../../src/fleet/judge/verify_rows.ts";
import { installPackage, outputIn, ROOT, runIn, VERSION } from "./installed.ts";

const FOLDER = await installPackage();
/** A folder in the user's project, because the paths of commands start there. */
const INNER = `${FOLDER}/inner`;
await Deno.mkdir(INNER);
const COMMAND = `${FOLDER}/node_modules/.bin/blocksweep`;
const NO_FILE = ["--opt-out-file", "/dev/null"];

Deno.test("the package contains the version of deno.json, what it needs, and no path of this machine", async () => {
  const files = await outputIn(FOLDER, "tar", "-tf", `blocksweep-${VERSION}.tgz`);
  const tops = new Set(files.trim().split("\n").map((path) => path.split("/")[1]));
  const documents = ["CHANGELOG.md", "LICENSE", "README.md", "THIRD_PARTY_LICENSES"];
  assertEquals([...tops].sort(), [...documents, "bin", "lib", "package.json", "types"]);
  const manifest = await Deno.readTextFile(`${FOLDER}/node_modules/blocksweep/package.json`);
  const { version, scripts, dependencies } = JSON.parse(manifest);
  assertEquals([version, scripts, dependencies.deno], [VERSION, undefined, "2.9.6"]);
  const grep = ["grep", "-rlE", `${ROOT.pathname}|\\.cache/|/root/`, "node_modules/blocksweep"];
  assertEquals((await runIn(FOLDER, grep)).stdout, "");
});

Deno.test("npx blocksweep --version starts Deno also if npm ran no install script", async () => {
  await Deno.remove(`${FOLDER}/node_modules/deno/deno`);
  const text = await outputIn(FOLDER, "npx", "blocksweep", "--version");
  assertStringIncludes(text, `blocksweep ${VERSION} (deno 2.9.6, `);
  // The engines that need a permission are named, because --engine grants it.
  assertEquals(text.includes("xdp"), Deno.build.os === "linux", text);
});

Deno.test("commands without a task, and wrong words, have the exit codes of the program", async () => {
  assertStringIncludes(await outputIn(INNER, COMMAND, "scan", "--help"), "--rate");
  assertStringIncludes(await outputIn(INNER, COMMAND, "schema"), "players_online");
  const { code, stderr } = await runIn(INNER, [COMMAND, "scan", "10.0.0.0/33"]);
  assertEquals(code, 2);
  assertStringIncludes(stderr, "the prefix must be 0 to 32");
});

Deno.test("opt-outs are added and listed, and the contact page is written", async () => {
  const file = ["--opt-out-file", "opted-out.txt"];
  const request = ["192.0.2.0/24", "--why", "mail", "--from", "Example Labs"];
  await outputIn(INNER, COMMAND, "opt-out", "add", ...request, ...file);
  assertStringIncludes(await outputIn(INNER, COMMAND, "opt-out", "list", ...file), "192.0.2.0/24");
  // The default file and the kept contact are in a folder that variables name.
  assertEquals(await outputIn(INNER, COMMAND, "opt-out", "list", "--json"), "");
  const page = ["contact-page", "--contact", "abuse@example.org", "-o", "index.html"];
  assertEquals(await outputIn(INNER, COMMAND, ...page), "");
  assertStringIncludes(await Deno.readTextFile(`${INNER}/index.html`), "abuse@example.org");
});

/** The fast options of a scan, which need Linux. */
const FAST = ["--engine", "udp", "--threads", "2", "--net-rate", "off", "--host-rate", "off"];

Deno.test({
  name: "a scan with two sender threads finds every server of a fleet",
  ignore: Deno.build.os !== "linux",
  fn: () =>
    withFleet(smallFleet(0x7f710000), async (check) => {
      const scan = [...QUICK, ...FAST, ...NO_FILE, "--rate", "3000", "--retries", "2"];
      const files = ["-o", "fast.csv", "--status-file", "status.json"];
      const words = ["npx", "blocksweep", "scan", "127.113.0.0/24", ...scan, ...files];
      const { code, stderr } = await runIn(INNER, words);
      assertEquals(code, 0, stderr);
      const status = JSON.parse(await Deno.readTextFile(`${INNER}/status.json`));
      assertEquals(status.engine, "udp");
      assert(isFlawless(check(readCsv(await Deno.readTextFile(`${INNER}/fast.csv`)), "csv")));
    }),
});

/** A slow scan, to be interrupted. */
function slowScan(file: string, ...options: string[]): string[] {
  const targets = ["127.114.0.0/24", "--protocol", "raknet", "--retries", "0", ...NO_FILE];
  return ["scan", ...targets, ...QUICK, "--rate", "100", "--plain", "-o", file, ...options];
}

Deno.test({
  name: "one Ctrl-C ends the scan of npx blocksweep in good order, and --resume continues it",
  ignore: !HAS_SCRIPT,
  fn: async () => {
    const text = await interrupted(["npx", "blocksweep", ...slowScan("slow.csv")], "ETA", INNER);
    assertMatch(text, /^interrupted in .*: 0 rows written/m);
    assertMatch(text, /^continue with: blocksweep scan --resume slow\.csv\.checkpoint/m);
    const resumed = await runIn(INNER, [COMMAND, "scan", "--resume", "slow.csv.checkpoint"]);
    assertEquals(resumed.code, 0, resumed.stderr);
  },
});

for (const signal of ["SIGINT", "SIGTERM"] as const) {
  Deno.test({
    name: `${signal} to the command ends its scan, and a scan with threads is resumed with them`,
    ignore: Deno.build.os !== "linux",
    fn: async () => {
      const child = new Deno.Command(COMMAND, {
        args: [...slowScan(`${signal}.csv`, ...FAST), "--stats-every", "100ms"],
        env: ENVIRONMENT,
        cwd: INNER,
        stdin: "null",
        stdout: "null",
        stderr: "piped",
      }).spawn();
      const printed = new PrintedText(child);
      await printed.until("ETA");
      child.kill(signal);
      await printed.rest();
      assertEquals((await child.status).code, 130, printed.text);
      const options = ["--status-file", `${signal}.json`];
      const words = [COMMAND, "scan", "--resume", `${signal}.csv.checkpoint`, ...options];
      const { code, stderr } = await runIn(INNER, words);
      assertEquals(code, 0, stderr);
      const status = JSON.parse(await Deno.readTextFile(`${INNER}/${signal}.json`));
      assertEquals(status.engine, "udp");
    },
  });
}
