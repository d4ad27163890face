/**
 * The table of `lan` on a terminal: its columns, and how it is redrawn in place.
 *
 * @module
 */
import type { Clock } from "../../net/clock.ts";
import { serverId, type ServerRecord } from "../../core/record.ts";
import { type FoundServers, type Listed, worldTitle } from "../../scan/lan/mod.ts";
import { harmlessText } from "../../core/text.ts";
import { countOf } from "../../core/quantities.ts";
import { playersText, type TableColumn, tableLines } from "../../app/outputs/table_format.ts";
import { displayWidth, fitWidth } from "../../core/display_width.ts";
import { paintText, type TextStyle } from "./server_description.ts";

/** The columns in display order. The last one, the name, takes the remaining width. */
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
      text: ({ seenAt }) => `${Math.floor((now - seenAt) / 1000)} s`,
    },
    { title: "VERSION", width: 12, rank: 5, text: ({ row }) => row.version ?? "" },
    { title: "NAME", width: 0, rank: 0, text: ({ row }) => nameText(row) },
  ];
}

/** Spaces between two cells. */
const GAP = 2;

/** The time and the size for which a table is drawn. */
export interface TableSpace {
  /** The current time, milliseconds of the clock. */
  readonly now: number;
  /** Width of the terminal, columns. */
  readonly columns: number;
  /** Maximum number of lines of the table, at least 2. */
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

/** Interval between two drawings, milliseconds. */
const EVERY_MS = 500;
const HIDE_CURSOR = "\x1b[?25l";
const SHOW_CURSOR = "\x1b[?25h";

/** The options of a live table. */
export interface LiveTableOptions {
  /** The servers to show. */
  readonly servers: FoundServers;
  /** The number of searched networks. */
  readonly networks: number;
  /** The clock of the redraw timer and of the column SEEN. */
  readonly clock: Clock;
  /** Whether to use colours. */
  readonly color: boolean;
  /** The size of the terminal. */
  readonly size: () => { readonly columns: number; readonly rows: number };
  /** Writes to the terminal. */
  readonly draw: (text: string) => void;
}

/** A table that is redrawn in place until it is disposed. */
export class LiveLanTable implements Disposable {
  readonly #options: LiveTableOptions;
  #cancel: () => void;
  /** Widths of the lines that are on the terminal now. */
  #drawn: readonly number[] = [];
  #over = false;

  /** Hides the cursor and starts the redraw timer. */
  constructor(options: LiveTableOptions) {
    this.#options = options;
    options.draw(HIDE_CURSOR);
    this.#cancel = this.#drawSoon(0);
  }

  /** Draws the table after a delay, and then at regular intervals. */
  #drawSoon(ms: number): () => void {
    return this.#options.clock.after(ms, () => {
      this.#draw("Ctrl-C to end");
      this.#cancel = this.#drawSoon(EVERY_MS);
    });
  }

  #draw(hint?: string): void {
    const { servers, networks, clock, color, size, draw } = this.#options;
    const { rows, ...given } = size();
    const columns = Math.max(2, given.columns);
    const space = { now: clock.now(), columns: columns - 1, lines: Math.max(2, rows - 2) };
    const listed = servers.listed();
    const title = `${countOf(listed.length, "server")} on ${countOf(networks, "network")}`;
    const [head, ...table] = lanTableLines(listed, space);
    const paint = (style: TextStyle, text: string) => color ? paintText(style, text) : text;
    const top = fitWidth(hint === undefined ? title : `${title}; ${hint}`, columns - 1).trimEnd();
    const lines = [paint("dim", top), paint("bold", head), ...table];
    // In a terminal that has become narrower, each line takes several rows.
    const up = this.#drawn.reduce((sum, width) => sum + Math.max(1, Math.ceil(width / columns)), 0);
    const back = up > 0 ? `\x1b[${up}A\r` : "";
    draw(`${back}${lines.map((line) => `${line}\x1b[K\n`).join("")}\x1b[J`);
    this.#drawn = [top, head, ...table].map(displayWidth);
  }

  /** Draws the table for the last time and shows the cursor again. */
  [Symbol.dispose](): void {
    if (this.#over) return;
    this.#over = true;
    this.#cancel();
    this.#draw();
    this.#options.draw(SHOW_CURSOR);
  }
}
