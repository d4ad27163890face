/**
 * Writes a watch's results to a database: the state of servers, and observations.
 *
 * @module
 */
import type { ServerRecord } from "../core/record.ts";
import { scanOnlyColumns } from "../protocols/declared_facts.ts";
import { PROTOCOLS } from "../protocols/list.ts";
import type { Protocol } from "../protocols/protocol.ts";
import { type NumberedRecord, writeAttached } from "./attachments.ts";
import type { Database, Value } from "./database/database.ts";
import { type OptOut, writeOptOuts } from "./opt_outs.ts";
import type { ServerIdentity } from "./rows/identity.ts";
import { type KnownServer, readKnownServers } from "./rows/known_servers.ts";
import { observationValues, writeObservations } from "./rows/observation_rows.ts";
import { scanNumbers } from "./rows/scan_numbers.ts";
import { serverValues } from "./rows/server_values.ts";
import {
  isReplaced,
  markChanged,
  type ServerWrite,
  writeFailures,
  writeServers,
} from "./rows/write_servers.ts";

/** A server after a poll. */
export interface PolledServer {
  /** Who the server is. */
  readonly identity: ServerIdentity;
  /** The newest reply since the server was last written; `undefined`: no reply. */
  readonly record: ServerRecord | undefined;
  /** Whether the server counts as online. */
  readonly online: boolean;
  /** Number of failed polls in a row. */
  readonly failures: number;
  /** When the server was polled, Unix milliseconds. */
  readonly at: number;
}

/** An observation of a poll. */
export interface PollObservation {
  /** The watch's identity, UUIDv7. */
  readonly scanId: string;
  /** Who the server is. */
  readonly identity: ServerIdentity;
  /** When the server was polled, Unix milliseconds. */
  readonly at: number;
  /** The server's reply; `undefined`: the server is offline. */
  readonly record: ServerRecord | undefined;
}

/**
 * Writes results of polls in one transaction. Writing the same results again changes nothing.
 *
 * @param servers At most one entry per server.
 * @param optOuts Addresses that opted out. Default: none.
 * @param allProtocols Every protocol of the program. Default: PROTOCOLS.
 */
export async function writePolls(
  database: Database,
  servers: readonly PolledServer[],
  observations: readonly PollObservation[],
  optOuts: readonly OptOut[] = [],
  allProtocols: readonly Protocol[] = PROTOCOLS,
): Promise<void> {
  await database.transaction(async () => {
    const all = [...servers, ...observations].map(({ identity }) => identity.key);
    const keys = [...new Set(all)];
    const known = await readKnownServers(database, keys, scanOnlyColumns(allProtocols));
    const scans = await scanNumbers(database, [
      ...servers.map(({ record }) => record?.scan_id ?? null),
      ...observations.map(({ scanId }) => scanId),
    ]);
    const ids = new Map([...known].map(([key, { id }]) => [key, id]));
    const writes = servers.flatMap((polled) => repliedWrite(database, polled, known, scans));
    const rules = { replacesSameTime: true };
    for (const { id, write } of await writeServers(database, writes, known, rules)) {
      ids.set(write.identity.key, id);
    }
    await writeFailed(database, servers, known);
    await writePollObservations(database, observations, ids, scans);
    await writeOptOuts(database, optOuts);
  });
}

/** The write of a server that replied. Columns that scans fill and polls do not keep their values. */
function repliedWrite(
  { clockOffsetMs }: Database,
  { identity, record: reply, online, failures, at }: PolledServer,
  known: ReadonlyMap<string, KnownServer>,
  scans: ReadonlyMap<string | null, number>,
): ServerWrite[] {
  if (reply === undefined) return [];
  const before = known.get(identity.key);
  const record: Record<string, unknown> = { ...reply };
  for (const [name, value] of Object.entries(before?.columns ?? {})) record[name] ??= value;
  const repliedAt = reply.seen_at + clockOffsetMs;
  return [{
    identity,
    record: record as unknown as ServerRecord,
    scan: scans.get(reply.scan_id) ?? null,
    online,
    failures,
    firstSeen: before?.firstSeen ?? repliedAt,
    probedAt: at + clockOffsetMs,
    repliedAt,
  }];
}

/** Writes the states of known servers that did not reply. */
async function writeFailed(
  database: Database,
  servers: readonly PolledServer[],
  known: ReadonlyMap<string, KnownServer>,
): Promise<void> {
  const failed = servers.flatMap(({ identity, record, online, failures, at: polledAt }) => {
    const before = known.get(identity.key);
    const at = polledAt + database.clockOffsetMs;
    const rules = { replacesSameTime: true };
    const isOlder = before !== undefined &&
      !isReplaced(before, { probedAt: at }, rules, database.now());
    if (record !== undefined || before === undefined || isOlder) return [];
    return [{ id: before.id, wasOnline: before.state!.online, online, failures, at }];
  });
  await writeFailures(database, failed);
  const changed = failed.filter(({ wasOnline, online }) => wasOnline !== online)
    .toSorted((a, b) => a.id - b.id);
  await markChanged(database, changed.map(({ at, id }) => [at, id]));
}

/** Writes observations, and the attachments of their records. */
async function writePollObservations(
  database: Database,
  observations: readonly PollObservation[],
  ids: ReadonlyMap<string, number>,
  scans: ReadonlyMap<string | null, number>,
): Promise<void> {
  const rows: Value[][] = [];
  const attached: NumberedRecord[] = [];
  for (const { scanId, identity, at: polledAt, record } of observations) {
    const [id, scan] = [ids.get(identity.key), scans.get(scanId)];
    if (id === undefined || scan === undefined) continue; // no row: the server never replied
    const key = { server: id, at: polledAt + database.clockOffsetMs, scan };
    if (record === undefined) rows.push(observationValues(key));
    else {
      const values = serverValues(record, identity);
      rows.push(observationValues(key, { values, latencyMs: record.latency_ms }));
      attached.push({ id, record });
    }
  }
  await writeObservations(database, rows);
  await writeAttached(database, attached);
}
