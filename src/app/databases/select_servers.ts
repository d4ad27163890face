/**
 * Chooses the database and the servers of commands that read a database, and their table.
 *
 * @module
 */
import { InputError } from "../../core/errors.ts";
import { countOf, withCommas } from "../../core/quantities.ts";
import { serverId } from "../../core/record.ts";
import type { Format, Sink } from "../../sinks/sink.ts";
import {
  type ConnectionEnvironment,
  countServers,
  type ListedRecord,
  readStore,
  selectServers,
  type ServerFilters,
  type ServerSelection,
  type StoredRecord,
} from "../../store/mod.ts";
import type { ServerOrder } from "../../store/queries/orders.ts";
import type { GeoipLookup, GeoipValues } from "../geoip/geoip_lookup.ts";
import { type DatabaseLocation, parseDatabaseLocation } from "../../store/database_location.ts";
import type { Database } from "../../store/database/database.ts";
import { brokenCellReporter } from "./broken_cells.ts";
import type { SELECTION } from "../options/groups/selection.ts";
import type { CamelCase } from "../options/option.ts";
import type { OptionsOf } from "../options/option_table.ts";
import { shownVersion } from "../../classify/game_versions.ts";
import { playersText, type PrintedColumn, tableFormat } from "../outputs/table_format.ts";

/** The database that a command names first. */
export function namedLocation(word: string | undefined): DatabaseLocation {
  const location = word === undefined ? undefined : parseDatabaseLocation(word);
  if (location !== undefined) return location;
  throw new InputError(
    word === undefined
      ? "Cannot run without a database: name one, for example servers.db"
      : `Cannot use "${word}": name a database first, for example servers.db or postgres://USER@HOST/DATABASE`,
  );
}

/** Opens the database that a command reads. */
export async function openNamed(
  word: string | undefined,
  environment: ConnectionEnvironment,
): Promise<Database> {
  return await readStore(namedLocation(word), environment);
}

/** The name in code of an option that selects servers. */
type SelectionName = CamelCase<typeof SELECTION["options"][number]["name"]>;

/** The options that select servers of a database, and the order and number of the servers. */
export type SelectionOptions =
  & Omit<
    Pick<OptionsOf<"servers">, SelectionName & keyof OptionsOf<"servers">>,
    "sort" | "limit" | "noGroup"
  >
  & { readonly sort: ServerOrder; readonly limit: number | undefined };

/**
 * The selection of servers by the options.
 *
 * @throws InputError when no server can match two of the options.
 */
export function serverSelectionOf(options: SelectionOptions, now: number): ServerSelection {
  const { online, offline, minPlayers, maxPlayers, software, text, sort, limit } = options;
  const { edition, confidence, noAliases, port, network, flag, tag } = options;
  if (online && offline) throw new InputError("Cannot use --online with --offline");
  if (minPlayers !== undefined && maxPlayers !== undefined && minPlayers > maxPlayers) {
    throw new InputError(
      `Cannot use --min-players ${minPlayers} with --max-players ${maxPlayers}: it is larger`,
    );
  }
  const filters: { [Name in keyof Required<ServerFilters>]: ServerFilters[Name] | undefined } = {
    online: online ? true : offline ? false : undefined,
    software: software === undefined ? undefined : [software],
    version: options.gameVersion === undefined ? undefined : [options.gameVersion],
    protocol: options.protocol?.map(({ name }) => name),
    since: options.since?.(now),
    edition,
    confidence,
    noAliases,
    port,
    network,
    flag,
    tag: tag.length === 0 ? undefined : tag,
    minPlayers,
    maxPlayers,
    text: text === undefined ? undefined : [text],
    full: undefined,
    named: undefined,
    mods: undefined,
    plugins: undefined,
    down: undefined,
    replied: undefined,
    stale: undefined,
    unknown: undefined,
  };
  return { ...filters, sort, limit };
}

/** Number of rows that are written together. */
const BATCH = 500;

/**
 * Writes the selected servers with their countries and operators, and reports cells that cannot be read. Returns their
 * number, and when the last of them changed.
 */
export async function writeSelectedServers(
  database: Database,
  selection: ServerSelection,
  sinks: readonly Sink[],
  report: (line: string) => void,
  geoipOf: GeoipLookup,
): Promise<{ count: number; latest: number }> {
  let [batch, count, latest]: [ListedRecord[], number, number] = [[], 0, 0];
  const write = async () => {
    for (const sink of sinks) await sink.write(batch);
    batch = [];
  };
  const onBroken = brokenCellReporter(database.name, report);
  for await (const record of selectServers(database, selection, onBroken)) {
    batch.push({ ...record, ...geoipOf(record.host) } as ListedRecord);
    count++;
    latest = Math.max(latest, record.changed_at);
    if (batch.length >= BATCH) await write();
  }
  await write();
  return { count, latest };
}

/** If a selection matches more servers than these, and than were written, they are not counted. */
const MAX_COUNTED = 1000;

/**
 * The line with the number of written servers, and of all servers that the selection matches.
 *
 * @param written Number of servers that were written.
 */
export async function selectionLine(
  database: Database,
  selection: ServerSelection,
  written: number,
): Promise<string> {
  const most = Math.max(MAX_COUNTED, written);
  const all = written === selection.limit
    ? await countServers(database, selection, most + 1)
    : written;
  if (all <= written) return `${countOf(written, "server")} of ${database.name}`;
  const matched = all > most ? `more than ${countOf(most, "server")}` : countOf(all, "server");
  return `the first ${withCommas(written)} of ${matched} of ${database.name}; ` +
    "raise --limit for more, or continue with --after SERVER";
}

/** The time since an event, rounded: `5s`, `12m`, `3h`, `9d`. */
export function ago(at: number, now: number): string {
  const seconds = Math.max(0, Math.floor((now - at) / 1000));
  if (seconds < 100) return `${seconds}s`;
  if (seconds < 100 * 60) return `${Math.floor(seconds / 60)}m`;
  return seconds < 72 * 3600
    ? `${Math.floor(seconds / 3600)}h`
    : `${Math.floor(seconds / 86_400)}d`;
}

/** The columns of a table that `--geoip` adds. */
const GEOIP_TITLES: readonly string[] = ["COUNTRY", "OPERATOR"];

/**
 * A table for a terminal, with the state of each server and the time of its last probe.
 *
 * @param added The columns that the options `geoip` and `tag` add, and for each `host:port` of a row that
 * stands for several endpoints the number of the others.
 */
export function storedServersTable(
  now: number,
  space: number,
  { hasGeoip = false, hasTags = false, others }: {
    readonly hasGeoip?: boolean;
    readonly hasTags?: boolean;
    readonly others?: ReadonlyMap<string, number>;
  } = {},
): Format {
  const columns: readonly PrintedColumn<StoredRecord & Partial<GeoipValues>>[] = [
    { title: "SERVER", width: 21, rank: 0, whole: true, text: serverId },
    {
      title: "STATE",
      width: 7,
      rank: 2,
      text: (one) => one.online ? "online" : one.protocol === "" ? "new" : "offline",
    },
    {
      title: "LAST REPLY",
      width: 10,
      rank: 4,
      text: (one) => one.protocol === "" ? "never" : ago(one.seen_at, now),
    },
    {
      title: "MISSED",
      width: 6,
      rank: 6,
      text: ({ missed_scans: missed }) => missed ? `${missed}` : "",
    },
    { title: "EDITION", width: 9, rank: 7, text: ({ edition }) => edition ?? "" },
    {
      title: "PLAYERS",
      width: 9,
      rank: 1,
      // Which flags they are is in the column player_flags of --json and --csv.
      text: (row) => `${row.player_flags == null ? "" : "!"}${playersText(row)}`,
    },
    { title: "VERSION", width: 12, rank: 3, text: (row) => shownVersion(row) ?? "" },
    { title: "SOFTWARE", width: 14, rank: 5, text: ({ software }) => software ?? "" },
    { title: "TAGS", width: 12, rank: 8, text: ({ tags = [] }) => tags.join(", ") },
    { title: "COUNTRY", width: 7, rank: 8, text: ({ country }) => country ?? "" },
    { title: "OPERATOR", width: 16, rank: 9, text: ({ operator }) => operator ?? "" },
    {
      title: "NAME",
      width: 0,
      rank: 0,
      text: (row) => {
        const count = others?.get(serverId(row));
        return `${count === undefined ? "" : `[+${count}] `}${row.name ?? ""}`;
      },
    },
  ];
  const shown = columns.filter(({ title }) =>
    title === "TAGS" ? hasTags : hasGeoip || !GEOIP_TITLES.includes(title)
  );
  return tableFormat(shown, space);
}
