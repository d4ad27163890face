/**
 * A thread that makes and formats the rows of a scan. The main thread sends and receives meanwhile,
 * and writes the rows to the outputs.
 *
 * @module
 */
import { PROTOCOLS } from "../../protocols/list.ts";
import type { MadeRows } from "../../sinks/sink.ts";
import type { FormatSpec } from "../../sinks/text_formats.ts";
import type { AliasState } from "./aliases.ts";
import { packRows } from "./packed_rows.ts";
import type { RowSource } from "./row_maker.ts";
import type { MakingThread, RowThreadOptions } from "./thread_start.ts";

/** The parameters of the thread, in its first message. */
export interface RowWorkerOptions extends RowThreadOptions {
  readonly formats: readonly FormatSpec[];
}

/** A message of the thread: that it has started, rows, or the error that ended it. */
export type RowWorkerReply = "ready" | MadeRows | { readonly error: string };

/** A thread that makes rows from replies in PROTOCOLS. */
export class RowThread implements MakingThread {
  isReady = false;
  readonly #worker: Worker;
  readonly #pending: PromiseWithResolvers<MadeRows>[] = [];
  #failure: Error | undefined;

  /**
   * Starts the thread.
   *
   * @throws Deno.errors.NotCapable without the permission to read the program's files.
   */
  constructor(options: RowWorkerOptions) {
    const path = new URL("./row_worker.ts", import.meta.url);
    if (Deno.permissions.querySync({ name: "read", path }).state !== "granted") {
      throw new Deno.errors.NotCapable(`Requires read access to "${path.pathname}"`);
    }
    this.#worker = new Worker(path, { type: "module" });
    this.#worker.onmessage = ({ data }: MessageEvent<RowWorkerReply>) => {
      if (data === "ready") this.isReady = true;
      else if ("error" in data) this.#fail(data.error);
      else this.#pending.shift()!.resolve(data);
    };
    this.#worker.onerror = (event) => {
      event.preventDefault();
      this.#fail(event.message);
    };
    this.#worker.postMessage(options);
  }

  #fail(reason: string): void {
    const error = this.#failure ??= new Error(`Cannot make rows any longer: ${reason}`);
    for (const { reject } of this.#pending.splice(0)) reject(error);
  }

  begin(aliases: AliasState): void {
    this.#worker.postMessage(aliases);
  }

  make(sources: readonly RowSource[]): Promise<MadeRows> {
    if (this.#failure !== undefined) return Promise.reject(this.#failure);
    const rows = Promise.withResolvers<MadeRows>();
    this.#pending.push(rows);
    const packed = packRows(sources, PROTOCOLS);
    this.#worker.postMessage(packed, [packed.bytes.buffer]);
    return rows.promise;
  }

  close(): void {
    this.#worker.terminate();
  }
}
