/** Results of polls for tests of stores. */
import type { Protocol } from "../../src/protocols/protocol.ts";
import type { Database } from "../../src/store/database/database.ts";
import { UnconfirmedEvents } from "../../src/store/writers/poll_events.ts";
import { isWatcherEvent, type ServerEvent } from "../../src/store/events/watch_event.ts";
import { writePolls } from "../../src/store/writers/poll_writer.ts";
import { newEventId } from "../../src/store/rows/uuid.ts";
import type { PolledServer, PollObservation, Polls } from "../../src/store/writers/polls.ts";
import { watchId } from "./records.ts";
import { PROTOCOLS } from "../../src/protocols/list.ts";

/** A poll of a server, as a test describes it. */
export type Poll = Pick<PolledServer, "identity" | "at"> & Partial<PolledServer>;

/** An observation, as a test describes it; it stands for one poll if the test names no other number. */
export type Seen = Omit<PollObservation, "polls"> & Partial<Pick<PollObservation, "polls">>;

/** A server after a poll; without a record: it did not reply. */
export function polledServer({ identity, at, record, ...rest }: Poll): PolledServer {
  const { address: host, port, hostname } = identity;
  const name = record?.name ?? null;
  const subject = { host, port, requested_as: hostname, scan_id: watchId(1), name };
  return { identity, at, subject, record, outage: undefined, candidates: [], ...rest };
}

/** The failed polls of a server that is offline since a time. */
export function outageAt(at: number, misses = 3): PolledServer["outage"] {
  return { misses, since: at, decisiveSince: at };
}

/** Writes polls as a watch does. Returns the events of servers that result. */
export async function writePolled(
  database: Database,
  servers: readonly Poll[],
  observations: readonly Seen[] = [],
  {
    scanId = watchId(1),
    optOuts = [],
    watcherEvents = [],
    writableSince = Infinity,
    allProtocols = PROTOCOLS,
    unconfirmed = new UnconfirmedEvents(),
    tags,
  }:
    & Partial<Polls>
    & {
      readonly allProtocols?: readonly Protocol[];
      readonly unconfirmed?: UnconfirmedEvents;
      readonly tags?: readonly string[];
    } = {},
): Promise<readonly ServerEvent[]> {
  const all = servers.map(polledServer);
  const polls = {
    scanId,
    writableSince,
    servers: all,
    observations: observations.map((one) => ({ polls: 1, ...one })),
    optOuts,
    dropped: [],
    watcherEvents,
  };
  const rules = { newEventId, unconfirmed, allProtocols, tags };
  const { events: reported } = await writePolls(database, polls, rules);
  return reported.map(({ event }) => event).filter((event) => !isWatcherEvent(event));
}
