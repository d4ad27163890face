/** Programs in separate processes: servers of other projects, the fleet, and scans. */
import { readNdjson } from "../../src/fleet/judge/verify_rows.ts";
import type { ServerRecord } from "../../src/core/record.ts";
import type { ReplyCounts } from "../../src/sweep/reply_counts.ts";

/** The root of the project, in which commands run. */
const ROOT = new URL("../../", import.meta.url);

/** The permissions of Deno programs in these tests. Nothing that they send leaves this machine. */
const LOOPBACK = ["run", "--quiet", "--no-prompt", "--allow-net=127.0.0.0/8,0.0.0.0"];
const OURS = ["--allow-read", "--allow-write", "--allow-env", "main.ts"];
/**
 * The permissions of other projects' servers: native addons need --allow-ffi, and JSPrismarine
 * writes files.
 */
const THEIRS = ["--allow-read", "--allow-write", "--allow-env", "--allow-sys", "--allow-ffi"];

/** A command line. */
export interface Program {
  /** The path of the program. */
  readonly command: string;
  /** The arguments of the program. */
  readonly args: readonly string[];
  /** Additional environment variables. */
  readonly env?: Record<string, string>;
}

/** A command of blocksweep. */
export function blocksweep(...args: readonly string[]): Program {
  return { command: Deno.execPath(), args: [...LOOPBACK, ...OURS, ...args] };
}

/** A script of `peers/`. */
export function peerScript(name: string, ...args: readonly string[]): Program {
  return scriptIn("tests/interop", name, args);
}

/** A script of `java/peers/`, which has a configuration of its own. */
export function javaScript(name: string, ...args: readonly string[]): Program {
  return scriptIn("tests/interop/java", name, args);
}

function scriptIn(folder: string, name: string, args: readonly string[]): Program {
  const script = [`--config=${folder}/deno.json`, `${folder}/peers/${name}`];
  return { command: Deno.execPath(), args: [...LOOPBACK, ...THEIRS, ...script, ...args] };
}

/** Maximum duration of a program, milliseconds. A program that takes longer is killed. */
const DEADLINE_MS = 60_000;

function spawn({ command, args, env }: Program): Deno.ChildProcess {
  const options = { env, cwd: ROOT, stdout: "piped", stderr: "piped" } as const;
  return new Deno.Command(command, { args: [...args], ...options }).spawn();
}

/** Runs a program to its end. Returns its output. */
export async function run(program: Program): Promise<string> {
  const child = spawn(program);
  const timer = setTimeout(() => child.kill("SIGKILL"), DEADLINE_MS);
  const { success, stdout, stderr } = await child.output();
  clearTimeout(timer);
  const [text, complaint] = [stdout, stderr].map((bytes) => new TextDecoder().decode(bytes));
  if (success) return text;
  throw new Error(`${program.command} ${program.args.join(" ")} failed: ${complaint}`);
}

/** The rows of a scan, and its counts of replies. */
export interface Scan {
  readonly rows: readonly ServerRecord[];
  readonly replies: ReplyCounts;
}

/** Scans as a user does: the real program, real sockets, real files. */
export async function scan(...args: readonly string[]): Promise<Scan> {
  const folder = await Deno.makeTempDir();
  try {
    const [rows, state] = [`${folder}/rows.ndjson`, `${folder}/state.json`];
    await run(blocksweep("scan", ...args, "--quiet", "-o", rows, "--metadata-file", state));
    return {
      rows: readNdjson(await Deno.readTextFile(rows)),
      replies: JSON.parse(await Deno.readTextFile(state)).replies,
    };
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

/** A program that runs until it is stopped. */
export class Peer implements AsyncDisposable {
  /** The output up to the line that reports that the program is ready. */
  readonly greeting: string;
  readonly #child: Deno.ChildProcess;
  readonly #output: Promise<string>;
  #ended = false;
  #written?: Promise<string>;

  private constructor(child: Deno.ChildProcess, greeting: string, output: Promise<string>) {
    this.#child = child;
    this.greeting = greeting;
    this.#output = output;
    child.status.then(() => this.#ended = true);
  }

  /** Starts a program, and waits until its output shows that it is ready. */
  static async start(program: Program, ready: RegExp): Promise<Peer> {
    const child = spawn(program);
    const timer = setTimeout(() => child.kill("SIGKILL"), DEADLINE_MS);
    const greeting = Promise.withResolvers<string>();
    let written = "";
    const read = async (stream: ReadableStream<Uint8Array<ArrayBuffer>>) => {
      for await (const text of stream.pipeThrough(new TextDecoderStream())) {
        written += text;
        if (ready.test(written)) greeting.resolve(written);
      }
    };
    const output = Promise.all([read(child.stdout), read(child.stderr)]).then(() => {
      greeting.reject(new Error(`${program.command} ended before it was ready: ${written}`));
      return written;
    });
    try {
      return new Peer(child, await greeting.promise, output);
    } finally {
      clearTimeout(timer);
    }
  }

  /** Ends the program and returns its output. Fails if the program has ended by itself. */
  end(): Promise<string> {
    return this.#written ??= this.#end();
  }

  async #end(): Promise<string> {
    if (this.#ended) throw new Error("A peer had ended by itself");
    this.#child.kill("SIGTERM");
    const written = await this.#output;
    await this.#child.status;
    return written;
  }

  /** Ends the program. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.end();
  }
}
