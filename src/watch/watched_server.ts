/**
 * One watched server: what it said last, whether it is up, and when it is asked again.
 *
 * @module
 */
import { type Endpoint, formatAddress } from "../core/address.ts";
import type { RecordWithAttachments, ServerRecord } from "../core/record.ts";
import { changesOf, newIn, type WatchEvent } from "./events.ts";

/** How servers are watched. */
export interface WatchRules {
  /** From one poll to the next, milliseconds. */
  readonly intervalMs: number;
  /** So many polls without an answer, one after the other, mean that a server is down. */
  readonly downAfter: number;
  /** The name of the watch. */
  readonly scanId: string;
}

/** What a list knows of a server before it is watched. */
export interface KnownState {
  /** What it said last; `undefined`: it has never answered. */
  readonly row: ServerRecord | undefined;
  /** Whether it counts as online. */
  readonly online: boolean;
  /** How often in a row it did not answer. */
  readonly failures: number;
  /** When it was last asked, Unix milliseconds. */
  readonly askedAt: number;
}

/** After a poll without an answer the next comes as soon as this, milliseconds. */
export const RECHECK_MS = 5000;
/** Who is down for long is asked this seldom, milliseconds. */
export const SELDOM_MS = 3_600_000;
/** Flags of rows that say less than the server has. */
const LESS = ["fullLost", "statLost", "statusMalformed", "cutShort"];
/** The share by which polls come sooner or later, so that they do not bunch. */
const JITTER = 0.1;

/** A row with what scans find out and polls do not: it stays as it was. */
function withKept(row: ServerRecord, before: ServerRecord): ServerRecord {
  const { alias_of, joinable, mtu, raknet_protocol } = before;
  return { ...row, alias_of, joinable, mtu, raknet_protocol };
}

/** A server, as far as its polls go. */
export class WatchedServer {
  /** What it said last. */
  row: ServerRecord | undefined;
  /** Whether it is up; `undefined` before that is known. */
  online: boolean | undefined;
  /** Polls without an answer since the last one with one. */
  misses = 0;
  #offlineAt: number | null = null;
  /** When it was last asked before it was watched, Unix milliseconds. */
  readonly #askedAt: number | undefined;
  /** Polls in a row that said less than before: a protocol was silent, or its answer cut. */
  #partial = 0;

  /**
   * Nothing is known of it yet, unless a list knows.
   *
   * @param endpoint Where it is.
   * @param name What it is watched by, where that is a name.
   * @param rules How it is watched.
   * @param known What a list knows: what has changed since is told.
   */
  constructor(
    readonly endpoint: Endpoint,
    readonly name: string | null,
    readonly rules: WatchRules,
    known?: KnownState,
  ) {
    if (known?.row === undefined) return;
    const { row, online, failures, askedAt } = known;
    this.row = row;
    this.online = online;
    this.misses = online ? Math.min(failures, rules.downAfter - 1) : Math.max(failures, 1);
    this.#askedAt = askedAt;
    if (!online) this.#offlineAt = row.seen_at;
  }

  /**
   * How long until the first poll, milliseconds: who a list says is down waits for its turn.
   *
   * @param wall Now, Unix milliseconds.
   * @param random Numbers from 0 to 1.
   */
  rest(wall: number, random: () => number): number {
    if (this.#askedAt === undefined || this.online) return 0;
    return Math.max(0, this.#askedAt + this.pause(random()) - wall);
  }

  /** Takes a poll that it answered; what came beside the row is not kept. */
  answered(answer: RecordWithAttachments, at: number): WatchEvent[] {
    const before = this.row;
    const { attachments: _, ...bare } = answer;
    const row = before === undefined ? bare : withKept(bare, before);
    const wasOnline = this.online;
    this.online = true;
    this.misses = 0;
    if (before === undefined || !wasOnline) {
      this.row = row;
      this.#partial = 0;
      const offline_ms = this.#offlineAt === null ? null : at - this.#offlineAt;
      this.#offlineAt = null;
      const told: WatchEvent = { ...this.#told("online", at), server: row, offline_ms };
      return before === undefined ? [told] : [told, ...this.#differences(before, row, at)];
    }
    const lacks = before.protocols.some((name) => !row.protocols.includes(name)) ||
      LESS.some((flag) => row.flags.includes(flag) && !before.flags.includes(flag));
    this.#partial = lacks ? this.#partial + 1 : 0;
    const whole = !lacks || this.#partial >= this.rules.downAfter;
    if (whole) this.#partial = 0;
    // What a silent protocol would have said is no change: it stays as it was, for a while.
    const { players_online, players, guid } = row;
    const kept = { ...before, players_online, guid: guid ?? before.guid, players };
    this.row = whole ? row : { ...kept, seen_at: row.seen_at, latency_ms: row.latency_ms };
    return this.#differences(before, this.row, at);
  }

  /** Takes a poll that it did not answer. */
  missed(at: number): WatchEvent[] {
    this.misses++;
    if (this.misses < this.rules.downAfter || this.online === false) return [];
    this.online = false;
    this.#offlineAt = at;
    const last_seen = this.row?.seen_at ?? null;
    return [{ ...this.#told("offline", at), misses: this.misses, last_seen }];
  }

  /** Notes that it, or its address, opted out: it is polled no more, and counts as not online. */
  optedOut(at: number): WatchEvent {
    this.online = undefined;
    return this.#told("opted_out", at);
  }

  /**
   * How long until the next poll, milliseconds: soon while it is open whether the server is down,
   * ever later when it is.
   *
   * @param random From 0 to 1.
   */
  pause(random: number): number {
    const { intervalMs, downAfter } = this.rules;
    const down = this.misses - downAfter;
    const usual = this.misses === 0
      ? intervalMs
      : down < 0
      ? Math.min(intervalMs, RECHECK_MS)
      : Math.max(intervalMs, Math.min(SELDOM_MS, intervalMs * 2 ** Math.min(down, 20)));
    return usual * (1 + JITTER * (2 * random - 1));
  }

  #differences(before: ServerRecord, now: ServerRecord, at: number): WatchEvent[] {
    const events: WatchEvent[] = [];
    const drawn = [before.guid, now.guid].every((guid) => guid !== null && guid !== "0");
    if (drawn && before.guid !== now.guid) {
      events.push({ ...this.#told("restarted", at), guid: [before.guid, now.guid] });
    }
    const changes = changesOf(before, now);
    if (Object.keys(changes).length > 0) events.push({ ...this.#told("changed", at), changes });
    if (before.players_online !== now.players_online && now.players_online !== null) {
      const lists = before.players !== null && now.players !== null;
      events.push({
        ...this.#told("players", at),
        players_online: [before.players_online, now.players_online],
        ...(lists && {
          joined: newIn(before.players, now.players),
          left: newIn(now.players, before.players),
        }),
      });
    }
    return events;
  }

  #told<E extends WatchEvent["event"]>(event: E, at: number) {
    const { endpoint: { address, port }, name, rules: { scanId } } = this;
    const host = formatAddress(address);
    return { event, at, host, port, requested_as: name, scan_id: scanId };
  }
}
