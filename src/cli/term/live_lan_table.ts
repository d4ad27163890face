/**
 * The table of `lan`: what stands in it, and how it is drawn again and again in its place.
 *
 * @module
 */
import { styleText } from "node:util";
import type { Clock } from "../../net/clock.ts";
import { serverId, type ServerRecord } from "../../core/record.ts";
import { type FoundServers, type Listed, worldTitle } from "../../scan/lan/mod.ts";
import { harmlessText } from "../../core/text.ts";
import { countOf } from "../../core/quantities.ts";
import { playersText, type TableColumn, tableLines } from "../../app/outputs/table_format.ts";
import { displayWidth, fitWidth } from "../../core/display_width.ts";

/** The columns in their order; the name comes last and takes what is left. */
function columnsAt(now: number): readonly TableColumn<Listed>[] {
  return [
    { title: "SERVER", width: 47, rank: 0, text: ({ row }) => serverId(row) },
    { title: "PROTOCOLS", width: 16, rank: 4, text: ({ row }) => row.protocols.join("+") },
    { title: "PLAYERS", width: 11, rank: 1, text: ({ row }) => playersText(row) },
    { title: "MS", width: 7, rank: 2, text: ({ row }) => row.latency_ms?.toFixed(1) ?? "" },
    {
      title: "SEEN",
      width: 5,
      rank: 3,
      text: ({ heardAt }) => `${Math.floor((now - heardAt) / 1000)} s`,
    },
    { title: "VERSION", width: 12, rank: 5, text: ({ row }) => row.version ?? "" },
    { title: "NAME", width: 0, rank: 0, text: ({ row }) => nameText(row) },
  ];
}

/** Columns between two cells. */
const GAP = 2;

/** The moment and the size for which a table is drawn. */
export interface TableSpace {
  /** Milliseconds of the clock. */
  readonly now: number;
  /** Columns of the terminal. */
  readonly columns: number;
  /** Lines that the table may take: at least two. */
  readonly lines: number;
}

/** The lines of the table: a head, the servers, and how many more there are. */
export function lanTableLines(
  listed: readonly Listed[],
  { now, columns, lines }: TableSpace,
): string[] {
  const fits = listed.length < lines;
  const shown = fits ? listed : listed.slice(0, lines - 2);
  const fitted = columnsAt(now).map((column) => {
    const texts = shown.map((one) => harmlessText(column.text(one).slice(0, column.width)));
    const width = Math.min(column.width, Math.max(...[column.title, ...texts].map(displayWidth)));
    return { ...column, width };
  });
  const table = tableLines(fitted, shown, columns, GAP);
  return fits ? table : [...table, fitWidth(`… and ${listed.length - shown.length} more`, columns)];
}

function nameText(record: ServerRecord): string {
  const { name, software } = record;
  return worldTitle(record) ?? [name, software && `(${software})`].filter(Boolean).join(" ");
}

/** How often the table is drawn, milliseconds. */
const EVERY_MS = 500;
const HIDE_CURSOR = "\x1b[?25l";
const SHOW_CURSOR = "\x1b[?25h";

/** The options of a live table. */
export interface LiveTableOptions {
  /** The servers. */
  readonly neighbours: FoundServers;
  /** The number of searched networks. */
  readonly networks: number;
  /** The clock. */
  readonly clock: Clock;
  /** Whether to use colours. */
  readonly color: boolean;
  /** The size of the terminal. */
  readonly size: () => { readonly columns: number; readonly rows: number };
  /** Writes to the terminal. */
  readonly draw: (text: string) => void;
}

/** A table that is drawn in its place until it is disposed of. */
export class LiveLanTable implements Disposable {
  readonly #options: LiveTableOptions;
  #cancel: () => void;
  /** Widths of the lines that stand on the terminal. */
  #drawn: readonly number[] = [];
  #over = false;

  /** Begins to draw. */
  constructor(options: LiveTableOptions) {
    this.#options = options;
    options.draw(HIDE_CURSOR);
    this.#cancel = this.#drawSoon(0);
  }

  /** Draws it after so many milliseconds, and from then on. */
  #drawSoon(ms: number): () => void {
    return this.#options.clock.after(ms, () => {
      this.#draw("Ctrl-C ends");
      this.#cancel = this.#drawSoon(EVERY_MS);
    });
  }

  #draw(hint?: string): void {
    const { neighbours, networks, clock, color, size, draw } = this.#options;
    const { rows, ...given } = size();
    const columns = Math.max(2, given.columns);
    const space = { now: clock.now(), columns: columns - 1, lines: Math.max(2, rows - 2) };
    const listed = neighbours.listed();
    const title = `${countOf(listed.length, "server")} on ${countOf(networks, "network")}`;
    const [head, ...table] = lanTableLines(listed, space);
    const paint = (style: "bold" | "dim", text: string) =>
      color ? styleText(style, text, { validateStream: false }) : text;
    const top = fitWidth(hint === undefined ? title : `${title}; ${hint}`, columns - 1).trimEnd();
    const lines = [paint("dim", top), paint("bold", head), ...table];
    // A terminal that was made narrower has broken the lines: they stand on more rows.
    const up = this.#drawn.reduce((sum, width) => sum + Math.max(1, Math.ceil(width / columns)), 0);
    const back = up > 0 ? `\x1b[${up}A\r` : "";
    draw(`${back}${lines.map((line) => `${line}\x1b[K\n`).join("")}\x1b[J`);
    this.#drawn = [top, head, ...table].map(displayWidth);
  }

  /** Draws it for the last time, and gives the cursor back. */
  [Symbol.dispose](): void {
    if (this.#over) return;
    this.#over = true;
    this.#cancel();
    this.#draw();
    this.#options.draw(SHOW_CURSOR);
  }
}
