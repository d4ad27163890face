/**
 * Handles Ctrl-C: after the first, a command finishes its pending work and ends; after the second,
 * it ends at once. When a terminal closes, that counts as the first Ctrl-C. A program without a
 * terminal ignores SIGHUP.
 *
 * @module
 */
import { EXIT } from "./exit_codes.ts";

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

/**
 * Starts listening for SIGINT, and for SIGTERM and SIGHUP on systems that have them.
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
  const controller = new AbortController();
  const begin = () => {
    if (controller.signal.aborted) return;
    controller.abort();
    onFirst();
  };
  const press = () => {
    if (controller.signal.aborted) {
      onSecond();
      Deno.exit(EXIT.interrupted);
    }
    begin();
  };
  const handlers: [Deno.Signal, () => void][] = [["SIGINT", press]];
  if (Deno.build.os !== "windows") {
    handlers.push(["SIGTERM", press]);
    // When a terminal closes, the system and the shell each send SIGHUP: the second is not a second Ctrl-C.
    if (atTerminal) handlers.push(["SIGHUP", begin]);
  }
  for (const [name, handler] of handlers) Deno.addSignalListener(name, handler);
  return {
    signal: controller.signal,
    [Symbol.dispose]: () => {
      for (const [name, handler] of handlers) Deno.removeSignalListener(name, handler);
    },
  };
}
