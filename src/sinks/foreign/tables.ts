/**
 * Reads servers from tables: CSV with a head, of blocksweep, of zmap and naabu, and of spreadsheets. The
 * columns of a host and a port are found by their names, or chosen.
 *
 * @module
 */
import { InputError } from "../../core/errors.ts";
import { FIELDS } from "../../core/record.ts";
import { cellsOf, unguardText } from "../csv.ts";
import { jsonFromCells } from "../read_rows.ts";

/** What a chosen column gives. */
export type ColumnRole = "host" | "port" | "notes" | "tags";

/** A column that the user chose for a role. */
export interface ChosenColumn {
  readonly role: ColumnRole;
  /** The name in the head, in any case; or the column's number, from 1. */
  readonly column: string;
}

export interface TableRow {
  /** Whether blocksweep wrote it: `values` then has all its columns with their types. */
  readonly isOwn: boolean;
  /** The columns by name in lower case; of an own row, with `notes` and `tags` as chosen. */
  readonly values: Readonly<Record<string, unknown>>;
  /** The cells that may be the host, in order of preference, without empty ones. */
  readonly hosts: readonly string[];
  /** The cell of the port; `undefined`: none. */
  readonly port: string | undefined;
}

/** A table: the meaning of its columns. */
export interface Table {
  /** The head's columns that are not read. */
  readonly ignored: readonly string[];
  /** Whether the line was a head, and no row. */
  readonly isHead: boolean;
  /** The row of a line; `undefined` when it has another number of cells, or a cell of another type. */
  row(line: string): TableRow | undefined;
}

/** Names of columns, in order of preference: an address may be reached when its name is gone. */
const HOST_NAMES = [
  ...["saddr", "ip", "ip_address", "ip address", "ipaddress", "address", "addr", "host"],
  ...["hostname", "host_name", "host name", "server", "domain"],
  ...["server ip", "server_ip", "ip-adresse"],
];
const PORT_NAMES = [
  "sport",
  "port",
  "server_port",
  "server port",
  "port number",
  "tcp_port",
  "udp_port",
];
/** Columns of zmap and naabu that are read, or that repeat what is. */
const SCAN_NAMES = ["success", "timestamp-ts", "timestamp-str", "timestamp", "protocol", "blank"];
/** The columns of `export` besides those of the record. */
export const STATE_NAMES: readonly string[] = [
  ...["online", "missed_scans", "first_seen", "probed_at", "changed_at", "players_at"],
  ...["uptime_30d", "uptime_watched", "tags", "notes", "player_flags"],
];
const OWN_NAMES = new Set<string>([...FIELDS.map(({ name }) => name), ...STATE_NAMES]);

/**
 * Whether only blocksweep writes rows with these columns. A list of a user may have other columns that
 * blocksweep has too, such as `name`.
 */
export function areOwn(names: readonly string[]): boolean {
  return ["seen_at", "protocols", "requested_as"].some((name) => names.includes(name));
}

/** The columns of blocksweep in an object of a list that are not read. */
export function ignoredKeys(row: Readonly<Record<string, unknown>>): readonly string[] {
  const read = ["host", "port", "tags", "notes"];
  return Object.keys(row).filter((name) => OWN_NAMES.has(name) && !read.includes(name));
}

const SEPARATORS = [",", ";", "\t"] as const;

/** The cells of a line. Without a separator, white space separates them. */
function split(line: string, separator: string | undefined): readonly string[] {
  return separator === undefined ? line.trim().split(/\s+/) : cellsOf(line, separator);
}

/**
 * The table of a head; `undefined` for another line. A head has a column of a host, and one of a port or
 * another one besides. With a chosen host every first line is one: it may be a row itself.
 *
 * @throws InputError when a chosen column is missing.
 */
export function parseTableHead(
  line: string,
  chosen: readonly ChosenColumn[] = [],
): Table | undefined {
  for (const separator of [...SEPARATORS, undefined]) {
    const head = split(line, separator).map((name) => name.trim().toLowerCase()); // a mark too
    if (isHead(head, separator, chosen)) return new HeadedTable(head, separator, chosen);
  }
  // with a chosen host, any file is a table: the constructor names the column that it lacks
  return chosen.some(({ role }) => role === "host")
    ? new HeadedTable(split(line, ","), ",", chosen)
    : undefined;
}

/** The names in a line that may be a head, but has no column of a host. */
export function namesWithoutHost(line: string): readonly string[] | undefined {
  const names = SEPARATORS.map((separator) => split(line, separator).map((name) => name.trim()))
    .find((cells) => cells.length > 1);
  return names?.every((name) => /^\p{L}[\p{L}\d _()-]*$/u.test(name)) ? names : undefined;
}

function isHead(
  head: readonly string[],
  separator: string | undefined,
  chosen: readonly ChosenColumn[],
): boolean {
  if (chosen.some(({ role }) => role === "host")) {
    return chosen.every(({ column }) => indexOf(head, column) >= 0);
  }
  if (head.includes("saddr")) return true;
  if (!head.some((name) => HOST_NAMES.includes(name))) return false;
  if (head.some((name) => PORT_NAMES.includes(name))) return true;
  // a list of targets may have words with commas between them
  return separator !== undefined && head.length > 1 &&
    head.every((name) => /^[a-z_ ]+$/.test(name));
}

/** The index of a chosen column; -1: there is none. */
function indexOf(head: readonly string[], column: string): number {
  const named = head.indexOf(column.toLowerCase());
  if (named >= 0 || !/^\d{1,3}$/.test(column)) return named;
  return Number(column) <= head.length ? Number(column) - 1 : -1;
}

class HeadedTable implements Table {
  readonly ignored: readonly string[];
  readonly isHead: boolean;
  readonly #isOwn: boolean;
  readonly #hosts: readonly number[];
  readonly #ports: readonly number[];
  /** Whether a spreadsheet may have saved the file, and rounded its numbers. */
  #isChanged: boolean;

  constructor(
    private readonly head: readonly string[],
    private readonly separator: string | undefined,
    private readonly chosen: readonly ChosenColumn[],
  ) {
    for (const { column } of chosen) {
      if (indexOf(head, column) >= 0) continue;
      throw new InputError(
        `Cannot import a table without the column "${column}": its columns are ${head.join(", ")}`,
      );
    }
    const isChosen = chosen.some(({ role }) => role === "host" || role === "port");
    this.#isOwn = !isChosen && head.includes("host") && head.includes("port") &&
      (head.includes("protocols") || areOwn(head) && head.every((name) => OWN_NAMES.has(name)));
    this.#hosts = this.#columns("host", HOST_NAMES);
    this.#ports = this.#columns("port", PORT_NAMES);
    const usual = ["tags", "notes"].filter((name) => !chosen.some(({ role }) => role === name));
    const read = new Set([
      ...[...this.#hosts, ...this.#ports].map((i) => head[i]),
      ...chosen.map(({ column }) => head[indexOf(head, column)]),
      ...(this.#isOwn ? OWN_NAMES : [...SCAN_NAMES, ...usual]),
    ]);
    const isRow = this.#ports.some((i) => /^\d+$/.test(head[i])) ||
      this.#hosts.some((i) => /[.:]/.test(head[i]));
    this.isHead = !(isChosen && isRow);
    this.ignored = this.isHead ? head.filter((name) => name !== "" && !read.has(name)) : [];
    this.#isChanged = separator !== ",";
  }

  row(line: string): TableRow | undefined {
    const cells = split(line, this.separator);
    if (cells.length !== this.head.length) return undefined;
    this.#isChanged ||= cells.some((cell) => cell === "TRUE" || cell === "FALSE");
    const read = this.#isOwn ? jsonFromCells(this.head, cells) : {};
    if (read === undefined || this.#isRounded(read.guid)) return undefined;
    const values = { ...(this.#isOwn ? read : this.#texts(cells)), ...this.#labels(cells) };
    return {
      isOwn: this.#isOwn,
      values,
      hosts: this.#hosts.map((i) => cells[i].trim()).filter((cell) => cell !== ""),
      port: this.#ports.map((i) => cells[i].trim()).find((cell) => cell !== ""),
    };
  }

  /** Whether a spreadsheet has rounded a GUID: it keeps 15 digits, and writes zeros after them. */
  #isRounded(guid: unknown): boolean {
    return this.#isChanged && typeof guid === "string" && /^.{15}0+$/.test(guid);
  }

  #texts(cells: readonly string[]): Record<string, string> {
    return Object.fromEntries(this.head.map((name, i) => [name, unguardText(cells[i].trim())]));
  }

  /** The chosen notes and tags. */
  #labels(cells: readonly string[]): { notes?: string; tags?: string } {
    const textsOf = (role: ColumnRole) =>
      this.#columns(role, []).map((i) => unguardText(cells[i].trim())).filter((text) =>
        text !== ""
      );
    const [notes, tags] = [textsOf("notes").join("; "), textsOf("tags").join(",")];
    return { ...(notes !== "" && { notes }), ...(tags !== "" && { tags }) };
  }

  /** The columns of a role: the chosen ones, otherwise those with the usual names. */
  #columns(role: ColumnRole, names: readonly string[]): readonly number[] {
    const chosen = this.chosen.filter((one) => one.role === role);
    if (chosen.length > 0) return chosen.map(({ column }) => indexOf(this.head, column));
    return names.flatMap((name) => this.head.flatMap((one, i) => one === name ? [i] : []));
  }
}
