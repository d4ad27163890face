/** Runs the program as a user does. */

const MAIN = new URL("../../main.ts", import.meta.url).pathname;
const CONFIG = new URL("../../deno.json", import.meta.url).pathname;

/** The result of a run. */
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

/** Options of a run. */
export interface RunOptions {
  readonly permissions?: readonly string[];
  /** The program. Default: main.ts. */
  readonly main?: string;
  readonly stdin?: string;
  readonly cwd?: string;
  readonly env?: Readonly<Record<string, string>>;
  /** Limit on file descriptors. Default: that of this process. */
  readonly descriptors?: number;
}

/** An empty folder for the user's configuration, removed after the tests of a file. */
const CONFIGURATION_FOLDER = Deno.makeTempDirSync({ prefix: "blocksweep-configuration-" });
addEventListener("unload", () => Deno.removeSync(CONFIGURATION_FOLDER, { recursive: true }));

/** The cache of Deno. A program with another home folder has to name it, or downloads all packages. */
export const CACHE = Deno.env.get("DENO_DIR") ?? `${Deno.env.get("HOME")}/.cache/deno`;

/** The environment of the program, independent of that of the user. */
export const ENVIRONMENT = {
  DENO_NO_UPDATE_CHECK: "1",
  NO_COLOR: "1",
  XDG_CONFIG_HOME: CONFIGURATION_FOLDER,
};

/** The command line of the program. */
export function programWords(
  args: readonly string[],
  permissions: readonly string[] = SCAN,
  main: string = MAIN,
) {
  // As in tasks: with this flag, a dynamic import needs the permission to read the file.
  const lazy = permissions.includes("--allow-read") ? ["--unstable-lazy-dynamic-imports"] : [];
  const options = ["--no-prompt", "--quiet", "--config", CONFIG, ...lazy, ...permissions];
  return ["deno", "run", ...options, main, ...args];
}

/** The command line of a task of this project. */
export function taskWords(task: string, args: readonly string[]) {
  return ["deno", "task", "--quiet", "--config", CONFIG, task, ...args];
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
 * Polls until a condition is met. It serves, for example, to wait for a file of another process.
 *
 * @param holds The condition. If it throws, it is not met.
 * @throws Error with the output of the program, when the program ends before the condition is met.
 */
export async function until(
  child: Deno.ChildProcess,
  holds: () => boolean | Promise<boolean>,
): Promise<void> {
  let ended = false;
  void child.status.then(() => ended = true);
  for (;;) {
    const last = ended; // the program may have written the file just before it ended
    if (await Promise.resolve().then(holds).catch(() => false)) return;
    if (last) throw new Error(`The program ended too early: ${outcomeOf(await finish(child))}`);
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
}

/**
 * Maximum time that a test waits for words of a program, milliseconds. A busy machine needs
 * seconds, or a minute.
 */
export const PATIENCE_MS = 180_000;

/** The output of a program, which is read when a test needs it. */
export class PrintedText {
  /** The text that was read. */
  text = "";
  readonly #child: Deno.ChildProcess;
  readonly #reader: ReadableStreamDefaultReader<string>;
  #isRunning = true;

  /** Prepares reading. */
  constructor(child: Deno.ChildProcess, stream: Deno.ChildProcess["stderr"] = child.stderr) {
    this.#child = child;
    this.#reader = stream.pipeThrough(new TextDecoderStream()).getReader();
    void child.status.then(() => this.#isRunning = false);
  }

  /**
   * Reads until the program has printed some words.
   *
   * @throws Error with the output, when the program ends before, or takes too long and is killed.
   */
  async until(words: string, patienceMs: number = PATIENCE_MS): Promise<void> {
    if (await this.#read(() => this.text.includes(words), patienceMs)) return;
    throw new Error(`The program did not print "${words}", but: ${this.text}`);
  }

  /**
   * Reads the rest of the output until the program ends. A program that takes too long is killed.
   */
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

/** Waits until the program has ended. */
export async function finish(child: Deno.ChildProcess): Promise<Finished> {
  const { code, stdout, stderr } = await child.output();
  const text = (bytes: Uint8Array) => new TextDecoder().decode(bytes);
  return { code, stdout: text(stdout), stderr: text(stderr) };
}
