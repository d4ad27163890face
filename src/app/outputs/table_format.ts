/**
 * Tables for terminals: one layout for all commands.
 *
 * @module
 */
import type { Field, ServerRecord } from "../../core/record.ts";
import { serverId } from "../../core/record.ts";
import type { Format } from "../../sinks/sink.ts";
import { harmlessText } from "../../core/text.ts";
import { displayWidth, fitWidth } from "../../core/display_width.ts";

export interface PrintedColumn<Row> {
  readonly title: string;
  /** Width in terminal columns; the maximum width, if the width depends on the texts. */
  readonly width: number;
  /** Returns the cell's text for a row. */
  readonly text: (row: Row) => string;
  /** In a narrow terminal the column with the highest rank is left out first; 0: never. */
  readonly rank: number;
  /** Whether cells are never cut, such as addresses. */
  readonly whole?: boolean;
}

/** Minimum width of the last column; below it other columns are left out. */
const MIN_LAST = 16;
/** Maximum number of processed characters of a text, because servers may send long texts. */
const LONGEST = 1000;

/**
 * The columns that fit. The last column takes the width that the others leave. If that is too
 * little, the others are left out by rank.
 *
 * @param space Width of the terminal, columns; `Infinity`: there is no terminal.
 */
export function placeColumns<Row>(
  columns: readonly PrintedColumn<Row>[],
  space: number,
  gap: number,
): PrintedColumn<Row>[] {
  const placed = [...columns];
  const taken = () => placed.slice(0, -1).reduce((sum, { width }) => sum + width + gap, 0);
  while (taken() + MIN_LAST > space) {
    const rank = Math.max(...placed.slice(0, -1).map((one) => one.rank), 0);
    if (rank === 0) break;
    placed.splice(placed.findIndex((one) => one.rank === rank), 1);
  }
  return placed;
}

/** A line of a table, no wider than the space: the texts of its columns, escaped. */
export function tableLine<Row>(
  columns: readonly PrintedColumn<Row>[],
  texts: readonly string[],
  space: number,
  gap: number,
): string {
  const cells = texts.map((text, i) => {
    const harmless = harmlessText(text.slice(0, LONGEST));
    const { width, whole = false } = columns[i];
    if (i === texts.length - 1 || whole && harmless.length > width) return harmless;
    return fitWidth(harmless, width);
  });
  const line = cells.join(" ".repeat(gap)).trimEnd();
  return displayWidth(line) <= space ? line : fitWidth(line, space).trimEnd();
}

/** A table as lines: the titles, and the rows. */
export function tableLines<Row>(
  columns: readonly PrintedColumn<Row>[],
  rows: readonly Row[],
  space: number,
  gap: number,
): string[] {
  const placed = placeColumns(columns, space, gap);
  return [
    placed.map(({ title }) => title),
    ...rows.map((row) => placed.map(({ text }) => text(row))),
  ].map((texts) => tableLine(placed, texts, space, gap));
}

/** Rows as a format: a table with columns of fixed widths. */
export function tableFormat<Row extends ServerRecord>(
  columns: readonly PrintedColumn<Row>[],
  space: number,
): Format {
  const placed = placeColumns(columns, space, 1);
  const line = (texts: readonly string[]) => `${tableLine(placed, texts, space, 1)}\n`;
  return {
    name: "table",
    head: line(placed.map(({ title }) => title)),
    tail: "",
    appendable: true,
    row: (record) => line(placed.map(({ text }) => text(record as Row))),
  };
}

/** The players of a server: `3/20`. */
export function playersText(
  { players_online: online, players_max: max }: Pick<
    ServerRecord,
    "players_online" | "players_max"
  >,
): string {
  return online === null && max === null ? "" : `${online ?? "?"}/${max ?? "?"}`;
}

const COLUMNS: readonly PrintedColumn<ServerRecord>[] = [
  { title: "SERVER", width: 21, rank: 0, whole: true, text: serverId },
  { title: "PROTOCOLS", width: 13, rank: 3, text: ({ protocols }) => protocols.join("+") },
  { title: "EDITION", width: 9, rank: 5, text: ({ edition }) => edition ?? "" },
  { title: "PLAYERS", width: 9, rank: 1, text: playersText },
  { title: "MS", width: 6, rank: 4, text: ({ latency_ms }) => latency_ms?.toFixed(1) ?? "" },
  { title: "VERSION", width: 12, rank: 2, text: versionText },
  // Names come last: a name that is wider than its computed width moves no other column.
  {
    title: "NAME",
    width: 0,
    rank: 0,
    text: ({ name, software }) => [name, software && `(${software})`].filter(Boolean).join(" "),
  },
];

/** The version, or the protocol number alone: a scan does not load the names of versions. */
function versionText({ version, protocol_version: number }: ServerRecord): string {
  return version ?? (number === null ? "" : `#${number}`);
}

/** The table of servers that a scan found. */
export function serverTable(space: number): Format {
  return tableFormat(COLUMNS, space);
}

/** Terminal columns of fields whose type does not determine the width. */
const FIELD_WIDTHS: Readonly<Record<string, number>> = {
  host: 15,
  port: 5,
  protocols: 13,
  name: 24,
  motd: 24,
  motd_plain: 24,
  version: 12,
  seen_at: 13,
  first_seen: 13,
  probed_at: 13,
  scan_id: 36,
  guid: 20,
};

/** Minimum width of a chosen field, columns. */
const MIN_FIELD = 5;

/** The table of chosen fields: all of them, in their order. */
export function fieldsTable(fields: readonly Field[], space: number): Format {
  const wanted = fields.map(({ name, type }) => {
    const usual = type === "text" ? 16 : type === "number" || type === "integer" ? 8 : 12;
    return Math.max(name.length, FIELD_WIDTHS[name] ?? usual);
  });
  const widths = shrink(wanted, space - (fields.length - 1));
  return tableFormat(
    fields.map(({ name }, i) => ({
      title: name.toUpperCase(),
      width: widths[i],
      rank: 0,
      whole: name === "host",
      text: (record) => valueText(record[name]),
    })),
    space,
  );
}

/** Reduces widths until their sum fits, the widest first. */
function shrink(wanted: readonly number[], space: number): number[] {
  const widths = [...wanted];
  let over = widths.reduce((sum, width) => sum + width, 0) - space;
  while (over > 0) {
    const widest = widths.indexOf(Math.max(...widths));
    if (widths[widest] <= MIN_FIELD) break;
    widths[widest]--;
    over--;
  }
  return widths;
}

function valueText(value: unknown): string {
  if (value === null || value === undefined) return "";
  if (Array.isArray(value) && value.every((one) => typeof one === "string")) {
    return value.join(", ");
  }
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}
