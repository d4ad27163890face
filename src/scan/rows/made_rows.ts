/**
 * Makes rows and formats them for all outputs, as a thread does.
 *
 * @module
 */
import { serverId, type ServerRecord } from "../../core/record.ts";
import { type Format, type MadeRows, MAX_LATEST } from "../../sinks/sink.ts";
import type { RowMaker, RowSource } from "./row_maker.ts";

/**
 * Returns the function that makes and formats rows. It keeps no record longer than it must: most
 * records are then garbage before the collector runs, which halves its work.
 */
export function rowsMaker(
  maker: RowMaker,
  formats: readonly Format[],
): (sources: Iterable<RowSource>) => MadeRows {
  const outputs = formats.map((format) => ({ format, text: new EncodedText() }));
  return (sources) => {
    const ids: string[] = [];
    const latest: ServerRecord[] = [];
    const software = new Map<string | null, number>();
    const versions = new Map<string | null, number>();
    let aliases = 0;
    for (const source of sources) {
      const record = maker.make(source);
      for (const { format, text } of outputs) text.add(format.row(record, false));
      ids.push(serverId(record));
      count(software, record.software);
      count(versions, record.version);
      if (record.alias_of !== null) aliases++;
      latest[(ids.length - 1) % MAX_LATEST] = record;
    }
    const oldest = ids.length % MAX_LATEST;
    return {
      ids,
      texts: outputs.map(({ text }) => text.take()),
      aliases,
      software,
      versions,
      latest: [...latest.slice(oldest), ...latest.slice(0, oldest)],
    };
  };
}

function count(texts: Map<string | null, number>, text: string | null): void {
  texts.set(text, (texts.get(text) ?? 0) + 1);
}

/** Texts in UTF-8, one after the other, in memory that is used again. */
class EncodedText {
  readonly #encoder = new TextEncoder();
  #bytes = new Uint8Array(1 << 16);
  #length = 0;

  add(text: string): void {
    const most = this.#length + 3 * text.length;
    if (most > this.#bytes.length) this.#grow(2 * most);
    this.#length += this.#encoder.encodeInto(text, this.#bytes.subarray(this.#length)).written;
  }

  #grow(size: number): void {
    const before = this.#bytes;
    this.#bytes = new Uint8Array(size);
    this.#bytes.set(before.subarray(0, this.#length));
  }

  /** Returns a copy of the texts, and removes them. */
  take(): Uint8Array<ArrayBuffer> {
    const taken = this.#bytes.slice(0, this.#length);
    this.#length = 0;
    return taken;
  }
}
