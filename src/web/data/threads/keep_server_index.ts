/**
 * Keeps the server index and the groups of a database up to date, and makes new ones when the database was
 * replaced.
 *
 * @module
 */
import { type Clock, sleep } from "../../../net/clock.ts";
import type { Database } from "../../../store/database/database.ts";
import { DatabaseIndex } from "../../server_index/update_from_database.ts";
import { type PairVerdicts, readGroups } from "../../../store/groups/mod.ts";
import { DataError } from "../../queries/dashboard_data.ts";
import type { DatabaseAccess } from "../database_access.ts";
import type { GeoipLookup } from "../../../app/geoip/mod.ts";
import { type Publication, sentGroups } from "./publications.ts";

/** Pause between two reads of changes, milliseconds. */
export const CHANGES_MS = 1000;
/** Pause between two reads of the states of all servers. */
export const STATES_MS = 60_000;
/**
 * Pause between two reads of all servers: another program may change a server without its
 * `changed_at`.
 */
export const ALL_MS = 3_600_000;
/** Pause between two reads of the groups. */
export const GROUPS_MS = 10_000;
/** For how long numbers of players are read at once to find groups, milliseconds. */
const BUDGET_MS = 1000;
/** A pause is this multiple of the time that the last read took, if that is longer. */
const REST = 20;

/** What keeping a server index needs. */
export interface ServerIndexKeeping {
  readonly access: DatabaseAccess;
  readonly geoipOf: GeoipLookup;
  readonly clock: Clock;
  /** Receives each new server index, that the last one is no longer right, and groups that changed. */
  readonly publish: (publication: Publication) => void;
  /** Ends the keeping. Default: never. */
  readonly signal?: AbortSignal;
}

/**
 * Makes and keeps the server index of a database until the signal. While it cannot be read, tries
 * again.
 */
export async function keepServerIndex(keeping: ServerIndexKeeping): Promise<void> {
  const { access, geoipOf, clock, publish, signal } = keeping;
  while (!signal?.aborted) {
    const serverIndex = await whenReadable(() =>
      access.readLong((database, identity) => DatabaseIndex.of(database, geoipOf, identity))
    );
    if (serverIndex === undefined) {
      await sleep(clock, CHANGES_MS, signal);
      continue;
    }
    publish({ serverIndex: serverIndex.memory });
    await followChanges(serverIndex, keeping);
    publish({ serverIndex: undefined });
  }
}

/** The result of `read`; `undefined`: the database cannot be read now. */
async function whenReadable<T>(read: () => Promise<T>): Promise<T | undefined> {
  try {
    return await read();
  } catch (error) {
    if (!(error instanceof DataError)) throw error;
    return undefined;
  }
}

/** Updates a server index, until it has no room or the database is another one. */
async function followChanges(
  serverIndex: DatabaseIndex,
  { access, clock, publish, signal }: ServerIndexKeeping,
): Promise<void> {
  const reads = [
    { pauseMs: CHANGES_MS, read: (database: Database) => serverIndex.readChanges(database) },
    { pauseMs: STATES_MS, read: (database: Database) => serverIndex.readStates(database) },
    { pauseMs: ALL_MS, read: (database: Database) => serverIndex.readAll(database) },
  ].map((one) => ({ ...one, next: clock.now() + one.pauseMs }));
  const groups = groupReader(serverIndex.memory.identity, publish);
  reads.push({ pauseMs: GROUPS_MS, read: groups, next: clock.now() });
  while (!serverIndex.isFull) {
    const next = Math.min(...reads.map(({ next }) => next));
    await sleep(clock, Math.max(0, next - clock.now()), signal);
    if (signal?.aborted) return;
    const isOther = await whenReadable(() =>
      access.readLong(async (database, identity) => {
        if (identity !== serverIndex.memory.identity) return true;
        for (const one of reads) {
          const begun = clock.now();
          if (one.next > begun) continue;
          one.next = begun + one.pauseMs; // the next attempt, if this one fails
          await one.read(database);
          one.next = clock.now() + Math.max(one.pauseMs, REST * (clock.now() - begun));
        }
        return false;
      })
    );
    if (isOther) return;
  }
}

/** Reads the groups of a database, and publishes them if they have changed. */
function groupReader(
  identity: string,
  publish: (publication: Publication) => void,
): (database: Database) => Promise<void> {
  const verdicts: PairVerdicts = new Map();
  let last: Uint8Array = new Uint8Array();
  return async (database) => {
    const groups = await database.snapshot(() => readGroups(database, verdicts, BUDGET_MS));
    const sent = sentGroups(identity, groups);
    const bytes = new Uint8Array(sent.json);
    if (bytes.length === last.length && bytes.every((byte, i) => byte === last[i])) return;
    last = bytes;
    publish({ groups: sent });
  };
}
