/**
 * The history command: the observations and the uptime of one server.
 *
 * @module
 */
import { dateText } from "../term/date_text.ts";
import { InputError } from "../../core/errors.ts";
import { countOf, percentText, withCommas } from "../../core/quantities.ts";
import type { Database } from "../../store/database/database.ts";
import type { Field, ServerRecord } from "../../core/record.ts";
import { csvFormat } from "../../sinks/csv.ts";
import { jsonText } from "../../sinks/json.ts";
import {
  countObservations,
  historyOf,
  type NumberedServer,
  type Observation,
  type RecentUptime,
  recentUptime,
  serverPages,
  type ServerSelection,
  type Uptime,
  type UptimePeriod,
  uptimePeriods,
  watchedText,
  type WatchedUptime,
  withDatabaseErrors,
} from "../../store/mod.ts";
import { type GeoipLookup, readGeoipFiles, readGeoipLookup } from "../../app/geoip/mod.ts";
import { connectionEnvironment } from "../../app/options/mod.ts";
import { fileChangeOf, namedLocation, openNamed } from "../../app/databases/mod.ts";
import { EXIT } from "../../app/mod.ts";
import { playersText, type PrintedColumn, tableLines } from "../../app/outputs/mod.ts";
import { type CommandCall, readCommandLine } from "../options/command_line.ts";
import { findOneServer, findServers } from "../options/search.ts";
import { showEvents } from "./history_events.ts";
import { print, printLines, reportLine } from "../term/console.ts";

/** Runs `history`; returns the exit code. */
export async function runHistory(call: CommandCall): Promise<number> {
  const { words: [word, ...words], options } = readCommandLine("history", call);
  const { limit, json, events, follow, after, uptime: asPeriods } = options;
  const geoip = await readGeoipFiles(options.geoip);
  const geoipOf = geoip.files.length === 0 ? undefined : await readGeoipLookup(geoip.files);
  const option = follow ? "--follow" : "--after";
  if (!events && (follow || after !== undefined)) {
    throw new InputError(`Cannot use ${option} without --events: observations are not followed`);
  }
  if (events && asPeriods) {
    throw new InputError("Cannot use --uptime with --events: choose one of them");
  }
  await using database = await openNamed(word, connectionEnvironment(reportLine));
  if (events) {
    const { id } = words.length === 0
      ? { id: undefined }
      : await withDatabaseErrors("read", database, () => namedServer(database, words, geoipOf));
    const fileChange = await fileChangeOf(namedLocation(word));
    return await showEvents(database, { server: id, limit, after, follow, fileChange, json });
  }
  if (asPeriods) {
    await withDatabaseErrors("read", database, async () => {
      const selection = await findServers(database, words, database.now(), geoipOf);
      await printUptime(database, selection, json);
    });
    return EXIT.done;
  }
  const { key, seen, all, uptime } = await withDatabaseErrors("read", database, async () => {
    const { id, key } = await namedServer(database, words, geoipOf);
    const seen = await historyOf(database, id, limit);
    const all = seen.length < limit ? seen.length : await countObservations(database, id);
    return { key, seen, all, uptime: await recentUptime(database, id, database.now()) };
  });
  if (json) {
    for (const one of seen) await print(jsonText({ server: key, ...one }));
    const watched = watchedPeriods(uptime);
    if (watched.length > 0) await print(jsonText({ server: key, uptime: uptimeFacts(watched) }));
  } else {
    await printLines(historyLines(key, seen, uptime));
  }
  if (all > seen.length) {
    const shown = withCommas(seen.length);
    reportLine(`the last ${shown} of ${countOf(all, "observation")}; raise --limit for more`);
  }
  return EXIT.done;
}

const PERIOD_COLUMNS = [
  ...["server", "from", "to", "hours", "state", "watched_s", "online_s"],
  ...["player_s", "players_min", "players_max", "polls"],
] as const;

type PeriodRow = Readonly<Record<typeof PERIOD_COLUMNS[number], string | number | null>>;

/** Prints the times of which the uptime of the selected servers is the sum, as they are read. */
async function printUptime(
  database: Database,
  selection: Omit<ServerSelection, "sort">,
  json: boolean,
): Promise<void> {
  if (!json) await print(PERIODS_CSV.head.trimEnd());
  const pages = serverPages(database, selection);
  for await (const periods of uptimePeriods(database, database.now(), pages)) {
    const rows = periods.map(periodRow);
    if (json) { for (const row of rows) await print(jsonText(row)); }
    else if (rows.length > 0) await printLines(rows.map(csvLine));
  }
}

/** A time in which a server was watched, with the columns of the table `rollups`. */
function periodRow({ server, from, to, hours, state, ...uptime }: UptimePeriod): PeriodRow {
  return { server, from, to, hours, state, ...uptimeColumns(uptime) };
}

function uptimeColumns({ watchedS, onlineS, playerS, playersMin, playersMax, polls }: Uptime) {
  return {
    ...{ watched_s: watchedS, online_s: onlineS, player_s: playerS },
    ...{ players_min: playersMin, players_max: playersMax, polls },
  };
}

const PERIODS_CSV = csvFormat(
  PERIOD_COLUMNS.map((name) => ({
    name,
    type: name === "server" || name === "state" ? "text" : "integer",
  })) as unknown as readonly Field[],
);

function csvLine(row: PeriodRow): string {
  return PERIODS_CSV.row(row as unknown as ServerRecord, false).trimEnd();
}

async function namedServer(
  database: Database,
  words: readonly string[],
  geoipOf: GeoipLookup | undefined,
): Promise<NumberedServer> {
  if (words.length > 0) return await findOneServer(database, words, database.now(), geoipOf);
  throw new InputError(
    "Cannot show a history: name a server, as HOST:PORT or by words that only one server has",
  );
}

/** An observation, and whether the content changed since the one before. */
interface HistoryRow {
  readonly observation: Observation;
  readonly changed: boolean;
}

const COLUMNS: readonly PrintedColumn<HistoryRow>[] = [
  {
    title: "TIME (UTC)",
    width: 19,
    rank: 0,
    text: ({ observation: { seen_at } }) => dateText(seen_at),
  },
  {
    title: "STATE",
    width: 8,
    rank: 0,
    text: ({ observation }) => observation.online ? "online" : "no reply",
  },
  {
    title: "PLAYERS",
    width: 11,
    rank: 0,
    text: ({ observation }) => observation.online ? playersText(observation) : "",
  },
  {
    title: "MS",
    width: 6,
    rank: 0,
    text: ({ observation: { online, latency_ms } }) => online ? latency_ms?.toFixed(1) ?? "" : "",
  },
  { title: "CHANGED", width: 0, rank: 0, text: ({ changed }) => changed ? "yes" : "" },
];

/** Spaces between two cells. */
const GAP = 2;

/** The history as a table, with a bar chart of the players above it. */
export function historyLines(
  id: string,
  seen: readonly Observation[],
  uptime?: RecentUptime,
): string[] {
  if (seen.length === 0) return [id, "no observations"];
  const replied = seen.filter(({ online }) => online);
  const players = replied.flatMap(({ players_online: one }) => one === null ? [] : [one]);
  const most = players.reduce((a, b) => Math.max(a, b), 0);
  const share = (100 * replied.length / seen.length).toFixed(1).replace(/\.0$/, "");
  const rows = seen.map((observation, i) => ({ observation, changed: hasChanged(seen, i) }));
  return [
    `${id}: replied in ${replied.length} of ${countOf(seen.length, "observation")} (${share} %)`,
    ...uptimeLines(uptime),
    ...(players.length === 0 ? [] : [`players: ${observationBars(seen, most)} (maximum ${most})`]),
    "",
    ...tableLines(COLUMNS, rows, Infinity, GAP),
  ];
}

type PeriodUptime = readonly [period: string, uptime: WatchedUptime];

/** The periods in which the server was watched. */
function watchedPeriods(uptime: RecentUptime | undefined): PeriodUptime[] {
  return Object.entries(uptime ?? {}).filter(([, { watchedS }]) => watchedS > 0);
}

/** The uptime of each period, with the columns of the table `rollups`. */
function uptimeFacts(periods: readonly PeriodUptime[]): Record<string, unknown> {
  return Object.fromEntries(
    periods.map(([period, { watchedShare, ...uptime }]) => [period, {
      uptime: uptime.onlineS / uptime.watchedS,
      watched_share: watchedShare,
      ...uptimeColumns(uptime),
    }]),
  );
}

/** The uptime of each period in which the server was watched, with the share watched and the polls. */
function uptimeLines(uptime: RecentUptime | undefined): string[] {
  const parts = watchedPeriods(uptime).map(([period, watched]) =>
    `${percentText(watched.onlineS / watched.watchedS)} ${watchedText(watched)} in ${period}`
  );
  return parts.length === 0 ? [] : [`uptime: ${parts.join(", ")}`];
}

/** Whether the server's content differs from that of its last reply before. */
function hasChanged(seen: readonly Observation[], at: number): boolean {
  const before = seen.slice(0, at).findLast(({ online }) => online)?.content_hash ?? null;
  return seen[at].online && before !== null && before !== seen[at].content_hash;
}

const BARS = "▁▂▃▄▅▆▇█";
/** Maximum number of bars. With more observations, several share a bar, which shows their maximum. */
const MAX_BARS = 60;

/** A bar for each observation: a blank without a reply, a dot for an unknown number of players. */
export function observationBars(seen: readonly Observation[], most: number): string {
  const each = Math.ceil(seen.length / MAX_BARS);
  let bars = "";
  for (let at = 0; at < seen.length; at += each) {
    const some = seen.slice(at, at + each).filter(({ online }) => online);
    const counts = some.flatMap(({ players_online: one }) => one === null ? [] : [one]);
    const fullest = Math.max(...counts);
    bars += some.length === 0
      ? " "
      : counts.length === 0
      ? "·"
      : BARS[most === 0 ? 0 : Math.min(7, Math.floor(8 * fullest / most))];
  }
  return bars;
}
