/**
 * The state of one watched server: its last record, whether it is online, and when to poll it next.
 *
 * @module
 */
import { type Endpoint, formatHost } from "../core/address.ts";
import { ATTACHMENTS, type RecordWithAttachments, type ServerRecord } from "../core/record.ts";
import { keepsGuid, replacedProtocols, scanOnlyColumns } from "../protocols/declared_facts.ts";
import type { Protocol } from "../protocols/protocol.ts";
import {
  COLUMNS_KEPT_AT_LOSS,
  countLacking,
  differencesOf,
  hasLastingLoss,
  identityOf,
  type LackingParts,
  lostFlags,
  mergeRecords,
  type MissedPolls,
  type ServerIdentity,
} from "../store/mod.ts";
import type { LastProbe } from "../discovery/mod.ts";
import {
  type EventBody,
  type EventSubject,
  newEvent,
  type ServerEvent,
  type WatchEvent,
} from "../store/events/watch_event.ts";

/** Poll interval and limits of a watch. */
export interface WatchRules {
  /** Time between two polls of an online server, milliseconds. */
  readonly intervalMs: number;
  /** Number of failed polls in a row after which a server is offline. */
  readonly downAfter: number;
  /** Whether servers that have been offline for long are polled less often. Default: no. */
  readonly backoff?: boolean;
  /**
   * Whether a crawl polls the servers, each only now and then. Failed polls of an online server are then
   * written only if they make it offline: until then its probe does not count. Default: no.
   */
  readonly isCrawl?: boolean;
  /** The watch's identity, UUIDv7. */
  readonly scanId: string;
  /** Creates the identity of an event, UUIDv7, from its time, Unix milliseconds. */
  readonly newEventId: (at: number) => string;
  /** Every protocol of the program, in order of rank. */
  readonly allProtocols: readonly Protocol[];
}

/** The state of a server in a database or file, before the watch. */
export interface StoredState {
  /** The record of the last reply; `undefined`: the server has never replied. */
  readonly row: ServerRecord | undefined;
  /** Whether the server counts as online. */
  readonly online: boolean;
  /** When the server was last probed, Unix milliseconds. */
  readonly probedAt: number;
  /** When the server was first found, Unix milliseconds. Default: the last reply. */
  readonly firstSeen?: number;
}

/** Maximum time until the next poll after a failed poll of an online server, milliseconds. */
export const RECHECK_MS = 5000;
/** Maximum time between two polls of an offline server, milliseconds. */
export const MAX_OFFLINE_INTERVAL_MS = 3_600_000;
/** Time between two polls of an offline server, as a share of the time since it went offline. */
const OFFLINE_SHARE = 1 / 60;
/** Random part of the time between polls, as a fraction: it spreads polls over time. */
const JITTER = 0.1;

/**
 * A record in which the columns that only scans fill are taken from an earlier record, and the GUID if
 * the protocols of the record have none. After a change of transport no check of a scan is valid.
 */
function withKeptColumns(
  row: ServerRecord,
  before: ServerRecord,
  allProtocols: readonly Protocol[],
): ServerRecord {
  const guid = row.guid ?? (keepsGuid(row.protocols, allProtocols) ? before.guid : null);
  const isReplaced = replacedProtocols(before.protocols, row.protocols, allProtocols).length > 0;
  const kept = scanOnlyColumns(isReplaced ? [] : allProtocols).map((name) => [name, before[name]]);
  return { ...row, guid, ...Object.fromEntries(kept) };
}

function identityAt(endpoint: Endpoint, requested_as: string | null): ServerIdentity {
  return identityOf({ host: formatHost(endpoint), port: endpoint.port, requested_as })!;
}

/** A watched server. Turns the results of polls into events. */
export class WatchedServer {
  /** The server's last record; `undefined`: it has never replied. */
  row: ServerRecord | undefined;
  /** Whether the server is online; `undefined`: not yet known, or opted out. */
  online: boolean | undefined;
  /**
   * Whether the server is online by the events that were reported. A database may decide otherwise than
   * the watch's own polls, and it decides later.
   */
  reportedOnline: boolean | undefined;
  /** Names of the protocols of the last poll; `undefined`: not polled yet. */
  queried: readonly string[] | undefined;
  /** Number of failed polls in a row. */
  misses = 0;
  /** When the server went offline, Unix milliseconds; `null`: it is online, or the time is unknown. */
  #offlineAt: number | null = null;
  /** When the last failed polls in a row ended, at most `downAfter` of them, Unix milliseconds. */
  readonly #missedAt: number[] = [];
  /** When the first failed poll in a row ended, Unix milliseconds; `undefined`: the last poll succeeded. */
  #unresponsiveSince: number | undefined;
  /** The last poll that counted, Unix milliseconds; `undefined`: the server was never probed. */
  #probedAt: number | undefined;
  /** Since when the server is online, Unix milliseconds; `undefined`: it never replied. */
  #onlineSince: number | undefined;
  /** The end of the last poll without a reply, Unix milliseconds. */
  #failedAt: number | undefined;
  #identity: ServerIdentity;
  #requestedAs: string | null;
  #endpoint: Endpoint;
  /** The parts of the status that the last replies lacked, and that keep their values. */
  #lacking: LackingParts = {};
  /** The last reply as the server sent it, if `row` has parts of earlier replies. */
  partial: ServerRecord | undefined;
  /** Names of the parts that `downAfter` replies in a row lacked: they lose their values. */
  dropped: readonly string[] = [];

  /**
   * Creates a watched server.
   *
   * @param endpoint The server's address and port.
   * @param name The host name that the user gave; `null` for an address.
   * @param rules Poll interval and limits.
   * @param stored The state before the watch. The first reply is compared with it. Default: unknown.
   * @param requestedAs The text of `requested_as`, which has an SRV record's service too. Default: the
   * name.
   */
  constructor(
    endpoint: Endpoint,
    readonly name: string | null,
    readonly rules: WatchRules,
    stored?: StoredState,
    requestedAs = name,
  ) {
    this.#requestedAs = requestedAs;
    this.#endpoint = endpoint;
    this.#identity = identityAt(endpoint, requestedAs);
    if (stored?.row === undefined) return;
    const { row, online, probedAt } = stored;
    this.#onlineSince = stored.firstSeen ?? row.seen_at;
    this.row = row;
    this.online = this.reportedOnline = online;
    if (!online) this.misses = rules.downAfter;
    this.#probedAt = this.#failedAt = probedAt;
    if (!online) this.#offlineAt = row.seen_at;
  }

  /** The server's address and port. */
  get endpoint(): Endpoint {
    return this.#endpoint;
  }

  /** The identity of the server in databases. */
  get identity(): ServerIdentity {
    return this.#identity;
  }

  /** The text of the column `requested_as` in the server's records. */
  get requestedAs(): string | null {
    return this.#requestedAs;
  }

  /**
   * Moves a server whose name leads to another endpoint. Its key and its state stay.
   *
   * @param requestedAs The text of `requested_as`.
   */
  moveTo(endpoint: Endpoint, requestedAs: string): void {
    this.#endpoint = endpoint;
    this.#requestedAs = requestedAs;
    this.#identity = { ...identityAt(endpoint, requestedAs), key: this.#identity.key };
  }

  /** Whether one more failed poll makes the server go offline. */
  get wouldGoOffline(): boolean {
    return this.online !== false && this.misses + 1 >= this.rules.downAfter;
  }

  /** The last poll that counted, Unix milliseconds; 0: the server was never probed. */
  get probedAt(): number {
    return this.#probedAt ?? 0;
  }

  /** The state of the server at its last poll that counted. A server that was never probed is long overdue. */
  get known(): LastProbe {
    const { online: isOnline, probedAt } = this;
    const online = isOnline === true;
    return {
      online,
      since: (online ? this.#onlineSince : this.row?.seen_at) ?? probedAt,
      probedAt,
    };
  }

  /** Sets since when a server that is online has been so, Unix milliseconds. */
  onlineSince(at: number): void {
    this.#onlineSince = at;
  }

  /** The members that all events of the server have. */
  get subject(): EventSubject {
    const { endpoint, name: requested_as, rules: { scanId }, row } = this;
    const { port } = endpoint;
    const host = formatHost(endpoint);
    return { host, port, requested_as, scan_id: scanId, name: row?.name ?? null };
  }

  /**
   * The failed polls in a row because of which the watch considers the server offline; `undefined`: the
   * watch does not consider it so.
   */
  get outage(): MissedPolls | undefined {
    const [{ misses, online }, since] = [this, this.#unresponsiveSince];
    if (online !== false || since === undefined) return undefined;
    return { misses, since, decisiveSince: this.#missedAt[0] };
  }

  /**
   * The time until the first poll, milliseconds. A server that was offline before the watch keeps its
   * interval.
   *
   * @param wall The current time, Unix milliseconds.
   * @param random Returns random numbers from 0 to 1.
   */
  firstDelayMs(wall: number, random: () => number): number {
    if (this.#probedAt === undefined || this.online) return 0;
    // a clock that was set back since the last poll delays no server by more than its interval
    return Math.max(0, this.nextDelayMs(random()) - Math.max(0, wall - this.#probedAt));
  }

  /**
   * Processes the reply of a poll. Attachments of the record are not kept.
   *
   * @param at When the poll ended, Unix milliseconds.
   * @returns Events in order.
   */
  addReply(reply: RecordWithAttachments, at: number): ServerEvent[] {
    const { row: before, rules: { allProtocols } } = this;
    const { [ATTACHMENTS]: _, ...record } = reply;
    const row = before === undefined ? record : withKeptColumns(record, before, allProtocols);
    const wasOnline = this.online;
    this.online = true;
    this.#probedAt = at;
    if (!wasOnline) this.#onlineSince = at;
    this.misses = 0;
    this.#missedAt.length = 0;
    this.#unresponsiveSince = undefined;
    this.row = before === undefined ? row : this.#completed(before, row, at);
    if (wasOnline && before !== undefined) return this.#differences(before, this.row, at);
    const offline_ms = this.#offlineAt === null ? null : Math.max(0, at - this.#offlineAt);
    this.#offlineAt = null;
    const online = this.#newEvent({ event: "online", server: this.row, offline_ms }, at);
    return before === undefined ? [online] : [online, ...this.#differences(before, this.row, at)];
  }

  /**
   * A reply, completed with the parts of earlier replies that it lacks, as long as fewer replies in a row
   * than the limit have lacked the part.
   */
  #completed(before: ServerRecord, reply: ServerRecord, at: number): ServerRecord {
    const { allProtocols, downAfter: limit } = this.rules;
    const absent = [...new Set([...before.protocols, ...this.queried ?? []])]
      .filter((name) => !reply.protocols.includes(name));
    const replaced = replacedProtocols(before.protocols, reply.protocols, allProtocols);
    const flags = lostFlags(before, reply, allProtocols);
    const parts = [...absent, ...flags];
    const counted = parts.filter((name) => !replaced.includes(name));
    const rules = { parts: counted, unqueried: [], repliedAt: at, now: at, limit };
    const lacking = this.#lacking = countLacking(this.#lacking, rules);
    const isLacking = (name: string) => Object.hasOwn(lacking, name);
    const isLasting = (name: string) =>
      allProtocols.some((one) => one.name === name)
        ? !reply.protocols.includes(name)
        : reply.flags.includes(name);
    const lost = parts.filter((name) => !isLacking(name));
    this.dropped = [...new Set([...this.dropped, ...lost])].filter(isLasting);
    const missing = before.protocols.filter((name) => absent.includes(name) && isLacking(name));
    const isLossy = flags.some(isLacking);
    this.partial = missing.length > 0 || isLossy ? reply : undefined;
    const columns = hasLastingLoss(before, reply, allProtocols) ? COLUMNS_KEPT_AT_LOSS : [];
    if (this.partial === undefined && columns.length === 0) return reply;
    return mergeRecords(before, reply, { unqueried: [], missing, isLossy, columns, allProtocols });
  }

  /**
   * Processes a poll without a reply.
   *
   * @param at When the poll ended, Unix milliseconds.
   */
  addFailure(at: number): ServerEvent[] {
    this.misses++;
    this.#missedAt.push(at);
    if (this.#missedAt.length > this.rules.downAfter) this.#missedAt.shift();
    this.#unresponsiveSince ??= at;
    this.#failedAt = at;
    const isLost = this.misses >= this.rules.downAfter;
    if (isLost || !this.online) this.#probedAt = at;
    if (!isLost || this.online === false) return [];
    this.online = false;
    this.#offlineAt = this.#unresponsiveSince;
    const replied_at = this.row?.seen_at ?? null;
    const [misses, unresponsive_since] = [this.misses, this.#unresponsiveSince];
    return [this.#newEvent({ event: "offline", misses, replied_at, unresponsive_since }, at)];
  }

  /**
   * Records that a scan has received a reply of the server: no poll is needed if it counts as online.
   *
   * @param at When the reply was received, Unix milliseconds.
   */
  seen(at: number): void {
    if (!this.online || at <= this.probedAt) return;
    this.#probedAt = at;
    this.forgetFailures();
  }

  /** Forgets failed polls that the watch's own network has caused. An offline server stays offline. */
  forgetFailures(): void {
    if (this.online === false) return;
    this.misses = 0;
    this.#missedAt.length = 0;
    this.#unresponsiveSince = undefined;
  }

  /** Processes the opt-out of the server's address. The server is no longer online. */
  optedOut(at: number): ServerEvent {
    this.online = this.reportedOnline = undefined;
    return this.#newEvent({ event: "opted_out" }, at);
  }

  /** Records that an event of the server was reported. */
  reported({ event }: Pick<WatchEvent, "event">): void {
    if (event === "online" || event === "offline") this.reportedOnline = event === "online";
  }

  /**
   * The time until the next poll, milliseconds: shorter after failures of an online server. With
   * {@linkcode WatchRules.backoff} it is longer the longer a server has been offline, and doubles with
   * each failure of a server that never replied.
   *
   * @param random A random number from 0 to 1.
   */
  nextDelayMs(random: number): number {
    const { intervalMs, downAfter, backoff = false } = this.rules;
    const offlineMs = (this.#failedAt ?? 0) - (this.#offlineAt ?? this.#failedAt ?? 0);
    const longerMs = !backoff
      ? 0
      : this.row === undefined
      ? intervalMs * 2 ** Math.min(this.misses - downAfter, 20)
      : OFFLINE_SHARE * offlineMs;
    const delayMs = this.misses === 0
      ? intervalMs
      : this.misses < downAfter
      ? Math.min(intervalMs, RECHECK_MS)
      : Math.max(intervalMs, Math.min(MAX_OFFLINE_INTERVAL_MS, longerMs));
    return delayMs * (1 + JITTER * (2 * random - 1));
  }

  #differences(before: ServerRecord, now: ServerRecord, at: number): ServerEvent[] {
    return differencesOf(before, now, this.rules.allProtocols)
      .map((body) => this.#newEvent(body, at));
  }

  #newEvent(body: EventBody, at: number): ServerEvent {
    return newEvent({ at, ...this.subject, id: this.rules.newEventId(at) }, body);
  }
}
