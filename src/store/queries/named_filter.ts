/**
 * The filter of servers by name: that by which they were requested, or that which they publish.
 *
 * @module
 */
import type { Database, Value } from "../database/database.ts";
import { identityOf, parseServerName } from "../rows/identity.ts";
import type { ListedRecord } from "../rows/stored_record.ts";
import { nameKey } from "../rows/stored_values.ts";
import type { ServerCondition } from "./server_conditions.ts";

/** The columns that determine whether a server has a name. Default of the key: that of a new server. */
type NamedServer =
  & Pick<ListedRecord, "host" | "port" | "requested_as" | "name">
  & { readonly key?: string };

/** The name and the port of a value such as `play.example.org:25565` or `play.example.org`. */
function wantedName(text: string) {
  const { host, port } = parseServerName(text) ?? { host: text, port: undefined };
  return { host, key: nameKey(host), port };
}

/** The condition of the filter `named`: a host name, or the server's own name as a whole in any case. */
export function hasName(
  _: Database,
  { named = [] }: { readonly named?: readonly string[] },
): ServerCondition {
  const each = named.map(wantedName).flatMap(({ host, key, port }) =>
    ([["hostname", host], ["name_key", key]] as const).map(([column, value]) => ({
      sql: (s: string) => `${s}${column} = ?${port === undefined ? "" : ` and ${s}port = ?`}`,
      values: [value, ...port === undefined ? [] : [port]] as Value[],
    }))
  );
  const values = each.flatMap((one) => one.values);
  const ids = each.map(({ sql }) => `select id from servers where ${sql("")}`).join(" union ");
  return {
    table: "s",
    sql: `(${each.map(({ sql }) => `coalesce(${sql("s.")}, false)`).join(" or ") || "false"})`,
    values,
    ...ids !== "" && { ids: { sql: ids, values } },
  };
}

/** A test of whether servers have one of some names. */
export function isNamed(named: readonly string[]): (server: NamedServer) => boolean {
  const wanted = named.map(wantedName);
  return (server) => {
    const own = nameKey(server.name);
    const hostname = parseServerName(server.key ?? identityOf(server)?.key ?? "")?.host;
    return wanted.some(({ host, key, port }) =>
      (hostname === host || own === key) && (port === undefined || port === server.port)
    );
  };
}
