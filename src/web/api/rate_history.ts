/**
 * The rates of running scans over time, from the counters that the dashboard has read.
 *
 * @module
 */
import { halved, type Piece } from "../browser/chart_data.ts";
import type { StoredScan } from "../../store/mod.ts";
import type { AnswerOf } from "../queries/schemas.ts";

/** Maximum number of scans. The oldest ones are removed. */
const MAX_SCANS = 100;
/** Maximum number of times of a scan. Beyond, each two neighbours become one. */
const MAX_PIECES = 600;

/** The counters of a scan at its heartbeat. */
interface Reading {
  readonly at: number;
  readonly sent: number;
  readonly replies: number;
}

/** The mean rates between two readings. Their time ends with the heartbeat. */
export type Rates = Pick<
  AnswerOf<"live">["scans"][number],
  "probes_per_second" | "replies_per_second" | "rates_since"
>;

interface KnownScan {
  reading: Reading;
  rates: Rates;
  pieces: Piece[];
}

/** Histories of the rates of running scans. They stay while no page shows them. */
export class RateHistory {
  readonly #scans = new Map<string, KnownScan>();

  /**
   * Adds the counters of a scan, and returns its last rates. The rates of the first reading are not
   * returned: they are the mean since the start.
   */
  add(scan: StoredScan, now: number): Rates {
    const { scan_id: id, heartbeat_at: at = now, probes_sent: sent, replies } = scan;
    const reading = { at: at ?? now, sent, replies };
    const known = this.#scans.get(id) ?? this.#begin(scan, reading);
    if (reading.at <= known.reading.at) return known.rates;
    const piece = pieceOf(known.reading, reading);
    const [start, , probes, answers] = piece;
    known.rates = { probes_per_second: probes, replies_per_second: answers, rates_since: start };
    known.reading = reading;
    known.pieces.push(piece);
    if (known.pieces.length > MAX_PIECES) known.pieces = halved(known.pieces);
    return known.rates;
  }

  /** The times with their probes and replies a second. */
  of(id: string): readonly Piece[] {
    return this.#scans.get(id)?.pieces ?? [];
  }

  /** The first piece is the time since the start. The counters of a resumed scan began earlier. */
  #begin({ scan_id: id, started_at: start, runs }: StoredScan, reading: Reading): KnownScan {
    const isWhole = start !== null && start < reading.at && runs === 1;
    const known: KnownScan = {
      reading,
      rates: { probes_per_second: null, replies_per_second: null, rates_since: null },
      pieces: isWhole ? [pieceOf({ at: start, sent: 0, replies: 0 }, reading)] : [],
    };
    this.#scans.set(id, known);
    if (this.#scans.size > MAX_SCANS) this.#scans.delete(this.#scans.keys().next().value!);
    return known;
  }
}

/** The time between two readings, with its probes and replies a second. */
function pieceOf(before: Reading, after: Reading): Piece {
  const perSecond = (now: number, then: number) =>
    Math.max(0, Math.round(10_000 * (now - then) / (after.at - before.at)) / 10);
  return [
    ...[before.at, after.at] as const,
    ...[perSecond(after.sent, before.sent), perSecond(after.replies, before.replies)],
  ];
}
