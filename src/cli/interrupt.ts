/**
 * Ctrl-C: the first one ends a command in good order, the second one at once.
 *
 * @module
 */

/** Listens for Ctrl-C until it is disposed of. */
export interface Interrupt extends Disposable {
  /** Set off by the first Ctrl-C. */
  readonly signal: AbortSignal;
}

/** Exit code of a program that was interrupted. */
export const INTERRUPTED = 130;

/**
 * Starts listening for SIGINT, and for SIGTERM where there is one.
 *
 * @param onFirst Called at the first signal.
 */
export function onInterrupt(onFirst: () => void): Interrupt {
  const controller = new AbortController();
  const handler = () => {
    if (controller.signal.aborted) Deno.exit(INTERRUPTED);
    controller.abort();
    onFirst();
  };
  const signals: Deno.Signal[] = Deno.build.os === "windows" ? ["SIGINT"] : ["SIGINT", "SIGTERM"];
  for (const name of signals) Deno.addSignalListener(name, handler);
  return {
    signal: controller.signal,
    [Symbol.dispose]: () => {
      for (const name of signals) Deno.removeSignalListener(name, handler);
    },
  };
}
