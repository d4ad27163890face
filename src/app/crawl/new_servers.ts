/**
 * The servers among the rows of a scan: those that a crawl polls, and those that were not known before.
 *
 * @module
 */
import { formatHost } from "../../core/address.ts";
import type { ServerRecord } from "../../core/record.ts";
import type { WatchedServer } from "../../watch/mod.ts";
import { RowObserver } from "../outputs/row_observer.ts";

/**
 * Counts new servers, each once. Further ports of one server are not counted. The reply of a known
 * server counts as that of a poll, unless the server is polled by a name, which the scan did not send.
 */
export class NewServers extends RowObserver {
  /** Number of new servers. */
  count = 0;
  /** Whether any server has replied. */
  hasReplies = false;
  readonly #known: Map<string, WatchedServer[]>;

  /** Starts with known servers. */
  constructor(known: Iterable<WatchedServer>) {
    super();
    this.#known = Map.groupBy(
      known,
      ({ endpoint }) => keyOf({ host: formatHost(endpoint), port: endpoint.port }),
    );
  }

  override read(records: readonly ServerRecord[]): void {
    this.hasReplies ||= records.length > 0;
    for (const record of records) {
      const key = keyOf(record);
      const known = this.#known.get(key);
      for (const server of known ?? []) if (server.name === null) server.seen(record.seen_at);
      if (record.alias_of !== null || known !== undefined) continue;
      this.#known.set(key, []);
      this.count++;
    }
  }
}

function keyOf({ host, port }: Pick<ServerRecord, "host" | "port">): string {
  return `${host} ${port}`;
}
