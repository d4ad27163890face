/**
 * Readers of standard output that want no more rows, as `head` does.
 *
 * @module
 */
import type { ServerRecord } from "../record.ts";
import { type Sink, WriteError } from "../sinks/sink.ts";

/** Whether an error means that the reader of a pipe has closed it. */
export function isClosedPipe(error: unknown): boolean {
  return error instanceof WriteError && error.cause instanceof Deno.errors.BrokenPipe;
}

/** The sinks of a scan: where there are others, they go on when the reader of standard output is gone. */
export function whileRead(
  outputs: readonly { readonly path: string }[],
  sinks: readonly Sink[],
): readonly Sink[] {
  if (sinks.length === 1) return sinks;
  return sinks.map((sink, i) => outputs[i]?.path === "-" ? new WhileRead(sink) : sink);
}

/** An output that takes rows until its reader closes the pipe, and drops those behind that. */
class WhileRead implements Sink {
  #closed = false;

  /** Takes a sink over. */
  constructor(private readonly sink: Sink) {}

  write(records: readonly ServerRecord[]): Promise<void> {
    return this.#unlessClosed(() => this.sink.write(records));
  }

  flush(): Promise<void> {
    return this.#unlessClosed(() => this.sink.flush());
  }

  position(): number {
    return this.sink.position();
  }

  async check(): Promise<void> {
    await this.sink.check?.();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#unlessClosed(async () => await this.sink[Symbol.asyncDispose]());
  }

  async #unlessClosed(work: () => Promise<void>): Promise<void> {
    if (this.#closed) return;
    try {
      await work();
    } catch (error) {
      if (!isClosedPipe(error)) throw error;
      this.#closed = true;
    }
  }
}
