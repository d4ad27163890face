/**
 * Sorts the rows of a table, which is printed once all rows are found.
 *
 * @module
 */
import { compareHosts } from "../../core/address.ts";
import type { ServerRecord } from "../../core/record.ts";
import type { Sink } from "../../sinks/sink.ts";

/** Compares two rows as for `Array.sort()`. */
export type RowOrder = (a: ServerRecord, b: ServerRecord) => number;

/**
 * Functions that make the orders: `--sort` of a scan. To make one takes milliseconds, and help needs
 * only the names.
 */
export const ROW_ORDERS: Readonly<Record<"address" | "players" | "name", () => RowOrder>> = {
  address: () => byAddress,
  players: () => (a, b) => (b.players_online ?? -1) - (a.players_online ?? -1) || byAddress(a, b),
  name: () => {
    const { compare } = new Intl.Collator("en", { sensitivity: "base", numeric: true });
    return (a, b) => byName(compare, a.name, b.name) || byAddress(a, b);
  },
};

/** Compares rows by address, IPv4 first. */
function byAddress(a: ServerRecord, b: ServerRecord): number {
  return compareHosts(a.host, b.host) || a.port - b.port;
}

/** Compares rows by name, case-insensitively; servers without a name come last. */
function byName(
  compare: Intl.Collator["compare"],
  a: string | null,
  b: string | null,
): number {
  if (a === null || b === null) return a === b ? 0 : a === null ? 1 : -1;
  return compare(a, b);
}

/**
 * Maximum number of buffered rows. When it is reached, the rows are written and a new batch begins.
 */
const MAX_HELD = 100_000;

/** Buffers rows until the sink is closed, and writes them sorted. */
export class SortingSink implements Sink {
  #held: ServerRecord[] = [];

  constructor(private readonly sink: Sink, private readonly order: RowOrder) {}

  async write(records: readonly ServerRecord[]): Promise<void> {
    this.#held.push(...records);
    if (this.#held.length >= MAX_HELD) await this.#writeHeld();
  }

  async #writeHeld(): Promise<void> {
    const held = this.#held.sort(this.order);
    this.#held = [];
    await this.sink.write(held);
  }

  async check(): Promise<void> {
    await this.sink.check?.();
  }

  flush(): Promise<void> {
    return this.sink.flush();
  }

  position(): number {
    return this.sink.position();
  }

  /** Writes the buffered rows, and closes the inner sink even after an error. */
  async [Symbol.asyncDispose](): Promise<void> {
    await using _sink = this.sink;
    await this.#writeHeld();
  }
}
