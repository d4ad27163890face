/**
 * A priority queue of items by due time. One timer serves all items.
 *
 * @module
 */

/** Minimum poll interval, milliseconds. Servers cache a full stat for this time. */
export const MIN_INTERVAL_MS = 5000;

/**
 * A binary heap of items by due time. Items with equal times are returned in the order of their addition,
 * which the standard library's `BinaryHeap` does not promise.
 *
 * @example
 * ```ts
 * import { assertEquals } from "@std/assert";
 *
 * const schedule = new Schedule<string>();
 * schedule.add("later", 20);
 * schedule.add("sooner", 10);
 * assertEquals([schedule.next, schedule.due(15), schedule.due(15)], [10, "sooner", undefined]);
 * ```
 */
export class Schedule<T> {
  readonly #heap: { readonly at: number; readonly number: number; readonly what: T }[] = [];
  #added = 0;

  /** Number of scheduled items. */
  get size(): number {
    return this.#heap.length;
  }

  /** The earliest due time; `Infinity` when there is no item. */
  get next(): number {
    return this.#heap.length === 0 ? Infinity : this.#heap[0].at;
  }

  /** Adds an item that is due at a time, in milliseconds of any clock. */
  add(what: T, at: number): void {
    const heap = this.#heap;
    const entry = { at, number: this.#added++, what };
    let i = heap.push(entry) - 1;
    while (i > 0) {
      const above = (i - 1) >> 1;
      if (!isBefore(entry, heap[above])) break;
      heap[i] = heap[above];
      i = above;
    }
    heap[i] = entry;
  }

  /** Removes and returns the earliest item, if it is due; else `undefined`. */
  due(now: number): T | undefined {
    const heap = this.#heap;
    if (!(this.next <= now)) return undefined;
    const [{ what }] = heap;
    const last = heap.pop()!;
    if (heap.length > 0) this.#sink(last);
    return what;
  }

  #sink(entry: { readonly at: number; readonly number: number; readonly what: T }): void {
    const heap = this.#heap;
    let i = 0;
    for (;;) {
      let below = 2 * i + 1;
      if (below >= heap.length) break;
      if (below + 1 < heap.length && isBefore(heap[below + 1], heap[below])) below++;
      if (isBefore(entry, heap[below])) break;
      heap[i] = heap[below];
      i = below;
    }
    heap[i] = entry;
  }
}

/** The order of an entry: its due time, then its number. */
interface EntryOrder {
  readonly at: number;
  readonly number: number;
}

function isBefore(a: EntryOrder, b: EntryOrder): boolean {
  return a.at < b.at || a.at === b.at && a.number < b.number;
}
