/**
 * The servers among the rows of a scan that were not known before.
 *
 * @module
 */
import { type Endpoint, formatAddress } from "../../core/address.ts";
import type { ServerRecord } from "../../core/record.ts";
import { RowObserver } from "../outputs/row_observer.ts";

/** Counts new servers, each once. Further ports of one server are not counted. */
export class NewServers extends RowObserver {
  /** Number of new servers. */
  count = 0;
  /** Whether any server has replied. */
  hasReplies = false;
  readonly #known: Set<string>;

  /** Starts with known servers. */
  constructor(known: Iterable<Endpoint>) {
    super();
    this.#known = new Set(
      Iterator.from(known).map(({ address, port }) =>
        keyOf({ host: formatAddress(address), port })
      ),
    );
  }

  override read(records: readonly ServerRecord[]): void {
    this.hasReplies ||= records.length > 0;
    for (const record of records) {
      const key = keyOf(record);
      if (record.alias_of !== null || this.#known.has(key)) continue;
      this.#known.add(key);
      this.count++;
    }
  }
}

function keyOf({ host, port }: Pick<ServerRecord, "host" | "port">): string {
  return `${host} ${port}`;
}
