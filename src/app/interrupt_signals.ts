/**
 * Ctrl-C: the first one ends a command in good order, the second one at once. The loss of the
 * terminal counts as the first one; a program without a terminal ignores SIGHUP.
 *
 * @module
 */
import { EXIT } from "./exit_codes.ts";

/** Listens for Ctrl-C until it is disposed of. */
export interface Interrupt extends Disposable {
  /** Set off by the first Ctrl-C. */
  readonly signal: AbortSignal;
}

/** A command was interrupted before there was anything to finish. */
export class Interrupted extends Error {
  /** The name in stack traces, always `"Interrupted"`. */
  override readonly name = "Interrupted";
}

/** Whether standard input, output or error is a terminal: then the terminal can go away. */
function isAtTerminal(): boolean {
  return [Deno.stdin, Deno.stdout, Deno.stderr].some((one) => one.isTerminal());
}

/**
 * Keeps the program running when the terminal that it was started from goes away, as `nohup` promises.
 * Deno (2.9.6) catches SIGHUP and ends, though `nohup` has its programs ignore that signal; it does
 * not end while a listener is there.
 *
 * @param atTerminal Whether a terminal is left that can go away: then nothing is changed. Default:
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
 * @param atTerminal Whether a terminal can go away. Default: whether standard input, output or error
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
