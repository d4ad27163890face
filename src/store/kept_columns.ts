/**
 * What a row keeps of the one before it: columns of protocols that had no full chance in a scan. They
 * were not selected, or the interview was cut short before them.
 *
 * @module
 */
import { PROTOCOLS } from "../protocols/list.ts";
import type { Protocol } from "../protocols/protocol.ts";
import { FIELDS, serverId, type ServerRecord } from "../core/record.ts";
import { recordOf, type StoredRecord } from "./server_columns.ts";
import type { Database } from "./database/database.ts";

/** What a scan asks of each server that it finds. */
export interface AskedOf {
  /** Names of its protocols. */
  readonly protocols: readonly string[];
  /** Every protocol of the program, in order of rank. Default: PROTOCOLS. */
  readonly allProtocols?: readonly Protocol[];
  /** Whether each server is asked all of them, or those alone in which it was found. */
  readonly follow: boolean;
  /** Whether it is found out if servers can be used. */
  readonly verify: boolean;
  /**
   * Names of the protocols that one server that replied is sent, where these are not `protocols`: a
   * known server is sent others too, or fewer. Default: all servers are sent the same.
   */
  readonly of?: (record: ServerRecord) => readonly string[] | undefined;
}

/** Columns that only verification fills for sure. */
const VERIFIED = ["joinable", "mtu", "raknet_protocol"] as const;
/** Columns that are of one scan, and never of an earlier one. */
const OF_THE_SCAN = new Set<string>([
  ...["latency_ms", "alias_of", "requested_as", "scan_id", "extras"],
]);
/** The flag of rows whose interview was cut short. */
const CUT = "cutShort";
/** Columns that another protocol may have filled. */
const FILLED = FIELDS.filter(({ name, nullable }) => nullable && !OF_THE_SCAN.has(name))
  .map(({ name }) => name);

/**
 * Rows of a scan, with what the rows of the same servers in a database hold that the scan did not ask
 * for.
 *
 * @param records Each server once.
 */
export async function withKeptColumns(
  database: Database,
  records: readonly ServerRecord[],
  asked: AskedOf,
): Promise<ServerRecord[]> {
  const cut = records.some(isCut);
  const before = await rowsBefore(database, records.map(serverId), asked, cut);
  return records.map((record) => {
    const earlier = before.get(serverId(record));
    return earlier === undefined || earlier.last_seen > record.seen_at
      ? record
      : merged(earlier, record, asked);
  });
}

/** Whether the interview of a server was cut short: protocols may not have been reached. */
function isCut({ flags }: ServerRecord): boolean {
  return flags.includes(CUT);
}

/**
 * The rows of servers, as far as they may hold something that is kept.
 *
 * @param cut Whether an interview was cut short.
 */
async function rowsBefore(
  database: Database,
  ids: readonly string[],
  { protocols, allProtocols = PROTOCOLS, follow, verify, of }: AskedOf,
  cut: boolean,
): Promise<Map<string, StoredRecord>> {
  const alike = follow && of === undefined && !cut;
  const others = alike
    ? allProtocols.filter(({ name }) => !protocols.includes(name))
    : allProtocols;
  const conditions = [
    ...verify && !cut ? [] : VERIFIED.map((column) => `${column} is not null`),
    ...others.map(({ name }) => `protocols like '%"${name}"%'`),
  ];
  if (conditions.length === 0) return new Map();
  const list = database.engine === "sqlite"
    ? "select value from json_each(?)"
    : "select jsonb_array_elements_text(?::jsonb)";
  const sql = `select * from servers where id in (${list}) and (${conditions.join(" or ")})`;
  const rows = await database.rows(sql, [JSON.stringify(ids)]);
  return new Map(rows.map((row) => [String(row.id), recordOf(row)]));
}

/** A row with what was not asked for, as it was. */
function merged(before: ServerRecord, now: ServerRecord, asked: AskedOf): ServerRecord {
  const { allProtocols = PROTOCOLS } = asked;
  const unasked = before.protocols.filter((name) => !wasAsked(name, now, asked));
  const protocols = allProtocols.map(({ name }) => name)
    .filter((name) => now.protocols.includes(name) || unasked.includes(name));
  const columns = [
    ...unasked.length > 0 ? FILLED : [],
    ...(!asked.verify || isCut(now)) && verifiable(protocols, allProtocols) ? VERIFIED : [],
  ];
  const kept: Partial<ServerRecord> = Object.fromEntries(
    columns.map((name) => [name, now[name] ?? before[name]]),
  );
  if (unasked.length > 0 && isMoreExact(before.software, now.software)) {
    kept.software = before.software;
    kept.software_confidence = before.software_confidence;
  }
  if (unasked.length === 0) return { ...now, ...kept };
  const facts = unasked.flatMap((name) => {
    const own = before.extras?.[name];
    return own === undefined ? [] : [[name, own]];
  });
  const extras = { ...Object.fromEntries(facts), ...now.extras };
  return { ...now, ...kept, protocol: protocols[0], protocols, extras };
}

/** Whether software is the same, and known with its version: another protocol may tell the name alone. */
function isMoreExact(before: string | null, now: string | null): boolean {
  return now !== null && (before?.startsWith(`${now} `) ?? false);
}

/**
 * Whether a server was asked in a protocol: also where this is suppressed beside what it speaks, or
 * was looked for before one that it would suppress.
 */
function wasAsked(
  name: string,
  now: ServerRecord,
  { protocols, allProtocols = PROTOCOLS, follow, of }: AskedOf,
): boolean {
  const { protocols: spoken } = now;
  const one = allProtocols.find((protocol) => protocol.name === name);
  const all = follow && !isCut(now) ? of?.(now) ?? protocols : spoken;
  const speaks = allProtocols.filter((protocol) => spoken.includes(protocol.name));
  const suppressed = one?.suppressedBy !== undefined &&
    speaks.some(({ transport, suppressedBy }) => transport === "udp" && suppressedBy === undefined);
  const lookedFor = speaks.some(({ suppressedBy }) => suppressedBy === name);
  return [...all, ...spoken].includes(name) || one === undefined || suppressed || lookedFor;
}

function verifiable(protocols: readonly string[], allProtocols: readonly Protocol[]): boolean {
  return allProtocols.some(({ name, verify }) => verify !== undefined && protocols.includes(name));
}
