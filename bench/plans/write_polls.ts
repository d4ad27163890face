/**
 * Writes polls to a database as a watch does, until it is killed: of every tenth server the number of
 * players has changed.
 *
 *     deno run -A bench/plans/write_polls.ts PLACE SERVERS_PER_SECOND
 */
import { emptyRecord } from "../../src/core/record.ts";
import { UnconfirmedEvents } from "../../src/store/writers/poll_events.ts";
import { writePolls } from "../../src/store/writers/poll_writer.ts";
import { lastServerId, serversAfter } from "../../src/store/server_queries.ts";
import { Store } from "../../src/store/store.ts";
import { identityOf } from "../../src/store/rows/identity.ts";
import { newEventId } from "../../src/store/rows/uuid.ts";
import { openLocation } from "./open_location.ts";
import { PROTOCOLS } from "../../src/protocols/list.ts";

/** Number of polled servers: those that were added last. */
const SERVERS = 20_000;
const WATCH = "00000000-0000-7000-8000-000000000001";
const [location, rate] = Deno.args;
await using database = await openLocation(location);
await new Store(database).begin({
  id: WATCH,
  kind: "watch",
  at: Date.now(),
  config: "{}",
});
const servers = [];
for await (const one of serversAfter(database, await lastServerId(database) - SERVERS)) {
  servers.push(one);
}
const unconfirmed = new UnconfirmedEvents();
const BATCH = Math.ceil(Number(rate) / 2);
for (let from = 0;; from = (from + BATCH) % servers.length) {
  const begun = performance.now();
  const at = Date.now();
  const polled = servers.slice(from, from + BATCH).map((server, i) => {
    const { host, port, players_online: players, latency_ms, ...rest } = server;
    const record = {
      ...emptyRecord({ address: 0, port }, at),
      ...rest,
      ...{ host, port, latency_ms, seen_at: at, scan_id: WATCH },
      players_online: i % 10 === 0 ? (players ?? 0) + 1 : players,
    };
    const identity = identityOf(record)!;
    const subject = { host, port, requested_as: null, scan_id: WATCH, name: record.name };
    return { identity, at, subject, record, outage: undefined, candidates: [] };
  });
  const observations = polled.filter((_, i) => i % 10 === 0)
    .map(({ identity, record }) => ({ identity, scanId: WATCH, at, polls: 10, record }));
  await writePolls(
    database,
    {
      scanId: WATCH,
      writableSince: 0,
      servers: polled,
      observations,
      optOuts: [],
      dropped: [],
      watcherEvents: [],
    },
    { allProtocols: PROTOCOLS, newEventId, unconfirmed },
  );
  await new Promise((resolve) => setTimeout(resolve, 500 - (performance.now() - begun)));
}
