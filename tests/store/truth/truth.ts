/**
 * What a database must have after each step, computed from what replied and by what docs/database.md says
 * alone.
 */
import { assertEquals } from "@std/assert";
import { HOUR_MS } from "../../../src/core/quantities.ts";
import type { ServerRecord } from "../../../src/core/record.ts";

/** The kinds of members of scans. */
export const KINDS = ["found", "new", "back", "changed", "missed", "lost"] as const;
export type Kind = typeof KINDS[number];

/** Maximum number of events `new`, `back` and `lost` of a scan. */
const MOST_REPORTED = 100;

/** What is known of a server. */
interface Known {
  address: number;
  readonly port: number;
  protocols: readonly string[];
  /** The last reply; null: none. */
  repliedAt: number | null;
  readonly firstSeen: number;
  /** The last probe, with or without a reply. */
  probedAt: number;
  online: boolean;
  missedScans: number;
  motd: string | null;
  guid: string | null;
  /** When the last polls of the running watch failed. */
  failedAt: number[];
  optedOut: boolean;
}

/** What a scan saw. */
interface TrueScan {
  readonly id: string;
  readonly since: number;
  readonly members: Record<Kind, Set<string>>;
  /** What servers published when they replied. */
  readonly replies: Map<string, Readonly<Record<string, unknown>>>;
  /** Whether it is the first one of the database. */
  readonly isFirst: boolean;
  reported: number;
  isFinished: boolean;
  /** The numbers of its last summary. */
  summary?: string;
}

/** An event. */
export interface TrueEvent {
  readonly at: number;
  readonly key: string | null;
  /** Kind and values. */
  readonly text: string;
  /** The scan that has at most a number of such events. */
  readonly scan?: TrueScan;
}

/** Which servers a scan has asked. */
export type Asked = (server: Pick<Known, "address" | "port" | "protocols">, key: string) => boolean;

/** The state of a database by the documents. */
export class Truth {
  readonly known = new Map<string, Known>();
  readonly forgotten = new Set<string>();
  /** When an import last replaced the row of a server, Unix milliseconds. */
  readonly importedAt = new Map<string, number>();
  readonly scans = new Map<string, TrueScan>();
  /** The events since they were taken last. */
  events: TrueEvent[] = [];
  /** The number of events by kind. */
  readonly counts: Record<string, number> = {};

  constructor(private readonly downAfter: number) {}

  #event(at: number, key: string | null, kind: string, data: unknown = {}, scan?: TrueScan): void {
    this.events.push({ at, key, text: `${kind} ${JSON.stringify(data)}`, scan });
  }

  begin(id: string, since: number): void {
    if (this.scans.has(id)) return; // resumed
    const members = Object.fromEntries(KINDS.map((kind) => [kind, new Set<string>()]));
    const isFirst = this.known.size === 0;
    this.scans.set(id, {
      ...{ id, since, isFirst, members: members as TrueScan["members"], reported: 0 },
      ...{ replies: new Map(), isFinished: false },
    });
  }

  /** An event `new`, `back` or `lost`. Those beyond the limit are only counted, any of them. */
  #tell(scan: TrueScan, at: number, key: string, kind: Kind, data: unknown = {}): void {
    scan.members[kind].add(key);
    if (scan.isFirst) return;
    scan.reported = Math.min(MOST_REPORTED, scan.reported + 1);
    this.#event(at, key, kind, data, scan);
  }

  /** A reply to a scan, or to a watch. A reply that was written before changes nothing. */
  reply(key: string, record: ServerRecord, address: number, scanId?: string): void {
    const { seen_at: at, port, protocols, motd, guid } = record;
    if (this.forgotten.has(key)) return;
    const scan = scanId === undefined ? undefined : this.scans.get(scanId)!;
    scan?.members.found.add(key);
    const before = this.known.get(key);
    const { repliedAt = null, online = false, missedScans = 0 } = before ?? {};
    if (before !== undefined && at < before.probedAt) return;
    if (repliedAt === null) {
      if (scan === undefined) this.#event(at, key, "online");
      else this.#tell(scan, at, key, "new");
    } else if (scan !== undefined && (!online || missedScans > 0) && at - repliedAt >= HOUR_MS) {
      this.#tell(scan, at, key, "back", { missing_ms: at - repliedAt });
    } else if (!online) this.#event(at, key, "online");
    const all = [...new Set([...before?.protocols ?? [], ...protocols])];
    if (before !== undefined && repliedAt !== null) {
      const more = protocols.some((one) => !before.protocols.includes(one));
      const isOther = before.motd !== motd || more;
      const isRestarted = before.guid !== guid && guid !== null && before.guid !== null;
      const changes = {
        ...(before.motd === motd ? {} : { motd: [before.motd, motd] }),
        ...(more ? { protocols: [before.protocols, all] } : {}),
      };
      if (isOther) this.#event(at, key, "changed", changes);
      if (isRestarted) this.#event(at, key, "restarted", { guid: [before.guid, guid] });
      if (isOther || isRestarted) scan?.members.changed.add(key);
    }
    this.known.set(key, {
      ...{
        address,
        port,
        protocols: all,
        repliedAt: at,
        probedAt: at,
        online: true,
        missedScans: 0,
        motd,
      },
      ...{ guid: guid ?? before?.guid ?? null, optedOut: before?.optedOut ?? false },
      failedAt: scan === undefined ? [] : before?.failedAt ?? [],
      firstSeen: Math.min(at, before?.firstSeen ?? at),
    });
    scan?.replies.set(key, { motd, guid: this.known.get(key)!.guid, protocols: all });
  }

  /** A scan, or parts of it, has ended: servers that it asked and that did not reply are missed. */
  end(id: string, at: number, packetLoss: number | null, asked: Asked): void {
    const scan = this.scans.get(id)!;
    for (const [key, server] of this.known) {
      const { found, missed } = scan.members;
      if (server.optedOut || found.has(key) || missed.has(key) || !asked(server, key)) continue;
      missed.add(key);
      if (server.repliedAt !== null && server.repliedAt >= scan.since) continue; // to a watch
      server.missedScans++;
      server.probedAt = Math.max(server.probedAt, at);
      const { repliedAt: replied_at, missedScans: misses } = server;
      if (misses === 1 && replied_at !== null) {
        this.#tell(scan, at, key, "lost", { replied_at, packet_loss: packetLoss });
      }
      if (!server.online || misses < this.downAfter) continue;
      server.online = false;
      this.#event(at, key, "offline", { misses, replied_at });
    }
  }

  /** A scan is over; a finished one has asked all its targets: the summary, unless it repeats the last one. */
  finish(id: string, at: number, state: "finished" | "interrupted" = "finished"): void {
    const scan = this.scans.get(id)!;
    scan.isFinished = state === "finished";
    const { members: { new: fresh, back, lost }, reported } = scan;
    if (fresh.size + back.size + lost.size <= reported) return;
    const counts = { new: fresh.size, back: back.size, lost: lost.size };
    const summary = JSON.stringify(counts);
    if (scan.summary === summary) return;
    scan.summary = summary;
    this.#event(at, null, "scan_summary", { ...counts, reported, state });
  }

  /**
   * What differs between two finished scans.
   *
   * @param asked Whether the earlier scan asked a server that it did not note, by what is known of it.
   */
  difference(from: string, to: string, asked: Asked): string[] {
    const [{ members: a, replies: before, since }, { members: b, replies }] = [from, to]
      .map((id) => this.scans.get(id)!);
    const isMissed = ({ found, missed }: typeof a, key: string) =>
      missed.has(key) && !found.has(key);
    const lines = [...a.found].filter((key) => isMissed(b, key)).map((key) => `lost ${key}`);
    for (const key of b.found) {
      const server = this.known.get(key)!;
      if (isMissed(a, key)) lines.push(`back ${key}`);
      else if (!a.found.has(key)) {
        if (server.firstSeen >= since && asked(server, key)) lines.push(`new ${key}`);
      } else {
        const [old, now] = [before.get(key)!, replies.get(key)!];
        const changes = ["guid", "motd", "protocols"].map((name) => [name, [old[name], now[name]]])
          .filter(([, [x, y]]) => JSON.stringify(x) !== JSON.stringify(y));
        if (changes.length > 0) {
          lines.push(`changed ${key} ${JSON.stringify(Object.fromEntries(changes))}`);
        }
      }
    }
    return lines.sort();
  }

  /** A poll of the watch without a reply. */
  fail(key: string, at: number): void {
    const server = this.known.get(key);
    if (server === undefined) return;
    server.failedAt.push(at);
    server.probedAt = Math.max(server.probedAt, at);
    const decisive = server.failedAt.at(-this.downAfter);
    if (!server.online || decisive === undefined || decisive <= (server.repliedAt ?? 0)) return;
    server.online = false;
    const { failedAt: { length: misses }, repliedAt: replied_at } = server;
    this.#event(at, key, "offline", { misses, replied_at });
  }

  /** A watch starts: it counts only its own polls. */
  startWatch(): void {
    for (const server of this.known.values()) server.failedAt = [];
  }

  /** The servers of an address opt out. */
  optOut(address: number, at: number): void {
    for (const [key, server] of this.known) {
      if (server.address !== address) continue;
      [server.online, server.optedOut, server.probedAt] = [false, true, at];
      this.#event(at, key, "opted_out");
    }
  }

  forget(key: string): void {
    this.known.delete(key);
    this.forgotten.add(key);
    for (const { members } of this.scans.values()) {
      KINDS.forEach((kind) => members[kind].delete(key));
    }
  }

  /** Rows of another database, of servers that are online there: counted in one event. */
  import(
    rows: readonly { key: string; address: number; record: ServerRecord }[],
    at: number,
  ): void {
    const counts = { new: 0, back: 0, lost: 0, reported: 0 };
    for (const { key, address, record } of rows) {
      const before = this.known.get(key);
      if (this.forgotten.has(key) || before?.optedOut) continue;
      const { repliedAt = null, online = false, missedScans = 0 } = before ?? {};
      if (before !== undefined && record.seen_at <= before.probedAt) continue;
      const missing = !online || missedScans > 0;
      if (repliedAt === null) counts.new++;
      else if (missing && record.seen_at - repliedAt >= HOUR_MS) counts.back++;
      this.importedAt.set(key, at);
      const events = this.events.length;
      this.reply(key, record, address);
      this.events.length = events; // an import has no events of servers
    }
    if (counts.new + counts.back > 0) this.#event(at, null, "scan_summary", counts);
  }

  /**
   * The events since the last call. Of those of a scan that had too many, those that the database has.
   *
   * @param stored The events of the database.
   */
  take(stored: readonly TrueEvent[]): TrueEvent[] {
    const textOf = ({ at, key, text }: TrueEvent) => `${at} ${key} ${text}`;
    const has = new Set(stored.map(textOf));
    const reported = new Map<TrueScan, number>();
    for (const { scan } of this.events) {
      if (scan !== undefined) reported.set(scan, (reported.get(scan) ?? 0) + 1);
    }
    const isLimited = (scan: TrueScan | undefined) =>
      scan !== undefined && reported.get(scan)! > MOST_REPORTED;
    const taken = this.events.filter((one) => !isLimited(one.scan) || has.has(textOf(one)));
    for (const [scan, count] of reported) {
      if (count <= MOST_REPORTED) continue;
      assertEquals(
        taken.filter((one) => one.scan === scan).length,
        MOST_REPORTED,
        "events of a scan",
      );
    }
    this.events = [];
    for (const { text } of taken) {
      const [kind] = text.split(" ");
      this.counts[kind] = (this.counts[kind] ?? 0) + 1;
    }
    return taken;
  }
}
