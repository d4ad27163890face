/**
 * Events of a watch as lines of text or JSON.
 *
 * @module
 */
import { print, terminalSize } from "./console.ts";
import { serverId } from "../../core/record.ts";
import { cutText, harmlessText } from "../../core/text.ts";
import { jsonText, SCHEMA } from "../../sinks/json.ts";
import { type PrintedColumn, tableLine } from "../../app/outputs/mod.ts";
import type { StoredEvent } from "../../store/mod.ts";
import {
  type ColumnChange,
  isWatcherEvent,
  type WatchEvent,
} from "../../store/events/watch_event.ts";
import { countOf, roughDuration, withCommas } from "../../core/quantities.ts";

/** Maximum width of a line, columns, and maximum length of a field, UTF-16 units. */
const LONGEST = 300;

/** An event as a JSON object on one line. */
export function eventJson(event: WatchEvent): string {
  return jsonText({ schema: SCHEMA, ...event });
}

const COLUMNS: readonly PrintedColumn<WatchEvent>[] = [
  {
    title: "TIME",
    width: 9,
    rank: 0,
    text: ({ at }) => `${new Date(at).toISOString().slice(11, 19)}Z`,
  },
  { title: "EVENT", width: 9, rank: 0, whole: true, text: ({ event }) => event },
  { title: "SERVER", width: 21, rank: 0, whole: true, text: serverText },
  { title: "CHANGE", width: 0, rank: 0, text: changeText },
];

/**
 * An event as one line that fits the terminal and does not wrap. The text of servers in the line
 * has no two consecutive spaces: it cannot imitate the columns of another event.
 *
 * @param columns Columns of the terminal.
 */
export function eventLine(event: WatchEvent, columns: number = LONGEST): string {
  return tableLine(COLUMNS, COLUMNS.map(({ text }) => text(event)), Math.min(columns, LONGEST), 2);
}

/** Minimum width of a terminal for a column with the names of servers, columns. */
const WITH_NAMES = 100;

/** An event of a database as one line, as {@linkcode eventLine}. */
export function storedEventLine(event: StoredEvent, columns: number = LONGEST): string {
  const shown = columns < WITH_NAMES ? STORED.filter(({ title }) => title !== "NAME") : STORED;
  const cells = shown.map(({ text }) => field(text(event)));
  return tableLine(shown, cells, Math.min(columns, LONGEST), 2);
}

const STORED: readonly PrintedColumn<StoredEvent>[] = [
  {
    ...COLUMNS[0],
    title: "TIME (UTC)",
    width: 19,
    text: ({ at }) => new Date(at).toISOString().slice(0, 19).replace("T", " "),
  },
  { ...COLUMNS[1], text: ({ kind }) => kind },
  { ...COLUMNS[2], text: ({ server }) => server ?? "" },
  { title: "NAME", width: 20, rank: 0, text: ({ name }) => name ?? "" },
  { ...COLUMNS[3], text: storedText },
];

/** The text before a change if its event is the last one of its kind that is recorded within an hour. */
const LIMIT_NOTE = "(limit reached) ";

/** What an event of a database changes, in a few words. Another program may have written any data. */
function storedText({ kind, data }: StoredEvent): string {
  const { changes, shortened: _, limit_reached: isLast, ...others } = Object(data);
  const { offline_ms: offlineMs, misses } = others;
  if (kind === "online") {
    return typeof offlineMs === "number" ? `after ${roughDuration(offlineMs)}` : "new";
  }
  if (kind === "new") return "found for the first time";
  if (kind === "back" && typeof others.missing_ms === "number") {
    return `after ${roughDuration(others.missing_ms)}`;
  }
  if (kind === "lost") return "no reply to a scan";
  if (kind === "scan_summary") {
    const count = (name: string) => Number(others[name]) || 0;
    return summaryText({ new: count("new"), back: count("back"), lost: count("lost") });
  }
  if (kind === "offline" && typeof misses === "number") return `${misses} without a reply in a row`;
  if (kind === "watcher_offline") {
    return others.reason === "no_route" ? "no route to servers" : "no server replies";
  }
  if (kind === "watcher_online" && typeof offlineMs === "number") {
    return `servers reply again after ${roughDuration(offlineMs)}`;
  }
  const values = [...Object.entries(Object(changes)), ...Object.entries(others)]
    .map(([name, value]) =>
      `${name} ${
        Array.isArray(value) && value.length === 2 ? change([value[0], value[1]]) : shown(value)
      }`
    );
  return (isLast === true ? LIMIT_NOTE : "") + values.join(", ");
}

function serverText(event: WatchEvent): string {
  if (isWatcherEvent(event)) return "this watch";
  const { host, port, requested_as: name } = event;
  const where = serverId({ host, port });
  return name === null ? where : `${where} (${field(name)})`;
}

/** A text of a server or a user, escaped for a line. */
function field(text: string): string {
  return harmlessText(cutText(text, LONGEST)).replace(/\s{2,}/g, " ");
}

/** What an event changes, in a few words. */
function changeText(event: WatchEvent): string {
  switch (event.event) {
    case "new":
    case "back":
    case "online": {
      const { server: { name, version, players_online: online, players_max: max } } = event;
      const ms = event.event === "new"
        ? null
        : event.event === "back"
        ? event.missing_ms
        : event.offline_ms;
      const back = ms === null ? "" : ` after ${roughDuration(ms)}`;
      return `${online ?? "?"}/${max ?? "?"}  ${field(version ?? "?")}  ${
        field(name ?? "")
      }${back}`;
    }
    case "lost":
      return `no reply to a scan`;
    case "scan_summary":
      return summaryText(event);
    case "offline":
      return `no reply to ${countOf(event.misses, "poll")}`;
    case "players": {
      const added = (event.joined ?? []).map((player) => ` +${field(player)}`).join("");
      const gone = (event.left ?? []).map((player) => ` -${field(player)}`).join("");
      return change(event.players_online) + added + gone;
    }
    case "opted_out":
      return "opted out: no longer polled";
    case "watcher_offline":
      return event.reason === "no_route" ? "no route to servers" : "no server replies";
    case "watcher_online":
      return `servers reply again after ${roughDuration(event.offline_ms)}`;
    case "restarted":
      return `${event.limit_reached ? LIMIT_NOTE : ""}GUID ${change(event.guid)}`;
    case "changed":
      return (event.limit_reached ? LIMIT_NOTE : "") +
        Object.entries(event.changes).map(([column, values]) => `${column} ${change(values)}`)
          .join(", ");
  }
}

function summaryText({ new: fresh, back, lost }: Record<"new" | "back" | "lost", number>): string {
  return `${withCommas(fresh)} new, ${withCommas(back)} back, ${withCommas(lost)} lost`;
}

function change([before, now]: ColumnChange): string {
  return `${shown(before)} -> ${shown(now)}`;
}

function shown(value: unknown): string {
  return value === null ? "none" : field(typeof value === "string" ? value : JSON.stringify(value));
}

/** Prints events, one after the other. */
export class EventPrinter {
  readonly #failed = new AbortController();
  #printed: Promise<void> = Promise.resolve();

  /**
   * @param json Whether to print NDJSON. Otherwise: lines of text.
   * @param write Writes a line. Default: to standard output.
   */
  constructor(
    private readonly json: boolean,
    private readonly write: (line: string) => Promise<void> = print,
  ) {}

  /** Aborted when standard output is closed. */
  get signal(): AbortSignal {
    return this.#failed.signal;
  }

  /** Queues an event and returns at once. */
  add(event: WatchEvent): void {
    const text = this.json ? eventJson(event) : eventLine(event, terminalSize().columns);
    this.#printed = this.#printed.then(() => this.write(text)).catch((error) =>
      this.#failed.abort(error)
    );
  }

  /** Waits until all events are printed; throws the error of a failed write. */
  async printed(): Promise<void> {
    await this.#printed;
    this.signal.throwIfAborted();
  }
}
