/** The data of charts, which pages contain as JSON, and what `charts.ts` draws of them. */

/** Values of a time: those of each series; null: unknown. */
export type Values = readonly (number | null)[];

/** A time with the same values: its start, its end, the values. A start that is its end is a point. */
export type Piece = readonly [at: number, until: number, ...values: Values];

export interface Series {
  readonly name: string;
  /** The number of its colour, 0 to 7. */
  readonly color: number;
  /**
   * How it is drawn: a line with an edge at each change, also with a tinted area below; a dash for
   * each time; or the least and the greatest value of a time, between which a box is drawn.
   */
  readonly shape: "line" | "area" | "dash" | "least" | "greatest";
  /** Whether the scale of values is that of the other series. Default: no. */
  readonly isOutOfScale?: boolean;
}

/** A period of a chart with its own ground. */
export interface Band {
  readonly from: number;
  readonly to: number;
  readonly kind: "unwatched" | "half" | "offline" | "partly";
  /** The share of the time in which the server was online (`partly`), or watched (`half`), 0 to 1. */
  readonly share?: number;
}

/** A chart of values over time. Times are Unix milliseconds. */
export interface ChartData {
  readonly title: string;
  /** The unit of the values, such as `players`. */
  readonly unit: string;
  /** The period: the ends of the time axis. */
  readonly from: number;
  readonly to: number;
  readonly series: readonly Series[];
  /** In the order of times. They do not overlap. */
  readonly pieces: readonly Piece[];
  readonly bands: readonly Band[];
  /** Whether values are counts, so that marked values are whole numbers. */
  readonly areCounts: boolean;
}

/** The meanings of bands. */
export const BANDS: Readonly<Record<Band["kind"], string>> = {
  unwatched: "not watched",
  half: "partly watched",
  offline: "offline",
  partly: "partly offline",
};

/** The meaning of a band, with its share. */
export function bandText({ kind, share }: Omit<Band, "from" | "to">): string {
  if (share === undefined) return BANDS[kind];
  // Neither 0 % nor 100 %, because both happened.
  const percent = Math.min(99.9, Math.max(0.1, Math.round(1000 * share) / 10));
  return kind === "half"
    ? `watched ${percent} % of the time`
    : `${BANDS[kind]}, online ${percent} %`;
}

/** Times in ascending order, and for each series its values at these times. */
export interface ChartColumns {
  readonly times: number[];
  readonly values: (number | null)[][];
  /** Indexes of times that are points. */
  readonly points: number[];
}

/**
 * The corners of the lines. The first and the last time are the ends of the period. Values are null
 * where a line has a gap.
 */
export function chartColumns({ from, to, series, pieces }: ChartData): ChartColumns {
  const columns: ChartColumns = { times: [], values: series.map(() => []), points: [] };
  const add = (at: number, values: Values) => {
    columns.times.push(at);
    series.forEach((_, i) => columns.values[i].push(values[i] ?? null));
  };
  let end = from;
  add(from, []);
  for (const [at, until, ...values] of pieces) {
    if (at < from || until > to) continue;
    if (at > end) add((at + end) / 2, []);
    if (at === until) columns.points.push(columns.times.length);
    add(at, values);
    if (until > at) add(until, values);
    end = until;
  }
  add((end + to) / 2, []);
  add(to, []);
  return columns;
}

/**
 * The piece at a time: the one that contains it, or else the nearest point.
 *
 * @param reach How far away a point may be, milliseconds.
 */
export function pieceAt(pieces: readonly Piece[], time: number, reach: number): Piece | undefined {
  let [low, high] = [0, pieces.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (pieces[middle][0] <= time) low = middle + 1;
    else high = middle;
  }
  const [before, after] = [pieces[low - 1], pieces[low]];
  if (before !== undefined && time < before[1]) return before;
  const distances = [before, after].filter((piece) => piece !== undefined)
    .map((piece) => ({ piece, ms: piece === before ? time - piece[1] : piece[0] - time }))
    .filter(({ ms }) => ms <= reach);
  return distances.sort((a, b) => a.ms - b.ms)[0]?.piece;
}

/** Pieces with half their number: each two neighbours become one, with the mean of their values. */
export function halved(pieces: readonly Piece[]): Piece[] {
  const merged: Piece[] = [];
  for (let i = 0; i < pieces.length; i += 2) {
    const [one, other] = [pieces[i], pieces[i + 1]];
    merged.push(other === undefined ? one : mean(one, other));
  }
  return merged;
}

function mean([at, end, ...a]: Piece, [start, until, ...b]: Piece): Piece {
  const [first, second] = [end - at, until - start];
  return [
    at,
    until,
    ...a.map((value, i) => {
      const other = b[i];
      if (value === null || other === null) return value ?? other;
      return (value * first + other * second) / (first + second);
    }),
  ];
}

/** The times that a fragment of a URL enlarges: `#zoom=FROM-TO`; `undefined`: none. */
export function zoomIn(fragment: string): readonly [from: number, to: number] | undefined {
  const [, from, to] = /^#zoom=(\d{1,16})-(\d{1,16})$/.exec(fragment) ?? [];
  return from !== undefined && Number(from) < Number(to) ? [Number(from), Number(to)] : undefined;
}

/** The fragment of a URL with enlarged times. */
export function zoomFragment(from: number, to: number): string {
  return `#zoom=${Math.max(0, Math.round(from))}-${Math.max(0, Math.round(to))}`;
}
