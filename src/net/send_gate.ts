/**
 * Keeps packets back. A scan that shares its targets with other processes may send only while it
 * certainly holds them, also after its process was stopped for a while.
 *
 * @module
 */

/**
 * A gate that packets pass. It may close at any time, for example when a time has passed. Senders
 * call `isOpen` immediately before each system call.
 */
export interface SendGate {
  /** Number of datagrams, connections and writes that it kept back. Senders add to it. */
  keptBack: number;
  /** Whether packets may be sent now. */
  isOpen(): boolean;
  /** Resolves when the gate is open; `false`: it is closed for good. */
  whenOpen(): Promise<boolean>;
}

/**
 * Waits until a gate is open.
 *
 * @param signal Ends the wait. Default: nothing ends it.
 * @returns `false`: the gate is closed for good, or the signal is aborted. After `true`, the caller
 * checks `isOpen` again.
 */
export async function untilOpen(gate: SendGate, signal?: AbortSignal): Promise<boolean> {
  if (signal?.aborted) return false;
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const end = () => resolve(false);
  signal?.addEventListener("abort", end, { once: true });
  try {
    return await Promise.race([gate.whenOpen(), promise]);
  } finally {
    signal?.removeEventListener("abort", end);
  }
}
