/**
 * Handles Ctrl-C: after the first, a command finishes its pending work and ends; after the second,
 * it ends at once. When a terminal closes, that counts as the first Ctrl-C. A program without a
 * terminal ignores SIGHUP.
 *
 * @module
 */
import { type Clock, systemClock } from "../net/clock.ts";
import { EXIT } from "./exit_codes.ts";

/**
 * Time after the first Ctrl-C in which the same signal is not a second Ctrl-C, milliseconds. A
 * terminal sends SIGINT to all its processes. `deno task` and npx then send it to their child once
 * more, 0.2 to 26 ms later.
 */
const SAME_PRESS_MS = 100;

/** A handler of Ctrl-C, active until it is disposed. */
export interface Interrupt extends Disposable {
  /** Aborted by the first Ctrl-C. */
  readonly signal: AbortSignal;
}

/** The error of a command that was interrupted before it had any work to finish. */
export class Interrupted extends Error {
  /** The name in stack traces, always `"Interrupted"`. */
  override readonly name = "Interrupted";
}

/**
 * Whether standard input, output or error is a terminal. If so, SIGHUP can mean that the terminal
 * was closed.
 */
function isAtTerminal(): boolean {
  return [Deno.stdin, Deno.stdout, Deno.stderr].some((one) => one.isTerminal());
}

/**
 * Keeps the program running after its terminal was closed, as `nohup` promises. Deno (2.9.6) catches
 * SIGHUP and ends, although `nohup` makes its programs ignore that signal. It does not end while a
 * listener is installed.
 *
 * @param atTerminal Whether the program has a terminal: then nothing is changed. Default:
 * whether standard input, output or error is one.
 */
export function outliveHangup(atTerminal: boolean = isAtTerminal()): void {
  if (atTerminal || Deno.build.os === "windows") return;
  Deno.addSignalListener("SIGHUP", () => {});
}

/** Counts the signals of one command as first and second Ctrl-C. */
export class InterruptCount {
  readonly #controller = new AbortController();
  #first: { readonly name: Deno.Signal; readonly at: number } | undefined;

  /**
   * Begins at zero.
   *
   * @param clock Times the signals.
   * @param onFirst Called at the first Ctrl-C.
   * @param onSecond Called at the second Ctrl-C.
   */
  constructor(
    private readonly clock: Pick<Clock, "now">,
    private readonly onFirst: () => void,
    private readonly onSecond: () => void,
  ) {}

  /** Aborted by the first Ctrl-C. */
  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** Counts a signal that asks the command to end. */
  add(name: Deno.Signal): void {
    const at = this.clock.now();
    if (this.#first !== undefined) {
      const isRepeated = name === this.#first.name && at - this.#first.at < SAME_PRESS_MS;
      // When a terminal closes, the system and the shell each send SIGHUP.
      if (!isRepeated && name !== "SIGHUP") this.onSecond();
      return;
    }
    this.#first = { name, at };
    this.#controller.abort();
    this.onFirst();
  }
}

/**
 * Starts listening for SIGINT, and for SIGTERM and SIGHUP on systems that have them. After the first
 * Ctrl-C it listens until the program ends, because its repetition may come when the command has
 * already ended.
 *
 * @param onFirst Called at the first signal.
 * @param atTerminal Whether the program has a terminal. Default: whether standard input, output or error
 * is one. `nohup` redirects all three: see {@linkcode outliveHangup}.
 * @param onSecond Called at the second signal, before the program ends. Default: nothing.
 */
export function onInterrupt(
  onFirst: () => void,
  atTerminal: boolean = isAtTerminal(),
  onSecond: () => void = () => {},
): Interrupt {
  const count = new InterruptCount(systemClock, onFirst, () => {
    onSecond();
    Deno.exit(EXIT.interrupted);
  });
  const names: Deno.Signal[] = ["SIGINT"];
  if (Deno.build.os !== "windows") names.push("SIGTERM");
  if (Deno.build.os !== "windows" && atTerminal) names.push("SIGHUP");
  const handlers = names.map((name) => [name, () => count.add(name)] as const);
  for (const [name, handler] of handlers) Deno.addSignalListener(name, handler);
  return {
    signal: count.signal,
    [Symbol.dispose]: () => {
      if (count.signal.aborted) return;
      for (const [name, handler] of handlers) Deno.removeSignalListener(name, handler);
    },
  };
}
