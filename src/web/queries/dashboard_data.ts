/**
 * What the dashboard, its JSON API and the report ask of a database.
 *
 * All values come from strangers or from the database as they are: pages escape them. Times are
 * Unix milliseconds.
 *
 * @module
 */
import type {
  DayUptime,
  EventsPage,
  ListedParts,
  MemberCounts,
  MemberKind,
  NewestEvents,
  NumberedServer,
  OtherRows,
  PageCursor,
  RecentUptime,
  ServerFilters,
  StoredEvent,
  StoredScan,
  UnknownColumn,
} from "../../store/mod.ts";
import type { ServerOrder } from "../../store/queries/orders.ts";
import type { AnswerOf, FacetName, ListedServer, MapLayer } from "./schemas.ts";

/**
 * Filters of servers: those of the database, and those of country and operator. In the filters of a URL, a
 * time below 0 is an age: that long before now.
 */
export interface DashboardFilters extends Omit<ServerFilters, "unknown"> {
  /** Only servers of which all of these are unknown. */
  readonly unknown?: readonly (UnknownColumn | "country" | "operator")[];
  /** Two-letter country codes, of the databases of `--geoip`. */
  readonly country?: readonly string[];
  /** Numbers of autonomous systems, of the databases of `--geoip`. */
  readonly operator?: readonly number[];
  /** The identity of a scan. Default: the last one that ended, if {@linkcode DashboardFilters.saw} is given. */
  readonly scan?: string;
  /** Only servers that a scan saw so. Default: `found`, if {@linkcode DashboardFilters.scan} is given. */
  readonly saw?: MemberKind;
}

/** A page of servers to read. */
export interface ServersQuery {
  readonly filters: DashboardFilters;
  readonly sort: ServerOrder;
  /** Number of servers, at most 500. */
  readonly limit: number;
  /** Default: the first page. */
  readonly cursor?: PageCursor;
  /** Whether rows that certainly belong to one server are shown as one. Default: no. */
  readonly group?: boolean;
}

export interface ServersPage {
  readonly servers: readonly ListedServer[];
  /** The pages before and after this one; null: there is none. */
  readonly previous: PageCursor | null;
  readonly next: PageCursor | null;
  /** Number of rows of all pages; null: not yet counted. */
  readonly total: number | null;
  /** Number of rows that the filters match, and that are shown as a part of another row; null: not yet counted. */
  readonly hidden: number | null;
  /** If rows are grouped: the other rows of the servers of this page, by `servers.id`. */
  readonly others: Readonly<Record<number, OtherRows>>;
}

/** Counts of the servers that the filters match. */
export type Facets = AnswerOf<"facets">;
export type FacetValue = Facets["facets"][FacetName][number];

/** A square of the map: a network with 65,536 cells, each a network of prefix + 16. */
export interface Square {
  /** The first address of the square: an IPv4 address as a number. */
  readonly address: number;
  /** The prefix length of the square. */
  readonly prefix: 0 | 8 | 16;
}

export interface MapQuery {
  /** Default: the smallest square with all servers that the filters match. */
  readonly square?: Square;
  readonly layer: MapLayer;
  readonly filters: DashboardFilters;
}

/** The cells of a map. A cell that is not listed has the value 0. */
export interface MapCells {
  /** The square that is shown. */
  readonly square: Square;
  /** Indexes of cells in the order of addresses (not of the curve), ascending. */
  readonly cells: readonly number[];
  /**
   * Values of these cells: number of servers, of online servers, minutes since the last probe of a
   * server (`age`); `scanned`: 1 asked, 2 excluded, 3 both.
   */
  readonly values: readonly number[];
  readonly servers: number;
}

/** A time in the history of one server with equal values. A value is null if it is unknown. */
export interface HistoryPoint {
  readonly at: number;
  /** The end of that time: the server was watched until then. That of a single observation is `at`. */
  readonly until: number;
  /** Whether the server was online; in a step, at any time. */
  readonly online: boolean;
  /** The share of the watched time in which the server was online, 0 to 1; null: not watched. */
  readonly onlineShare: number | null;
  /** Number of players; of a step, the mean while the server was online. */
  readonly players: number | null;
  readonly playersMost: number | null;
  readonly slots: number | null;
  /** Latency of the observation; of a step, the mean, the least and the greatest of all. */
  readonly latencyMs: number | null;
  readonly latencyLeast: number | null;
  readonly latencyMost: number | null;
}

export interface History {
  readonly from: number;
  readonly to: number;
  /** Length of a step, milliseconds; 0: each change is a point, and each day that was pruned. */
  readonly step: number;
  readonly points: readonly HistoryPoint[];
  /** Times in which no watch watched the server. Of a day that was pruned, all of it or nothing. */
  readonly unwatched: readonly { readonly from: number; readonly to: number }[];
  /** The most players at one time, and when; null: unknown. */
  readonly peak: { readonly players: number; readonly at: number } | null;
}

/** The raw bytes of the last reply in a protocol. */
export interface StoredReply {
  readonly protocol: string;
  readonly seenAt: number;
  /** Number of bytes of the reply, of which {@linkcode bytes} has at most the first 32,768. */
  readonly size: number;
  readonly bytes: Uint8Array;
}

/** Number of days whose uptime is known one by one. */
export const UPTIME_DAYS = 90;

export interface ServerDetails {
  readonly server: ListedServer;
  readonly tags: readonly string[];
  readonly notes: string | null;
  /** Names of players as last published. */
  readonly players: readonly string[];
  /** The server of which this one is an alias, and the servers that are aliases of this one. */
  readonly aliasOf: { readonly id: number; readonly key: string } | null;
  readonly aliases: readonly { readonly id: number; readonly key: string }[];
  /** The other rows that certainly belong to this server; null: there are none. */
  readonly others: OtherRows | null;
  readonly uptime: RecentUptime;
  /** The uptime of each of the last {@linkcode UPTIME_DAYS} days on which it was watched. */
  readonly days: readonly DayUptime[];
  /** null: the role of the database may not read them. */
  readonly replies: readonly StoredReply[] | null;
  readonly events: readonly StoredEvent[];
}

/** Events to read, the newest first. */
export interface EventsQuery extends Omit<NewestEvents, "servers" | "onBroken"> {
  /** `servers.id`, or the name of a server: its endpoint, or a host whose servers are all meant. */
  readonly server?: number | string;
  /** Only events of servers in one of these networks. */
  readonly network?: readonly string[];
}

/** A trend of all servers, or of those with one value of a property. */
export type Trend = AnswerOf<"trends">["trends"][number];
export type TrendPoint = Trend["points"][number];

/** The days of trends. */
export type TrendDays = 1 | 7 | 30 | 365;

export interface TrendsQuery {
  /** Default: a day if all values of the last week are of the last day, or else a week. */
  readonly days?: TrendDays;
  /**
   * The property whose most frequent values have a trend each. Default: one trend of all servers.
   */
  readonly by?: "edition" | "software" | "version" | "port" | "protocol";
}

export interface Trends {
  readonly days: TrendDays;
  readonly trends: readonly Trend[];
}

/** Kinds of changes that the start page counts. */
export const CHANGE_KINDS = ["new", "back", "lost", "offline", "online"] as const;

/** Servers of one network that went offline or came back at one time. */
export interface Incident {
  /** The first and the last change with which it starts, Unix milliseconds. */
  readonly at: number;
  readonly until: number;
  /** When the last server came back that is back; null: none is, or none was seen going offline. */
  readonly backAt: number | null;
  /** The network or address; null: unknown. */
  readonly network: string | null;
  /** The operator of all servers; null: unknown, or several. */
  readonly operator: string | null;
  /** Number of servers that went offline. */
  readonly down: number;
  /** Number of these that are back; if none went offline, of servers that came back. */
  readonly back: number;
  /** The server, if it is the only one, and is stored. */
  readonly server:
    | { readonly id: number; readonly key: string; readonly name: string | null }
    | null;
}

/** What changed in the last day. */
export interface Changes {
  /** Start of the day, Unix milliseconds. */
  readonly since: number;
  /** Number of changes in each hour, the oldest first. */
  readonly counts: Readonly<Record<typeof CHANGE_KINDS[number], readonly number[]>>;
  /** The newest incidents, those of several servers first. In the order of times, the newest first. */
  readonly incidents: readonly Incident[];
  /** Number of further incidents. */
  readonly others: number;
  /** Whether only the newest changes were read. */
  readonly isCut: boolean;
}

/** Events of a page that are one incident. */
export interface EventGroup {
  readonly incident: Incident;
  /** Positions of its events in the page. */
  readonly events: readonly number[];
}

/** A page of events, of which some belong together. */
export interface GroupedEvents extends EventsPage {
  /** The incidents of several servers. */
  readonly groups: readonly EventGroup[];
}

/** The start page. */
export interface Overview {
  readonly servers: number;
  readonly online: number;
  readonly players: number;
  /** Servers that were last probed more than a day ago. */
  readonly stale: number;
  /** When the newest reply arrived; null: none. */
  readonly newestReplyAt: number | null;
  readonly newest: readonly ListedServer[];
  readonly running: readonly StoredScan[];
  readonly changes: Changes;
}

/**
 * A database for the dashboard. Methods reject with {@linkcode DataError} where the database cannot
 * be read.
 */
export interface DashboardData {
  overview(): Promise<Overview>;
  servers(query: ServersQuery): Promise<ServersPage>;
  /** @param group Whether rows that certainly belong to one server count once. Default: no. */
  facets(filters: DashboardFilters, group?: boolean): Promise<Facets>;
  /**
   * The servers that a name stands for: the one with this key, or all of this host, with the port if
   * the name has one.
   */
  named(name: string): Promise<readonly NumberedServer[]>;
  /** The server with a number (`servers.id`); `undefined`: there is none. */
  server(id: number): Promise<ServerDetails | undefined>;
  /**
   * @param step Minimum length of a step, milliseconds. Default: each change is a point, if they are
   * few.
   */
  history(id: number, from: number, to: number, step?: number): Promise<History>;
  /**
   * The mean number of players in each of the last 24 complete hours, the oldest first, by `servers.id`; null: not
   * watched, or offline. Servers without any are missing.
   */
  hourlyPlayers(ids: readonly number[]): Promise<ReadonlyMap<number, readonly (number | null)[]>>;
  /** Those of some `servers.id` whose servers have not opted out. */
  withoutOptedOut(ids: readonly number[]): Promise<readonly number[]>;
  /** The time of the first observation of some servers at a time or later; null: there is none. */
  observedSince(ids: readonly number[], since: number): Promise<number | null>;
  /**
   * The icon with a SHA-256 hash, base64-decoded; `undefined`: none, or it is no PNG of at most 128
   * × 128.
   */
  icon(hash: string): Promise<Uint8Array | undefined>;
  /** The status of a server; `undefined`: the database has none, or the server opted out. */
  status(query: StatusQuery): Promise<StoredStatus | undefined>;
  /** Whether an address opted out: `192.0.2.1`. */
  isOptedOut(address: string): Promise<boolean>;
  map(query: MapQuery): Promise<MapCells>;
  trends(query: TrendsQuery): Promise<Trends>;
  events(query: EventsQuery): Promise<GroupedEvents>;
  /** The newest scans and watches, at most 100. */
  scans(): Promise<readonly StoredScan[]>;
  /** The scans and watches that run, also stale ones, and those with identities, at most 100. */
  runningScans(ids: readonly string[]): Promise<readonly StoredScan[]>;
  scan(id: string): Promise<StoredScan | undefined>;
  /** The last scan before one with the same targets; `undefined`: none. */
  scanBefore(id: string): Promise<StoredScan | undefined>;
  /** The parts of a scan that run, and those that failed too often. */
  parts(scan: string): Promise<ListedParts>;
  /** The servers of a running scan or a watch that replied last, the newest first. */
  finds(scan: string, limit: number): Promise<readonly ListedServer[]>;
  /** What a scan saw: numbers of servers, also while it runs, and the servers first seen last of each kind. */
  members(scan: string, kinds: readonly MemberKind[], limit: number): Promise<ScanMembers>;
}

/** What a scan saw of servers. */
export interface ScanMembers {
  readonly counts: MemberCounts;
  /** Some servers of each kind. */
  readonly servers: Partial<Readonly<Record<MemberKind, readonly ListedServer[]>>>;
}

/** A server that a client of the status API names. */
export interface StatusQuery {
  /** The address in canonical form, or the name in lower case and A-labels. */
  readonly host: string;
  readonly port: number;
  readonly edition: "java" | "bedrock";
  /** Whether an SRV record of the name may lead to the server. */
  readonly mayHaveService: boolean;
  /** Whether the uptime is wanted. Default: no. */
  readonly hasUptime?: boolean;
}

/** A server of the status API, and its icon; null: none, or it is no PNG of at most 128 × 128. */
export interface StoredStatus {
  readonly server: ListedServer;
  readonly icon: Uint8Array | null;
  /** The uptime of the last 30 days. Default: it was not wanted. */
  readonly uptime?: RecentUptime["30d"];
}

/** Why the data cannot be read now. */
export type DataTrouble = "slow" | "locked" | "gone" | "schema" | "unreachable" | "denied";

/** The data cannot be read now; a later try may succeed. */
export class DataError extends Error {
  /** @param message A sentence for a page. */
  constructor(readonly trouble: DataTrouble, message: string) {
    super(message);
    this.name = "DataError";
  }
}
