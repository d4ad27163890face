/**
 * Handles readers of standard output and of named pipes that close the pipe early, as `head` does.
 *
 * @module
 */
import type { ServerRecord } from "../../core/record.ts";
import { type MadeRows, type Sink, WriteError } from "../../sinks/sink.ts";

/** Whether an error means that the reader of a pipe has closed it. */
export function isClosedPipe(error: unknown): boolean {
  return error instanceof WriteError && error.cause instanceof Deno.errors.BrokenPipe;
}

/** Outputs that drop rows after their reader has closed the pipe. */
export interface ReadOutputs {
  /** The outputs, in the order in which they were given. */
  readonly sinks: readonly Sink[];
  /** Indexes of the outputs whose reader closed the pipe: their later rows are dropped. */
  readonly unread: ReadonlySet<number>;
}

/**
 * Lets a command continue when the reader of an output closes the pipe, while another output is left.
 * The last output throws the error of a closed pipe, and the command ends without a message.
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

/** An output that writes rows until its reader closes the pipe, and drops later ones. */
class WhileRead implements Sink {
  #closed = false;

  /**
   * Wraps a sink.
   *
   * @param lose Called when the reader has closed the pipe; false if this output is the last.
   */
  constructor(private readonly sink: Sink, private readonly lose: () => boolean) {}

  write(records: readonly ServerRecord[]): Promise<void> {
    return this.#unlessClosed(() => this.sink.write(records));
  }

  writeMade(rows: MadeRows, index: number): Promise<void> {
    return this.#unlessClosed(() => this.sink.writeMade!(rows, index));
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

  /**
   * Disposes of an output even after its reader closed the pipe, because its file is still open.
   */
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
