/** Running the program as a user does. */

const MAIN = new URL("../../main.ts", import.meta.url).pathname;
const CONFIG = new URL("../../deno.json", import.meta.url).pathname;

/** What a run left behind. */
export interface Finished {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Permissions of the scan task. */
export const SCAN = [
  "--allow-net=127.0.0.0/8,0.0.0.0",
  "--allow-read",
  "--allow-write",
  "--allow-env=INIT_CWD,HOME,XDG_CONFIG_HOME,APPDATA,USERPROFILE",
];

/** How to run. */
export interface RunOptions {
  readonly permissions?: readonly string[];
  /** The program. Default: main.ts. */
  readonly main?: string;
  readonly stdin?: string;
  readonly cwd?: string;
  readonly env?: Readonly<Record<string, string>>;
  /** How many descriptors it may have. Default: as many as this process. */
  readonly descriptors?: number;
}

/** What the program runs in, whatever the user's environment is. */
export const ENVIRONMENT = {
  DENO_NO_UPDATE_CHECK: "1",
  NO_COLOR: "1",
  XDG_CONFIG_HOME: "/nonexistent",
};

/** The words that run the program. */
export function programWords(
  args: readonly string[],
  permissions: readonly string[] = SCAN,
  main: string = MAIN,
) {
  const options = ["--no-prompt", "--quiet", "--config", CONFIG, ...permissions];
  return ["deno", "run", ...options, main, ...args];
}

/** Starts the program. */
export function start(args: readonly string[], options: RunOptions = {}): Deno.ChildProcess {
  const { permissions, main, stdin, cwd, env, descriptors } = options;
  const words = programWords(args, permissions, main);
  const limited = ["sh", "-c", `ulimit -n ${descriptors}; exec "$@"`, "sh", ...words];
  const [program, ...rest] = descriptors === undefined ? words : limited;
  return new Deno.Command(program, {
    args: rest,
    env: { ...ENVIRONMENT, ...env },
    stdin: stdin === undefined ? "null" : "piped",
    stdout: "piped",
    stderr: "piped",
    cwd,
  }).spawn();
}

/** Runs the program to its end. */
export async function run(args: readonly string[], options: RunOptions = {}): Promise<Finished> {
  const child = start(args, options);
  if (options.stdin !== undefined) {
    const writer = child.stdin.getWriter();
    await writer.write(new TextEncoder().encode(options.stdin));
    await writer.close();
  }
  return await finish(child);
}

/**
 * Waits until something holds: a file that is written by another process has no other sign.
 *
 * @param holds A condition that is not met where this throws.
 * @throws Error with what the program printed, where the program ends before the condition is met.
 */
export async function until(
  child: Deno.ChildProcess,
  holds: () => boolean | Promise<boolean>,
): Promise<void> {
  let ended = false;
  void child.status.then(() => ended = true);
  for (;;) {
    const last = ended; // a program may write a file just before it ends
    if (await Promise.resolve().then(holds).catch(() => false)) return;
    if (last) throw new Error(`The program ended too early: ${outcomeOf(await finish(child))}`);
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
}

/** How long a test waits for words of a program, milliseconds: a busy machine needs seconds. */
const PATIENCE_MS = 60_000;

/** What a program prints, read as far as a test needs it. */
export class PrintedText {
  /** What was read. */
  text = "";
  readonly #child: Deno.ChildProcess;
  readonly #reader: ReadableStreamDefaultReader<string>;
  #isRunning = true;

  /** Reads nothing yet. */
  constructor(child: Deno.ChildProcess, stream: Deno.ChildProcess["stderr"] = child.stderr) {
    this.#child = child;
    this.#reader = stream.pipeThrough(new TextDecoderStream()).getReader();
    void child.status.then(() => this.#isRunning = false);
  }

  /**
   * Reads until the program has printed some words.
   *
   * @throws Error with what it printed, where it ends before, or takes too long and is killed.
   */
  async until(words: string, patienceMs: number = PATIENCE_MS): Promise<void> {
    if (await this.#read(() => this.text.includes(words), patienceMs)) return;
    throw new Error(`The program did not print "${words}", but: ${this.text}`);
  }

  /** Reads what is left, to the end of the program; one that takes too long is killed. */
  async rest(): Promise<string> {
    await this.#read(() => false, PATIENCE_MS);
    return this.text;
  }

  async #read(isEnough: () => boolean, patienceMs: number): Promise<boolean> {
    const timer = setTimeout(() => {
      if (this.#isRunning) this.#child.kill("SIGKILL");
      void this.#reader.cancel();
    }, patienceMs);
    try {
      while (!isEnough()) {
        const { value, done } = await this.#reader.read();
        if (done) return false;
        this.text += value;
      }
      return true;
    } finally {
      clearTimeout(timer);
    }
  }
}

function outcomeOf({ code, stdout, stderr }: Finished): string {
  return `exit code ${code}\n${stdout}${stderr}`;
}

/** Waits for the program's end. */
export async function finish(child: Deno.ChildProcess): Promise<Finished> {
  const { code, stdout, stderr } = await child.output();
  const text = (bytes: Uint8Array) => new TextDecoder().decode(bytes);
  return { code, stdout: text(stdout), stderr: text(stderr) };
}
