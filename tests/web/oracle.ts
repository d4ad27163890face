/** Servers for tests of the dashboard's data, and the expected answers, computed from rows in memory. */
import { compareVersions } from "../../src/classify/game_versions.ts";
import type { GeoipValues } from "../../src/app/geoip/geoip_lookup.ts";
import { parseAddress } from "../../src/core/address.ts";
import type { Database } from "../../src/store/database/database.ts";
import { RECORD_COLUMNS, RECORD_TABLES, recordOf } from "../../src/store/rows/stored_record.ts";
import { foldedKey, versionKey } from "../../src/store/rows/stored_values.ts";
import { tagsExpression, tagsIn } from "../../src/store/rows/server_tags.ts";
import { Store } from "../../src/store/store.ts";
import type { DashboardFilters, FacetValue } from "../../src/web/queries/dashboard_data.ts";
import type { FacetName, ListedServer } from "../../src/web/queries/schemas.ts";
import { parseNetwork } from "../../src/store/queries/network_filter.ts";
import { NASTY, record } from "../store/records.ts";

/** Number of ordinary servers. */
const SERVERS = 150;

/** Servers with frequent and rare values in each column that a filter reads, and hostile ones. */
export async function fillServers(database: Database): Promise<void> {
  const store = new Store(database, () => Promise.resolve());
  await store.write([
    ...Array.from({ length: SERVERS }, (_, i) =>
      record(i % 9 === 0 ? 25565 : i % 70 + 1, {
        host: i % 7 === 0 ? `2001:db8::${i.toString(16)}` : `10.0.${i % 3}.${i % 200}`,
        edition: ["java", "bedrock", null, "pocket"][i % 4],
        protocol: i % 2 === 0 ? "slp" : "raknet",
        protocols: i % 29 === 1
          ? []
          : i % 6 === 0
          ? ["slp"]
          : i % 2 === 0
          ? ["slp", "query"]
          : ["raknet"],
        requested_as: i % 12 === 5 ? `Play${i % 5}.example.org` : null,
        software: ["Paper", "Paper", "PocketMine-MP 5.1", null, `Rare ${i % 40}`][i % 5],
        software_confidence: ["A", "B", "C", null][i % 4],
        version: i % 17 === 0 ? null : `1.${i % 13}.${i % 3}`,
        name: i % 50 === 0 ? `Zebra ${i}` : `Skyblock ${(i * 7919) % SERVERS}`,
        motd_plain: i % 31 === 0 ? "100% Ärger" : "welcome",
        map: i % 13 === 0 ? "İstanbul" : "world",
        flags: i % 3 === 0 ? ["cutShort"] : i % 41 === 0 ? ["countClamped", "cutShort"] : [],
        plugins: i % 10 === 4 ? [{ name: `Essentials${i % 3}`, version: "2" }] : null,
        extras: i % 10 === 6 ? { slp: { mods_count: 1, mods: { [`Create_${i % 4}`]: "" } } } : null,
        alias_of: i % 8 === 3 ? "10.0.0.0:25565" : null,
        players_online: i % 5 === 0 ? null : (i * 31) % 90, // 6, 41 and 61 too: FILTERS have them
        // Never fewer than players, which would change the order: some are full.
        players_max: i % 4 === 0 ? null : i % 4 === 1 ? (i * 31) % 90 || null : 90,
        seen_at: 1000 + i,
      })),
    ...NASTY.map((text, i) =>
      record(1000 + i, {
        ...{ motd: text, motd_plain: text, name: text, version: text, software: text, map: text },
        ...{ edition: "java", flags: [text.slice(0, 100)], seen_at: 5000 },
        players_online: [2 ** 31 - 1, 0, null][i % 3],
      })
    ),
  ]);
  await database.run("update server_state set online = false where server % 4 = 1");
  await database.run(
    "insert into server_tags (tag, server) select 'eu', id from servers where id % 5 = 2",
  );
  await database.run(
    "insert into server_tags (tag, server) select 'a \"b\"', id from servers where id % 100 = 7",
  );
}

/** A place for some of the addresses. */
export function placeOf(host: string): GeoipValues {
  const end = host.charCodeAt(host.length - 1) + host.length;
  return end % 4 === 0
    ? { country: null, asn: null, operator: null }
    : { country: ["DE", "FR"][end % 2], asn: 64500 + end % 3, operator: `Network ${end % 3}` };
}

/** All servers of a database, as pages show them. */
export async function everyServer(
  database: Database,
  geoipOf: (host: string) => GeoipValues,
): Promise<ListedServer[]> {
  const rows = await database.rows(
    `select ${RECORD_COLUMNS}, s.id as id, ${
      tagsExpression(database)
    } as tags from ${RECORD_TABLES} order by s.id`,
  );
  return rows.map((row) => {
    const one = recordOf(row);
    const [id, key] = [Number(row.id), String(row.key)];
    return {
      ...one,
      uptime_30d: null,
      uptime_watched: null,
      tags: tagsIn(String(row.tags)),
      notes: null,
      id,
      key,
      has_icon: false,
      ...geoipOf(one.host),
    };
  });
}

/** Filters with values that many, few and no servers have. */
export const FILTERS: readonly DashboardFilters[] = [
  {},
  ...[["java"], ["java", "pocket"], ["absent"]].map((edition) => ({ edition })),
  ...[["paper"], ["rare 1"], ["rare", "mine"], ["absent"]].map((software) => ({ software })),
  ...[["1.2"], ["1.1", "1.12.0"], ["9"]].map((version) => ({ version })),
  ...[["slp"], ["query", "raknet"], ["absent"]].map((protocol) => ({ protocol })),
  ...[[25565], [3, 4], [60000]].map((port) => ({ port })),
  ...[["10.0.1.0/24"], ["10.0.2.7", "10.0.0.0/28"], ["2001:db8::/64", "10.0.0.0/30"], ["::/0"]]
    .map((network) => ({ network })),
  ...[["cutShort"], ["countClamped", "absent"], ["absent"]].map((flag) => ({ flag })),
  ...[["eu"], ["eu", 'a "b"'], ["absent"]].map((tag) => ({ tag })),
  ...[["A"], ["B", "C"]].map((confidence) => ({ confidence })),
  ...[{ online: true }, { online: false }, { noAliases: true }, { since: 1100 }],
  ...[{ minPlayers: 0 }, { minPlayers: 41, maxPlayers: 61 }, { maxPlayers: 6 }],
  ...["sky", "ZEBRA", "ärger", "0% ä", "ab", "i\u0307stan", "paper", "absent", "rld", "🦆🦆"]
    .map((text) => ({ text: [text] })),
  ...[["software"], ["edition", "software"], ["version"], ["protocol"]]
    .map((unknown) => ({ unknown } as DashboardFilters)),
  ...[["play0.example.org"], ["play1.example.org:12", "play2.example.org"], ["zebra 50"]]
    .map((named) => ({ named })),
  ...[{ mods: ["yes"] }, { plugins: ["no"] }, { text: ["sky", "paper"] }],
  { software: ["paper"], version: ["1.2"], online: true },
  { edition: ["java"], protocol: ["query"], port: [25565, 3], minPlayers: 5 },
  { text: ["sky"], software: ["rare"], network: ["10.0.0.0/16"] },
];

/** Filters of places. */
export const PLACE_FILTERS: readonly DashboardFilters[] = [
  { country: ["DE"] },
  { country: ["DE", "FR"], online: true },
  { operator: [64501, 64502] },
  { country: ["XX"] },
  { unknown: ["country"] },
  { full: true },
  { full: false },
  { unknown: ["operator", "software"] },
];

/** Whether a server fulfils all filters. */
export function matches(one: ListedServer, filters: DashboardFilters): boolean {
  return Object.entries(filters).every(([name, value]) =>
    value === undefined || CHECKS[name as keyof RowFilters](one, value as never)
  );
}

/** Filters of rows: what scans saw is in no row. */
type RowFilters = Omit<DashboardFilters, "scan" | "saw">;

type Checks = {
  readonly [Name in keyof Required<RowFilters>]: (
    one: ListedServer,
    value: Required<RowFilters>[Name],
  ) => boolean;
};

const CHECKS: Checks = {
  edition: (one, all) => all.some((text) => one.edition === text),
  software: (one, all) =>
    all.some((text) =>
      one.software !== null && foldedKey(one.software).includes(text.toLowerCase())
    ),
  version: (one, all) => {
    const key = versionKey(one.version);
    return all.some((text) => key === versionKey(text) || key.startsWith(`${versionKey(text)}.`));
  },
  protocol: (one, all) => all.some((text) => one.protocols.includes(text)),
  port: (one, all) => all.includes(one.port),
  network: (one, all) =>
    all.map(parseNetwork).some(({ start, end }) => {
      const address = parseAddress(one.host)!;
      return typeof address === typeof start && address >= start && address < end;
    }),
  flag: (one, all) => all.some((text) => one.flags.includes(text)),
  tag: (one, all) => all.some((text) => one.tags.includes(text)),
  country: (one, all) => one.country !== null && all.includes(one.country),
  operator: (one, all) => one.asn !== null && all.includes(one.asn),
  confidence: (one, all) => all.some((text) => one.software_confidence === text),
  online: (one, value) => one.online === value,
  minPlayers: (one, least) => (one.players_online ?? -1) >= least,
  maxPlayers: (one, most) => one.players_online !== null && one.players_online <= most,
  full: (one, value) =>
    one.players_online !== null && one.players_max !== null && one.players_max > 0 &&
    (value ? one.players_online >= one.players_max : one.players_online < one.players_max),
  noAliases: (one, value) => !value || one.alias_of === null,
  text: (one, text) =>
    text.every((part) =>
      [one.name, one.motd_plain, one.map, one.software].some((column) =>
        column?.toLowerCase().includes(part.toLowerCase())
      )
    ),
  mods: (one, wanted) => wanted.includes(one.extras?.slp?.mods === undefined ? "no" : "yes"),
  plugins: (one, wanted) => wanted.includes(one.plugins?.length ? "yes" : "no"),
  replied: (one, at) => one.seen_at >= at,
  down: (one, at) => !one.online && one.seen_at < at,
  stale: (one, at) => one.probed_at < at,
  unknown: (one, names) =>
    names.every((name) =>
      name === "protocol"
        ? one.protocols.length === 0
        : (one[name === "operator" ? "asn" : name] ?? "") === ""
    ),
  named: (one, all) =>
    all.some((text) => {
      const [name, port] = text.split(":");
      return (one.requested_as?.toLowerCase() === name || one.name?.toLowerCase() === name) &&
        (port === undefined || one.port === Number(port));
    }),
  since: (one, at) => one.changed_at > at,
};

/** The values of each facet that a server counts for. */
const FACET_VALUES: Readonly<
  Record<FacetName, (one: ListedServer) => readonly (string | number | null)[]>
> = {
  edition: (one) => [one.edition],
  software: (one) => [one.software?.slice(0, 64) ?? null],
  version: (one) => [one.version?.slice(0, 64) ?? null],
  protocol: (one) => one.protocols.length === 0 ? [null] : one.protocols,
  port: (one) => [one.port],
  flag: (one) => one.flags,
  country: (one) => [one.country],
  operator: (one) => [one.asn],
};

/** The values of a facet, the most frequent first, and equally frequent ones in the order of text. */
export function expectedFacet(
  servers: readonly ListedServer[],
  filters: DashboardFilters,
  name: FacetName,
): Omit<FacetValue, "label">[] {
  const counts = new Map<
    string | number | null,
    { servers: number; online: number; players: number }
  >();
  for (const one of servers) {
    if (!matches(one, { ...filters, [name]: undefined })) continue;
    for (const value of FACET_VALUES[name](one)) {
      const count = counts.get(value) ?? { servers: 0, online: 0, players: 0 };
      count.servers++;
      if (one.online) count.online++;
      if (one.online) count.players += one.players_online ?? 0;
      counts.set(value, count);
    }
  }
  return inFacetOrder([...counts].map(([value, count]) => ({ value, ...count })), name);
}

/**
 * Values of a facet in an order that does not depend on the engine: equally frequent versions by release,
 * the newest first, other values as texts.
 */
export function inFacetOrder<Value extends Pick<FacetValue, "value" | "servers">>(
  values: readonly Value[],
  name: FacetName,
): Value[] {
  const order = (a: string, b: string) =>
    name === "version" ? compareVersions(b, a) : a < b ? -1 : 1;
  return values.toSorted((a, b) =>
    b.servers - a.servers || order(String(a.value), String(b.value))
  );
}
