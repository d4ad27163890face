/**
 * The base of sinks that read the rows of a scan and write nothing.
 *
 * @module
 */
import type { ServerRecord } from "../../core/record.ts";
import type { Sink } from "../../sinks/sink.ts";

/** A sink that writes nothing. */
export abstract class RowObserver implements Sink {
  abstract read(records: readonly ServerRecord[]): void;

  write(records: readonly ServerRecord[]): Promise<void> {
    this.read(records);
    return Promise.resolve();
  }

  flush(): Promise<void> {
    return Promise.resolve();
  }

  position(): number {
    return 0;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return Promise.resolve();
  }
}
