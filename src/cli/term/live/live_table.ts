/**
 * A table that is redrawn in place on a terminal.
 *
 * @module
 */
import { harmlessText } from "../../../core/text.ts";
import { displayWidth, fitWidth } from "../../../core/display_width.ts";
import { withCommas } from "../../../core/quantities.ts";
import { type PrintedColumn, tableLines } from "../../../app/outputs/mod.ts";
import type { TerminalSize } from "../console.ts";
import { paintText, type TextStyle } from "../server_description.ts";
import { LiveBlock, type LiveTerminal } from "./live_block.ts";

/** Spaces between two cells. */
const GAP = 2;
/** Interval between two drawings, milliseconds. */
const EVERY_MS = 500;

export interface FirstRows<Row> {
  /** At most as many rows as requested. */
  readonly first: readonly Row[];
  /** The number of all rows. */
  readonly all: number;
}

/** The size of a table. */
export interface TableSpace {
  /** Width of the terminal, columns. */
  readonly columns: number;
  /** Maximum number of lines of the table, at least 2. */
  readonly lines: number;
}

/** The lines of a table: a head, the rows, and how many more there are. */
export function liveTableLines<Row>(
  columns: readonly PrintedColumn<Row>[],
  { first, all }: FirstRows<Row>,
  space: TableSpace,
): string[] {
  const fits = all < space.lines;
  const shown = fits ? first : first.slice(0, space.lines - 2);
  const fitted = columns.map((column) => {
    const texts = shown.map((one) => harmlessText(column.text(one).slice(0, column.width)));
    const width = Math.min(column.width, Math.max(...[column.title, ...texts].map(displayWidth)));
    return { ...column, width };
  });
  const table = tableLines(fitted, shown, space.columns, GAP);
  if (fits) return table;
  return [...table, fitWidth(`… and ${withCommas(all - shown.length)} more`, space.columns)];
}

export interface LiveTableOptions<Row> extends LiveTerminal {
  /** The line above the table. */
  readonly title: (all: number) => string;
  /** The columns in display order. The last one takes the remaining width. */
  readonly columns: () => readonly PrintedColumn<Row>[];
  /** The rows in display order, at most `most` of them. */
  readonly rows: (most: number) => FirstRows<Row>;
  /** Maximum number of lines in a terminal with a number of rows. */
  readonly maxLines: (rows: number) => number;
  readonly color: boolean;
}

/** A table that is redrawn in place until it is disposed. */
export class LiveTable<Row> implements Disposable {
  readonly #options: LiveTableOptions<Row>;
  readonly #block: LiveBlock;
  #hint = "; Ctrl-C to end";
  #cancel: () => void;

  /** Starts the redraw timer. */
  constructor(options: LiveTableOptions<Row>) {
    this.#options = options;
    this.#block = new LiveBlock(options, (size) => this.#lines(size));
    this.#cancel = this.#drawSoon(0);
  }

  /** Draws the table after a delay, and then at regular intervals. */
  #drawSoon(ms: number): () => void {
    return this.#options.clock.after(ms, () => {
      this.#block.redraw();
      this.#cancel = this.#drawSoon(EVERY_MS);
    });
  }

  /** The lines for a terminal. The last column stays empty, because terminals wrap after it. */
  #lines(size: TerminalSize): string[] {
    const { title, columns, rows, maxLines, color } = this.#options;
    const space = {
      columns: Math.max(2, size.columns) - 1,
      lines: Math.max(2, maxLines(size.rows)),
    };
    const table = rows(space.lines);
    const [head, ...lines] = liveTableLines(columns(), table, space);
    const paint = (style: TextStyle, text: string) => color ? paintText(style, text) : text;
    const top = fitWidth(title(table.all) + this.#hint, space.columns).trimEnd();
    return [paint("dim", top), paint("bold", head), ...lines];
  }

  /** Draws the table for the last time. It stays on the terminal. */
  [Symbol.dispose](): void {
    this.#cancel();
    this.#hint = "";
    this.#block.end();
  }
}
