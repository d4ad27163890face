/**
 * Collects what a report shows from a stream of servers.
 *
 * @module
 */
import { parseHost } from "../../core/address.ts";
import type { GeoipLookup, GeoipValues } from "../../app/geoip/mod.ts";
import type { StoredRecord } from "../../store/mod.ts";
import {
  FacetCounts,
  isGeoipFacet,
  listedValues,
  type NamedValue,
} from "../server_index/facets.ts";
import { smallestSquare } from "../server_index/map_cells.ts";
import type { Facets, FacetValue, MapCells } from "../queries/dashboard_data.ts";
import { type FacetName, FACETS } from "../queries/schemas.ts";

/** The columns of servers that a row shows. */
const ROW_COLUMNS = [
  ...[
    "host",
    "port",
    "online",
    "name",
    "motd",
    "players_online",
    "players_max",
    "version",
    "protocol_version",
  ] as const,
  ...["software", "edition", "protocols", "probed_at", "latency_ms"] as const,
] as const satisfies readonly (keyof StoredRecord)[];

/** A server of a row, with country and operator of its address. */
export type ReportedServer = Pick<StoredRecord, typeof ROW_COLUMNS[number]> & GeoipValues;

export interface ReportData {
  /** Counts of all servers. */
  readonly facets: Facets;
  /** The servers with rows: those with the most players, the online ones first. */
  readonly rows: readonly ReportedServer[];
  /** The smallest square with all IPv4 addresses, and its servers; `undefined`: none has such an address. */
  readonly map: MapCells | undefined;
  /** When the oldest and the newest reply arrived, Unix milliseconds; null: none did. */
  readonly replies: { readonly oldest: number; readonly newest: number } | null;
}

/** Maximum length of a value, UTF-16 units. */
const MAX_TEXT = 64;

/** Collects the data of a report. Only the rows and the addresses stay in memory. */
export class ReportCollector {
  readonly #facets = FACETS.map((name) => [name, new FacetCounts(name)] as const);
  readonly #addresses: number[] = [];
  #rows: ReportedServer[] = [];
  #totals = { servers: 0, online: 0, players: 0 };
  #replies: { oldest: number; newest: number } | null = null;

  /** @param limit Maximum number of rows. */
  constructor(private readonly limit: number, private readonly geoipOf: GeoipLookup) {}

  add(record: StoredRecord): void {
    const geoip = this.geoipOf(record.host);
    const server = { ...record, ...geoip };
    const players = server.online ? server.players_online ?? 0 : 0;
    this.#totals.servers++;
    this.#totals.online += Number(server.online);
    this.#totals.players += players;
    const counts = { servers: 1, online: Number(server.online), players };
    for (const [name, sums] of this.#facets) {
      for (const one of valuesOf(name, server)) sums.add(one, counts);
    }
    const address = parseHost(server.host)?.address;
    if (typeof address === "number") this.#addresses.push(address);
    if (server.protocol !== "") this.#addReply(server.seen_at);
    this.#rows.push(rowOf(record, geoip));
    if (this.#rows.length >= 2 * this.limit + 1000) this.#rows = this.#best();
  }

  /** The data of all servers so far. */
  result(): ReportData {
    return {
      facets: {
        ...this.#totals,
        totals: Object.fromEntries(
          FACETS.map((name) => [name, this.#totals.servers]),
        ) as Record<FacetName, number>,
        facets: Object.fromEntries(
          this.#facets.map(([name, sums]) => [
            name,
            isGeoipFacet(name) && sums.isUnknown ? [] : sums.mostFrequent(),
          ]),
        ) as Record<FacetName, FacetValue[]>,
      },
      rows: this.#best(),
      map: this.#addresses.length === 0 ? undefined : mapOf(this.#addresses),
      replies: this.#replies,
    };
  }

  #addReply(at: number): void {
    const { oldest, newest } = this.#replies ?? { oldest: at, newest: at };
    this.#replies = { oldest: Math.min(oldest, at), newest: Math.max(newest, at) };
  }

  #best(): ReportedServer[] {
    return this.#rows.toSorted((a, b) =>
      Number(b.online) - Number(a.online) || (b.players_online ?? -1) - (a.players_online ?? -1)
    ).slice(0, this.limit);
  }
}

/** The row of a server. Other columns would take most of the memory. */
function rowOf(record: StoredRecord, geoip: GeoipValues): ReportedServer {
  const columns = ROW_COLUMNS.map((name) => [name, record[name]]);
  return { ...Object.fromEntries(columns), ...geoip } as ReportedServer;
}

function valuesOf(name: FacetName, server: StoredRecord & GeoipValues): readonly NamedValue[] {
  const { asn, operator } = server;
  switch (name) {
    case "protocol":
      return listedValues(name, server.protocols);
    case "flag":
      return listedValues(name, server.flags);
    case "port":
      return [{ value: server.port }];
    case "operator":
      return [{ value: asn, ...operator !== null && { label: operator } }];
    default:
      return [{ value: server[name]?.slice(0, MAX_TEXT) ?? null }];
  }
}

/** The smallest square with all addresses, and the number of servers in its cells. */
function mapOf(addresses: readonly number[]): NonNullable<ReportData["map"]> {
  const [least, most] = addresses.reduce(
    ([least, most], one) => [Math.min(least, one), Math.max(most, one)],
    [Infinity, -Infinity],
  );
  const square = smallestSquare(least, most);
  const counts = new Map<number, number>();
  for (const one of addresses) {
    const cell = Math.floor((one - square.address) / 2 ** (16 - square.prefix));
    counts.set(cell, (counts.get(cell) ?? 0) + 1);
  }
  const cells = [...counts.keys()].sort((a, b) => a - b);
  return {
    square,
    cells,
    values: cells.map((cell) => counts.get(cell)!),
    servers: addresses.length,
  };
}
