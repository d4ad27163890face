/**
 * Readers of standard output and of named pipes that want no more rows, as `head` does.
 *
 * @module
 */
import type { ServerRecord } from "../../core/record.ts";
import { type Sink, WriteError } from "../../sinks/sink.ts";

/** Whether an error means that the reader of a pipe has closed it. */
export function isClosedPipe(error: unknown): boolean {
  return error instanceof WriteError && error.cause instanceof Deno.errors.BrokenPipe;
}

/** Outputs, each without its reader as soon as that closes the pipe. */
export interface ReadOutputs {
  /** The outputs, in the order in which they were given. */
  readonly sinks: readonly Sink[];
  /** Which of them lost their reader, by index: their later rows are dropped. */
  readonly unread: ReadonlySet<number>;
}

/**
 * Lets a command go on when the reader of an output closes the pipe, while another output is left. The
 * last output fails as it would alone: its reader has what it wants, so the command ends quietly.
 *
 * @param report Called with the line that names an output without a reader.
 */
export function whileRead(
  sinks: readonly Sink[],
  outputs: readonly { readonly path: string }[],
  report: (line: string) => void,
): ReadOutputs {
  const unread = new Set<number>();
  const lose = (index: number) => {
    if (unread.size + 1 === sinks.length) return false;
    unread.add(index);
    report(closedLine(outputs[index].path));
    return true;
  };
  return { sinks: sinks.map((sink, i) => new WhileRead(sink, () => lose(i))), unread };
}

function closedLine(path: string): string {
  const name = path === "-" ? "standard output" : `"${path}"`;
  return `blocksweep: the reader of ${name} closed it; rows go to the other outputs`;
}

/** An output that takes rows until its reader closes the pipe, and drops those behind that. */
class WhileRead implements Sink {
  #closed = false;

  /**
   * Takes a sink over.
   *
   * @param lose Called when the reader has closed the pipe; false where this output is the last.
   */
  constructor(private readonly sink: Sink, private readonly lose: () => boolean) {}

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

  /** A closed output is closed too: its file is still open. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.#unlessLost(async () => await this.sink[Symbol.asyncDispose]());
  }

  async #unlessClosed(work: () => Promise<void>): Promise<void> {
    if (!this.#closed) await this.#unlessLost(work);
  }

  async #unlessLost(work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      if (!isClosedPipe(error) || !this.#closed && !this.lose()) throw error;
      this.#closed = true;
    }
  }
}
