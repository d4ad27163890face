/** Also covers src/cli/term/omitted_lines.ts and src/cli/term/scan_continuation.ts. */
import { assert, assertEquals } from "@std/assert";
import { withoutSecrets } from "../../../src/app/options/connection_environment.ts";
import { planDatabases } from "../../../src/app/databases/database_plan.ts";
import type { GivenOptions } from "../../../src/app/options/given_options.ts";
import { scanChoice } from "../../../src/app/scan/scan_choice.ts";
import { optionsOf } from "../../../src/app/options/option_table.ts";
import { readArgs } from "../../../src/cli/options/parse_arguments.ts";
import { readCommandLine } from "../command_line.ts";
import { omittedLines } from "../../../src/cli/term/omitted_lines.ts";
import { scanCommand } from "../../../src/cli/term/printed_command.ts";
import { continueCommand, resumeCommand } from "../../../src/cli/term/scan_continuation.ts";
import { type Endpoint, parseEndpoint } from "../../../src/core/address.ts";
import { newState } from "../../../src/scan/setup/scan_state.ts";

/** The command line of each shell without its configuration. Only `sh` is always installed. */
const SHELLS = ["sh -c", "bash --norc -c", "zsh -f -c", "fish --no-config -c"];

/**
 * Words that have another meaning for shells, or for the parser of options, if they are not quoted.
 */
const ODD_WORDS = [
  ...["[::1]:9000", "=ls", "%self", "%1", "~", "a b", "it's", 'say "it"', "back\\slash", "\\\\'"],
  ...["$HOME", "`id`", "*", "{a,b}", "a;b", "#a", "!!", "a\nb", "-dash.txt", "--rate", "-", "ä=ö"],
];

/**
 * The arguments of the program in a command that a shell runs, as `blocksweep` or as `deno task`. The
 * shell finds no other programs. `undefined`: the shell is not installed.
 */
async function argumentsIn(shell: string, command: string): Promise<string[] | undefined> {
  const folder = await Deno.makeTempDir();
  try {
    for (const name of ["blocksweep", "deno"]) {
      const print = `#!/bin/sh\nprintf '%s\\0' "$@"\n`;
      await Deno.writeTextFile(`${folder}/${name}`, print, { mode: 0o755 });
    }
    const [name, ...options] = shell.split(" ");
    const script = `shell=$(command -v ${name}) || exit 99; PATH=$2 exec "$shell" ${
      options.join(" ")
    } "$1"`;
    const { code, stdout, stderr } = await new Deno.Command("sh", {
      args: ["-c", script, "sh", command, folder],
      env: { HOME: folder },
    }).output();
    if (code === 99) return undefined;
    assertEquals(code, 0, `${shell} ${command}: ${new TextDecoder().decode(stderr)}`);
    const args = new TextDecoder().decode(stdout).split("\0").slice(0, -1);
    return args[0] === "task" ? args.slice(1) : args;
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

/** The words and options of `scan` that each installed shell passes for a command. */
async function readByShells(command: string): Promise<GivenOptions> {
  const [first, ...others] = (await Promise.all(SHELLS.map((one) => argumentsIn(one, command))))
    .filter((args) => args !== undefined);
  for (const args of others) assertEquals(args, first);
  const [name, ...args] = first;
  assertEquals(name, "scan");
  return readArgs("scan", args);
}

/** The options of a scan with these arguments. */
function scanOf(args: readonly string[]) {
  const secret = readCommandLine("scan", args);
  const databases = planDatabases(secret.options).locations;
  const given = withoutSecrets(secret.given, optionsOf("scan"));
  return { options: secret.options, databases, given };
}

/** The lines on omitted endpoints after a scan with these arguments. */
function linesAfter(
  args: readonly string[],
  isResumable = false,
  endpoints: readonly string[] = ["[::1]:9000", "127.0.0.1:9001"],
): string[] {
  const { given: { given }, databases } = scanOf(args);
  const state = newState("", 0);
  for (const text of endpoints) {
    state.omittedAt.push({ endpoint: parseEndpoint(text) as Endpoint, protocol: "sqp" });
  }
  state.replies.omitted = endpoints.length;
  return omittedLines(state, { given, databases, isResumable });
}

/** The command in the given lines. */
function commandIn(lines: readonly string[]): string {
  return lines[1].replace(/^scan .* again with: /, "");
}

Deno.test("every shell and the parser of options read what a printed command means", async () => {
  for (const option of ["exclude", "exclude-file", "output", "oJ"]) {
    const given = new Map([[option, ODD_WORDS], ["append", ["true"]]]);
    const meant = { words: ["127.0.0.1", "[::1]:9000"], given };
    assertEquals(await readByShells(scanCommand(meant)), meant);
  }
});

Deno.test("the command for omitted endpoints names them in every shell", async () => {
  const { words, given } = await readByShells(commandIn(linesAfter(["127.0.0.1"])));
  assertEquals(words, ["[::1]:9000", "127.0.0.1:9001"]);
  assertEquals([...given], [["protocol", ["sqp"]]]);
  const one = await readByShells(commandIn(linesAfter(["::1"], false, ["[::1]:9", "[::1]:10"])));
  assertEquals([one.words, one.given.get("ports")], [["::1"], ["9-10"]]);
});

Deno.test("the commands that continue and resume a scan keep values that begin with a dash", async () => {
  const args = ["10.0.0.0/24", "--exclude-file=-my list", "--oD=-a.ndjson", "--seed", "5"];
  const { options, given } = scanOf(args);
  const from = { pass: 1, position: 7 };
  const command = continueCommand(given, scanChoice(options, () => NaN), {
    udp: from,
    tcp: from,
  }, []);
  const again = await readByShells(command);
  assertEquals(again.words, ["10.0.0.0/24"]);
  assertEquals(again.given.get("exclude-file"), ["-my list"]);
  assertEquals(again.given.get("oD"), ["-a.ndjson"]);
  assertEquals(again.given.get("from"), ["1:7,T:1:7"]);
  const resumed = await readByShells(resumeCommand("-rows.csv.checkpoint"));
  assertEquals(resumed.given, new Map([["resume", ["-rows.csv.checkpoint"]]]));
});

/**
 * Options of a scan that the command for omitted endpoints need not repeat. Without these options,
 * the command sends nothing more, to no other hosts and no faster, and it obeys the same opt-outs.
 */
const NOT_REPEATED: Readonly<Record<string, readonly string[]>> = {
  "the command names endpoints and protocols": [
    ...["input-file", "rescan", "ports", "protocol", "max-targets", "strict"],
  ],
  "they order or divide targets": ["seed", "no-randomize", "shard", "from"],
  "they end a scan that a command of 64 endpoints does not reach": ["max-results", "max-runtime"],
  "they send more": ["verify"],
  "they plan passes over many targets": [
    ...["adaptive", "budget", "stop-below", "known", "net-budget"],
  ],
  "sender threads obey the same limits": ["threads"],
  "they write, prune or format": [
    ...["format", "oD", "oJ", "oG", "oL", "append", "fields", "sort", "keep", "json"],
    ...[
      "checkpoint",
      "status-file",
      "metadata-file",
      "metrics",
      "text-index",
      "partition-by-month",
    ],
  ],
  "their options were read already": ["config", "resume"],
  "the URL of a webhook may contain secrets": [
    "webhook",
    "webhook-format",
    "webhook-events",
    "webhook-template",
    "webhook-header",
    "webhook-secret",
  ],
  "nothing is sent": ["dry-run", "list-targets", "echo-config", "help", "version"],
  "they concern the terminal": [
    "stats-every",
    "quiet",
    "verbose",
    "log-format",
    "plain",
    "no-color",
  ],
};

/** Values of the repeated options. */
const REPEATED: Readonly<Record<string, string>> = {
  "exclude": "127.0.0.9",
  "exclude-file": "-my list.txt",
  "allow-private": "",
  "i-have-permission": "",
  "contact": "abuse@example.org",
  "rate": "500",
  "bandwidth": "1M",
  "net-rate": "20",
  "host-rate": "2",
  "concurrency": "1",
  "timeout": "3s",
  "retries": "0",
  "cooldown": "20s",
  "no-follow": "",
  "engine": "packet",
  "interface": "eth 0",
  "gateway-mac": "02:00:5e:10:00:01",
  "source-port": "4000",
  "source-ip": "127.0.0.1",
  "output": "my servers.db",
  "down-after": "5",
  "tag": "my tag",
  "no-players": "",
  "opt-out-file": "my opt-outs.txt",
};

Deno.test("the command for omitted endpoints repeats what permits, protects, limits and routes", async () => {
  const args = Object.entries(REPEATED).map(([name, value]) => `--${name}${value && `=${value}`}`);
  const files = ["-o", "rows.csv", "-oJ", "rows.json", "--append", "--metadata-file", "m"];
  const { given } = await readByShells(commandIn(linesAfter(["127.0.0.0/8", ...args, ...files])));
  const meant = Object.entries(REPEATED).map(([name, value]) => [name, [value || "true"]]);
  assertEquals(Object.fromEntries(given), { protocol: ["sqp"], ...Object.fromEntries(meant) });
  const decided = [...Object.keys(REPEATED), ...Object.values(NOT_REPEATED).flat()];
  assertEquals(decided.toSorted(), optionsOf("scan").map(({ name }) => name).toSorted());
});

Deno.test("a printed command has no webhook", () => {
  const given = new Map([["webhook", ["https://x.test/..."]], ["webhook-format", ["slack"]]]);
  const command = scanCommand({ words: ["127.0.0.1"], given });
  assertEquals(/webhook|slack/.test(command), false, command);
});

Deno.test("the command for omitted endpoints does not change the checkpoint of an interrupted scan", () => {
  const args = ["127.0.0.1", "-o", "postgres://ann@h/d", "-o", "servers.db"];
  const [databases] = linesAfter(args, true).map((line) => line.match(/--output.*/)?.[0])
    .filter((found) => found !== undefined);
  assertEquals(
    databases,
    "--output postgres://ann@h/d --output servers.db --checkpoint servers.db.omitted.checkpoint",
  );
  assertEquals(linesAfter(["127.0.0.1", "-o", "rows.csv"], true), linesAfter(["127.0.0.1"]));
});

Deno.test("a printed command contains no password, and a note names the password that it needs", () => {
  const lines = linesAfter(["127.0.0.1", "-o", "postgres://ann:secret@h/d"]);
  assert(commandIn(lines).endsWith(" --output postgres://ann@h/d"), lines[1]);
  assertEquals(lines.slice(2), [
    "the password of postgres://ann@h/d is not stored: give it in PGPASSWORD or ~/.pgpass",
  ]);
  assertEquals(lines.join().includes("secret"), false);
});

Deno.test("a note explains that exclusions are read from standard input again", () => {
  const lines = linesAfter(["127.0.0.1", "--exclude-file", "-"]);
  assertEquals(lines.slice(2), ["it needs the same exclusions on standard input"]);
});
