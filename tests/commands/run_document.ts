// deno-lint-ignore-file no-console
/**
 * Runs the commands of one document in a copy of the repository, on a pseudo-terminal. See run.sh.
 */
import { drawFleet, type FleetHost } from "../../src/fleet/simulate/draw_fleet.ts";
import { openFleet } from "../../src/fleet/simulate/open_fleet.ts";
import { parseAddress } from "../../src/core/address.ts";
import { systemClock } from "../../src/net/clock.ts";
import { mmdbBytes } from "../app/geoip/mmdb_writer.ts";
import { hurried, type Rule, ruleOf } from "./command_rules.ts";
import { missingLines } from "./output_shapes.ts";

const [document] = Deno.args;
const SOURCE = new URL("../../", import.meta.url).pathname;
/** Commands that write the files that the examples read, such as the checkpoint of an unfinished scan. */
const PREPARE = [
  "deno task scan 192.168.1.20/30 10.0.3.7 -q -o servers.db -o servers.ndjson -o rows.ndjson " +
  "-o rows.csv --cooldown 500ms",
  `head -n 1 rows.ndjson | sed 's/"flags":\\[/"flags":["cutShort",/;s/,\\]/]/' >> servers.ndjson`,
  "deno task scan 192.168.1.0/24 -q -o servers.csv --max-runtime 1s",
  "deno task install",
];
/** Maximum time of a command, milliseconds. */
const PATIENCE_MS = 180_000;
const BLOCK = /^ *```(\w*)\n([\s\S]*?)^ *```/gm;

/** Commands of a document, and the output that it shows after them. */
interface Example {
  readonly commands: readonly string[];
  readonly shown: string;
}

/** The commands of a shell block: lines that end with a backslash or a pipe are continued. */
function commandsOf(block: string): string[] {
  return block.replace(/\\\n\s*/g, "").replace(/\|\n\s*/g, "| ").split("\n")
    .map((line) => line.replace(/(^|\s)#\s.*/, "").trim()).filter((line) => line !== "");
}

/** The examples of a document, in order. */
function examplesOf(text: string): Example[] {
  const examples: Example[] = [];
  let last: { end: number; commands: string[] } | undefined;
  for (const { 0: all, 1: language, 2: block, index } of text.matchAll(BLOCK)) {
    if (language === "sh") {
      last = { end: index + all.length, commands: commandsOf(block) };
      examples.push({ commands: last.commands, shown: "" });
    } else if (language === "text" && block.startsWith("$ ")) {
      const [first, ...lines] = block.split("\n");
      examples.push({ commands: [first.slice(2)], shown: lines.join("\n") });
    } else if (language === "text" && last && !/^#/m.test(text.slice(last.end, index))) {
      examples.splice(-1, 1, { commands: last.commands, shown: block });
      last = undefined;
    }
  }
  return examples;
}

/** Starts simulated servers on the addresses that the documents name. */
async function openServers(): Promise<AsyncDisposable> {
  const draw = (first: string, addresses: number, servers: number, software?: string[]) => {
    const start = parseAddress(first) as number;
    return drawFleet({ servers, range: { start, end: start + addresses }, seed: 5, software });
  };
  const hosts: FleetHost[] = [
    ...draw("192.168.1.20", 1, 1, ["pocketmine"]),
    ...draw("192.168.1.21", 1, 1, ["bds"]),
    ...draw("192.168.1.22", 1, 1, ["paper"]),
    ...draw("10.0.3.7", 1, 1, ["bds"]),
    ...draw("5.9.9.20", 1, 1, ["pocketmine"]),
    ...draw("5.9.9.22", 1, 1, ["paper"]),
    ...draw("10.0.0.0", 512, 30),
  ];
  const lab = [{ address: parseAddress("192.168.1.5") as number, netmask: 0xffffff00 }];
  return await openFleet(hosts, { clock: systemClock, seed: 1, lab });
}

/** Starts a name server for the names of the examples. */
async function openNames(folder: string): Promise<Deno.ChildProcess> {
  const names = ["play.example.org 5.9.9.20", "mc.example.org 5.9.9.22"];
  await Deno.writeTextFile(`${folder}/names`, names.map((line) => `${line}\n`).join(""));
  const program = `${SOURCE}tests/namespaces/name_server.ts`;
  const args = ["run", "--no-check", "--quiet", "-A", program, `${folder}/names`, "127.0.0.53"];
  return new Deno.Command("deno", { args }).spawn();
}

/** Copies the repository, without what Git ignores. */
async function copyRepository(folder: string): Promise<void> {
  const copy =
    `git -C "$0" ls-files -coz --exclude-standard | tar -C "$0" --null -T - -c | tar -C "$1" -x`;
  const { success } = await new Deno.Command("sh", { args: ["-c", copy, SOURCE, folder] }).spawn()
    .status;
  if (!success) throw new Error("The repository could not be copied");
}

/** Writes the files that the examples read. */
async function writeFiles(folder: string): Promise<void> {
  const form = {
    bits: 28,
    version: 6,
    metadata: { database_type: "Own", description: { en: "Own file" } },
  } as const;
  const places = mmdbBytes([{
    address: parseAddress("10.0.0.0") as number,
    prefix: 8,
    record: { country_code: "XK", asn: "AS64500", as_name: "Example" },
  }], form);
  for (const name of ["country.mmdb", "asn.mmdb"]) {
    await Deno.writeFile(`${folder}/${name}`, places);
  }
  const files = {
    "networks.txt": "192.168.1.0/24\n10.0.0.0/25\n",
    "no.txt": "10.0.0.64/26\n",
    "discord-url.txt": "https://127.0.0.1:9/discord\n",
    "url.txt": "https://127.0.0.1:9/events\n",
    "home-assistant-url.txt": "https://127.0.0.1:9/home\n",
    "apprise-url.txt": "https://127.0.0.1:9/apprise\n",
    "ntfy-token.txt": "Bearer 1\n",
    "template.json": '{ "event": "{event}", "message": "{message}" }\n',
    "email.json": '{ "title": "{name}: {event}", "body": "{message}" }\n',
    "list.csv": "title,hostname,port,id\nLobby,192.168.1.20,25565,42\n",
    "masscan.json": '[\n{"ip": "10.0.3.7", "timestamp": "1700000000", "ports": [{"port": 19132, ' +
      '"proto": "udp", "status": "open", "reason": "none", "ttl": 64}]}\n]\n',
  };
  for (const [name, text] of Object.entries(files)) {
    await Deno.writeTextFile(`${folder}/${name}`, text);
  }
}

/** A command that runs. */
class Running {
  printed = "";
  readonly #child: Deno.ChildProcess;
  readonly #reading: Promise<void>;
  #changed = Promise.withResolvers<void>();
  #isKilled = false;

  constructor(command: string, folder: string, home: string) {
    // `script` opens a pseudo-terminal. What is written to its standard input is typed there. If it is
    // killed, the system hangs up the terminal, and its programs end.
    const args = ["-c", 'exec script -qefc "$0" /dev/null', `stty cols 80 rows 24; ${command}`];
    this.#child = new Deno.Command("sh", {
      args,
      cwd: folder,
      env: { HOME: home, TERM: "xterm", SHELL: "/bin/bash", ...this.#paths(home) },
      stdin: "piped",
      stdout: "piped",
      stderr: "inherit",
    }).spawn();
    this.#reading = this.#read();
  }

  #paths(home: string) {
    return { PATH: `${home}/bin:${Deno.env.get("PATH")}`, DENO_INSTALL_ROOT: home };
  }

  async #read(): Promise<void> {
    for await (const text of this.#child.stdout.pipeThrough(new TextDecoderStream())) {
      // deno-lint-ignore no-control-regex
      this.printed += text.replace(/\x1b\[[\d;?]*[A-Za-z]/g, "").replaceAll("\r", "\n");
      this.#changed.resolve();
      this.#changed = Promise.withResolvers();
    }
  }

  /** Waits until the command has printed something; returns whether it has. */
  async until(expected: RegExp): Promise<boolean> {
    const timer = setTimeout(() => this.#kill(), PATIENCE_MS);
    try {
      while (!expected.test(this.printed)) {
        const ended = await Promise.race([this.#changed.promise, this.#reading.then(() => true)]);
        if (ended === true) break;
      }
      return expected.test(this.printed) && !this.#isKilled;
    } finally {
      clearTimeout(timer);
    }
  }

  /** Presses Ctrl-C. */
  async interrupt(): Promise<void> {
    const keyboard = this.#child.stdin.getWriter();
    await keyboard.write(new TextEncoder().encode("\x03")).catch(() => {}); // it has ended
    keyboard.releaseLock();
  }

  /** Waits for the end, and returns the exit code. */
  async end(): Promise<number> {
    const timer = setTimeout(() => this.#kill(), PATIENCE_MS);
    const { code } = await this.#child.status;
    clearTimeout(timer);
    await this.#child.stdin.close().catch(() => {}); // the pipe has no reader any more
    await this.#reading;
    return this.#isKilled ? -1 : code;
  }

  #kill(): void {
    this.#isKilled = true;
    this.#child.kill("SIGKILL");
  }
}

const temporary = await Deno.makeTempDir({ prefix: "blocksweep-document-" });
const [folder, home] = [`${temporary}/blocksweep`, `${temporary}/home`];
const beside: { readonly command: string; readonly running: Running }[] = [];
/** The commands that ran. One without an output in the document runs once. */
const done = new Set<string>();
let [ran, faults] = [0, 0];

/** The last lines of an output. */
function ending(printed: string): string {
  return printed.split("\n").filter((line) => line.trim() !== "").slice(-20).join("\n");
}

function fail(command: string, message: string, printed: string): void {
  faults++;
  console.log(`FAILED: ${document}: ${command}\n  ${message}; it printed:\n${ending(printed)}`);
}

/** Runs a command as its rule says; returns what it printed. */
async function execute(command: string, rule: Exclude<Rule, { skip: string }>): Promise<string> {
  const running = new Running(hurried(command), folder, home);
  if ("beside" in rule) {
    const begins = await running.until(rule.beside);
    if (!begins) fail(command, `it did not print ${rule.beside}`, running.printed);
    else beside.push({ command, running });
    return running.printed;
  }
  if ("until" in rule) {
    if (!await running.until(rule.until)) {
      fail(command, `it did not print ${rule.until}`, running.printed);
    }
    await running.interrupt();
  }
  const [code, codes] = [await running.end(), rule.codes ?? [0, 130]];
  if (!codes.includes(code)) fail(command, `exit code ${code}`, running.printed);
  return running.printed;
}

/** Ends commands that run beside others, the last one first. */
async function endBeside(ends = (_: string) => true): Promise<void> {
  for (const one of beside.filter(({ command }) => ends(command)).reverse()) {
    await one.running.interrupt();
    await one.running.end();
    beside.splice(beside.indexOf(one), 1);
  }
}

/** Starts a command that another one needs, unless it, or one of the same program, runs. */
async function startBeside(needed: string): Promise<void> {
  const isServer = isServe(needed);
  const isLike = (one: string) => isServer ? one === needed : one.startsWith(needed);
  if (beside.some(({ command }) => isLike(command))) return;
  if (isServer) await endBeside(isServe);
  await execute(needed, ruleOf(needed) as { beside: RegExp } | { codes: number[] });
}

/** Whether a command listens on the port of the dashboard. */
function isServe(command: string): boolean {
  return /\bserve\b/.test(command);
}

async function runExample({ commands, shown }: Example): Promise<void> {
  let printed = "";
  for (const command of commands) {
    const rule = ruleOf(command);
    if (shown === "" && done.has(command)) continue;
    done.add(command);
    if ("skip" in rule) {
      console.log(`skipped (${rule.skip}): ${command}`);
      continue;
    }
    for (const needed of "after" in rule ? rule.after ?? [] : []) await startBeside(needed);
    if (isServe(command)) await endBeside(isServe);
    const start = performance.now();
    printed += await execute(command, rule);
    ran++;
    console.log(`${((performance.now() - start) / 1000).toFixed(1)} s  ${command}`);
  }
  const missing = missingLines(shown, printed);
  if (commands.length > 0 && printed !== "" && missing.length > 0) {
    fail(commands.at(-1)!, `nothing printed is like "${missing.join('", "')}"`, printed);
  }
}

await using _servers = await openServers();
const names = await openNames(temporary);
try {
  for (const one of [folder, home]) await Deno.mkdir(one);
  await copyRepository(folder);
  await writeFiles(folder);
  console.log(`\n== ${document}`);
  for (const command of PREPARE) await execute(command, { codes: [0] });
  for (const example of examplesOf(await Deno.readTextFile(SOURCE + document))) {
    await runExample(example);
  }
} finally {
  await endBeside();
  names.kill();
  await names.status;
  await Deno.remove(temporary, { recursive: true });
}
console.log(`${faults === 0 ? "ok" : "FAILED"} | ${ran} passed | ${faults} failed`);
Deno.exit(faults === 0 ? 0 : 1);
