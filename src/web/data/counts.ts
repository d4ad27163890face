/**
 * Counts servers by SQL: facets, and cells of the map.
 *
 * @module
 */
import type { Database } from "../../store/database/database.ts";
import { whereClause } from "../../store/queries/page.ts";
import {
  type DashboardFilters,
  type FacetName,
  FACETS,
  type Facets,
  type FacetValue,
  type MapCells,
  type MapQuery,
} from "./dashboard_data.ts";
import { filterConditions, ipv4Of } from "./filter_conditions.ts";

const FROM = "from servers s join server_state t on t.server = s.id";
const SUMS = "count(*) as servers, sum(case when t.online = true then 1 else 0 end) as online, " +
  "sum(case when t.online = true then coalesce(t.players_online, 0) else 0 end) as players";
/** Maximum number of values of a facet. */
const VALUES = 30;

/** Counts the servers that filters match, and the values of each facet. */
export async function countFacets(database: Database, filters: DashboardFilters): Promise<Facets> {
  const { sql, values } = whereClause(await filterConditions(database, filters));
  const [all] = await database.rows(`select ${SUMS} ${FROM} ${sql}`, values);
  const facets: Partial<Record<FacetName, FacetValue[]>> = {};
  for (const name of FACETS) facets[name] = await countFacet(database, filters, name);
  return {
    servers: Number(all.servers),
    online: Number(all.online ?? 0),
    players: Number(all.players ?? 0),
    facets: facets as Record<FacetName, FacetValue[]>,
  };
}

async function countFacet(
  database: Database,
  filters: DashboardFilters,
  name: FacetName,
): Promise<FacetValue[]> {
  if (name === "country" || name === "operator") return [];
  const conditions = await filterConditions(database, { ...filters, [name]: undefined });
  const { sql, values } = whereClause(conditions);
  const [value, join] = name === "flag" || name === "protocol"
    ? ["f.value", `cross join ${listOf(database, `s.${name}s`)} f`]
    : [`s.${name}`, ""];
  const rows = await database.rows(
    `select ${value} as value, ${SUMS} ${FROM} ${join} ${sql} group by ${value} ` +
      `order by count(*) desc, ${value} limit ${VALUES}`,
    values,
  );
  return rows.map((row) => ({
    value: row.value,
    servers: Number(row.servers),
    online: Number(row.online),
    players: Number(row.players),
  }));
}

function listOf({ engine }: Database, column: string): string {
  return engine === "postgres"
    ? `(select jsonb_array_elements_text(${column}) as value)`.replace(/^/, "lateral ")
    : `json_each(case when json_valid(${column}) then ${column} else '[]' end)`;
}

/** Counts the servers of each cell of the map. */
export async function countCells(
  database: Database,
  { address: first, prefix, layer, filters }: MapQuery,
): Promise<MapCells> {
  const { sql, values } = whereClause(await filterConditions(database, filters));
  const cells = new Map<number, { servers: number; online: number; probedAt: number }>();
  let servers = 0;
  const size = 2 ** (32 - prefix);
  const rows = database.stream(`select s.address, t.online, t.probed_at ${FROM} ${sql}`, values);
  for await (const row of rows) {
    const address = ipv4Of(row.address);
    if (address === undefined || address < first || address >= first + size) continue;
    servers++;
    const index = Math.floor((address - first) / (size / 65_536));
    const cell = cells.get(index) ?? { servers: 0, online: 0, probedAt: 0 };
    cells.set(index, {
      servers: cell.servers + 1,
      online: cell.online + Number(row.online),
      probedAt: Math.max(cell.probedAt, Number(row.probed_at)),
    });
  }
  const now = database.now();
  const sorted = [...cells].sort(([a], [b]) => a - b);
  return {
    cells: sorted.map(([index]) => index),
    values: sorted.map(([, cell]) =>
      layer === "age"
        ? Math.max(0, Math.floor((now - cell.probedAt) / 60_000))
        : layer === "online"
        ? cell.online
        : cell.servers
    ),
    servers,
  };
}
