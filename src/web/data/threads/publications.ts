/**
 * What the thread of the server index reads of a database for the threads that answer.
 *
 * @module
 */
import { groupsById, type ServerGroups } from "../../../store/groups/mod.ts";
import type { ServerIndexMemory } from "../../server_index/server_index.ts";

/** The groups of a database, for other threads. */
export interface SentGroups {
  /** The identity of the database. */
  readonly identity: string;
  /** The groups as JSON, which threads share. */
  readonly json: SharedArrayBuffer;
}

/** What one thread reads of a database for those that answer. What a message lacks is unchanged. */
export interface Publication {
  /** `undefined`: the last one is no longer right. */
  readonly serverIndex?: ServerIndexMemory | undefined;
  readonly groups?: SentGroups;
}

/** The form of groups that can be sent. */
export function sentGroups(identity: string, groups: ServerGroups): SentGroups {
  const bytes = new TextEncoder().encode(JSON.stringify([...new Set(groups.values())]));
  const json = new SharedArrayBuffer(bytes.length);
  new Uint8Array(json).set(bytes);
  return { identity, json };
}

/** The groups that another thread sent. */
export function receivedGroups({ json }: SentGroups): ServerGroups {
  return groupsById(JSON.parse(new TextDecoder().decode(new Uint8Array(json).slice())));
}
