/**
 * SQL conditions of the dashboard's filters.
 *
 * @module
 */
import {
  type Database,
  isInList,
  listValue,
  timeParameter,
  type Value,
} from "../../store/database/database.ts";
import { conditionsOf, type ServerFilters, type Sql } from "../../store/queries/conditions.ts";
import { storable } from "../../store/rows/stored_values.ts";
import { type Address, formatAddress } from "../../core/address.ts";
import { parseTarget } from "../../targets/parse.ts";
import type { Range } from "../../targets/ranges.ts";
import { InputError } from "../../core/errors.ts";
import type { DashboardFilters } from "./dashboard_data.ts";

/** The network of a filter: CIDR notation, or one address. */
export function networkOf(text: string): Range<Address> {
  const target = parseTarget(text);
  if ("range" in target && target.port === undefined) return target.range;
  throw new InputError(`Cannot use "${text}" as a network: write 192.0.2.0/24 or 2001:db8::/32`);
}

/** The conditions of servers `s` and states `t` that the filters demand, one for each filter. */
export async function filterConditions(
  database: Database,
  filters: DashboardFilters,
): Promise<Sql[]> {
  const conditions: Sql[] = [];
  const { edition, confidence, protocol, country, operator } = filters;
  const { online, minPlayers, maxPlayers, noAliases, text, since } = filters;
  const add = (sql: string, ...values: Value[]) => conditions.push({ sql, values });
  const addAny = async (given: readonly unknown[] | undefined, all: readonly ServerFilters[]) => {
    if (given?.length) conditions.push(await anyOf(database, all));
  };
  const listed = (column: string, texts: readonly string[] | undefined) => {
    if (texts?.length) {
      add(isInList(database, column, "text"), listValue(database, texts.map(storable)));
    }
  };
  listed("s.edition", edition);
  listed("s.software_confidence", confidence);
  if (protocol?.length) conditions.push(hasProtocol(database, protocol));
  for (const name of ["software", "version", "port", "flag"] as const) {
    await addAny(filters[name], (filters[name] ?? []).map((value) => ({ [name]: value })));
  }
  await addAny(
    filters.network,
    (filters.network ?? []).map((network) => ({ network: networkOf(network) })),
  );
  if (country?.length || operator?.length) add("false");
  if (online !== undefined) add(`t.online = ${online}`);
  if (minPlayers !== undefined) add("coalesce(t.players_online, -1) >= ?", minPlayers);
  if (maxPlayers !== undefined) add("t.players_online <= ?", maxPlayers);
  if (noAliases) add("s.alias_of is null");
  if (text !== undefined) await addAny([text], [{ text }]);
  if (since !== undefined) add(`s.changed_at > ${timeParameter(database)}`, since);
  return conditions;
}

/** The condition that one of several filters matches. */
async function anyOf(database: Database, all: readonly ServerFilters[]): Promise<Sql> {
  const conditions: Sql[] = [];
  for (const filters of all) conditions.push(...await conditionsOf(database, filters));
  return {
    sql: `(${conditions.map(({ sql }) => sql).join(" or ")})`,
    values: conditions.flatMap(({ values }) => values),
  };
}

/** Another program may have written a text that is not JSON, at which SQLite's functions fail. */
function hasProtocol(database: Database, protocols: readonly string[]): Sql {
  const sql = database.engine === "postgres"
    ? "jsonb_exists_any(s.protocols, ?::text[])"
    : "(json_valid(s.protocols) and exists (select 1 from json_each(s.protocols) p " +
      "where p.value in (select value from json_each(?))))";
  return { sql, values: [listValue(database, protocols.map(storable))] };
}

/** An IPv4 address of the database as a number; `undefined`: it is another text. */
export function ipv4Of(value: Value): number | undefined {
  const parts = /^(\d{1,3})\.(\d{1,3})\.(\d{1,3})\.(\d{1,3})$/.exec(String(value));
  if (parts === null) return undefined;
  const address = parts.slice(1).reduce((sum, part) => sum * 256 + Number(part), 0);
  return formatAddress(address) === value ? address : undefined;
}
