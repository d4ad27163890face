/**
 * The filters of mods and plugins: whether a server lists any, and one with a part of a name.
 *
 * @module
 */
import { MODS_FACTS } from "../../protocols/declared_facts.ts";
import type { Database } from "../database/database.ts";
import type { ListedRecord } from "../rows/stored_record.ts";
import type { ServerCondition } from "./server_conditions.ts";

/** Lists of a server's status that filters search. */
export type SearchedList = "mods" | "plugins";

/** What a filter has beside parts of names: whether a server lists any. */
export const [SOME_LISTED, NONE_LISTED] = ["yes", "no"] as const;

/** A test of whether a server lists mods or plugins with one of some values of a filter. */
export function listsParts(
  list: SearchedList,
  wanted: readonly string[],
): (server: Pick<ListedRecord, "extras" | "plugins">) => boolean {
  const parts = partsOfNames(wanted);
  return (server) => {
    const { count, names } = LISTS[list](server);
    return wanted.includes(count > 0 ? SOME_LISTED : NONE_LISTED) ||
      count > 0 && names.some((name) => parts.some((part) => asciiLower(name).includes(part)));
  };
}

/** The parts of names among the values of a filter. */
export function partsOfNames(wanted: readonly string[]): string[] {
  return wanted.filter((one) => one !== SOME_LISTED && one !== NONE_LISTED).map(asciiLower);
}

/** A text with the letters A to Z in lower case. Both engines convert these alike. */
function asciiLower(text: string): string {
  return text.replace(/[A-Z]/g, (letter) => letter.toLowerCase());
}

type Listing = { readonly count: number; readonly names: readonly string[] };

const LISTS: Readonly<
  Record<SearchedList, (server: Pick<ListedRecord, "extras" | "plugins">) => Listing>
> = {
  mods: ({ extras }) => {
    const facts = extras?.[MODS_FACTS.protocol] ?? {};
    const { [MODS_FACTS.count]: count, [MODS_FACTS.names]: mods } = facts;
    const isObject = typeof mods === "object" && mods !== null && !Array.isArray(mods);
    return {
      count: Number.isInteger(count) ? count as number : 0,
      names: isObject ? Object.keys(mods) : [],
    };
  },
  plugins: ({ plugins }) => ({
    count: plugins?.length ?? 0,
    names: (plugins ?? []).map(({ name }) => name),
  }),
};

/** SQL for whether a server lists any mods or plugins. */
export function hasParts({ engine }: Database, list: SearchedList, server = "x"): string {
  return HAS[engine][list].replaceAll("x.", `${server}.`);
}

const { protocol, count, names } = MODS_FACTS;
const COUNT = `'$.${protocol}.${count}'`;
const COUNT_OF_X = `x.extras->'${protocol}'->'${count}'`;
const MODS = `'$.${protocol}.${names}'`;
const MODS_OF_X = `x.extras->'${protocol}'->'${names}'`;

const HAS: Readonly<Record<Database["engine"], Readonly<Record<SearchedList, string>>>> = {
  sqlite: {
    mods: "case when json_valid(x.extras) then " +
      `coalesce(json_type(x.extras, ${COUNT}) = 'integer' ` +
      `and json_extract(x.extras, ${COUNT}) > 0, false) else false end`,
    plugins: "case when json_valid(x.plugins) then " +
      "coalesce(json_array_length(x.plugins) > 0, false) else false end",
  },
  postgres: {
    mods: `case jsonb_typeof(${COUNT_OF_X}) when 'number' ` +
      `then (${COUNT_OF_X})::numeric > 0 else false end`,
    plugins: "coalesce(jsonb_path_exists(x.plugins, '$[0]'), false)",
  },
};

/** SQL for whether a server `x` lists a name with a part, in lower case: the parameter of `like`. */
const NAMES: typeof HAS = {
  sqlite: {
    mods: "exists (select 1 from json_each(case when json_valid(x.extras) then x.extras end, " +
      `${MODS}) m where m.key like ? escape '\\')`,
    plugins:
      "exists (select 1 from json_each(case when json_valid(x.plugins) then x.plugins end) m " +
      "where case m.type when 'object' then json_extract(m.value, '$.name') end like ? escape '\\')",
  },
  postgres: {
    mods: `exists (select 1 from jsonb_object_keys(case jsonb_typeof(${MODS_OF_X}) ` +
      `when 'object' then ${MODS_OF_X} else '{}' end) m ` +
      "where lower(m collate \"C\") like ? escape '\\')",
    plugins: "exists (select 1 from jsonb_array_elements(case jsonb_typeof(x.plugins) " +
      "when 'array' then x.plugins else '[]' end) m " +
      "where lower((m->>'name') collate \"C\") like ? escape '\\')",
  },
};

/** The condition of the filter of mods or of plugins. No index finds its servers. */
export function withParts(
  list: SearchedList,
): (
  database: Database,
  filters: { readonly [Name in SearchedList]?: readonly string[] },
) => ServerCondition {
  return (database, { [list]: wanted = [] }) => {
    const parts = partsOfNames(wanted);
    const conditions = [
      ...wanted.includes(SOME_LISTED) ? [hasParts(database, list)] : [],
      ...wanted.includes(NONE_LISTED) ? [`not (${hasParts(database, list)})`] : [],
      ...parts.map(() => `${hasParts(database, list)} and ${NAMES[database.engine][list]}`),
    ];
    // The lists are long. Only this condition reads them: the columns that all conditions read lack them.
    const lists = conditions.join(" or ") || "false";
    return {
      table: "s",
      sql: `exists (select 1 from servers x where x.id = s.id and (${lists}))`,
      values: parts.map((part) => `%${part.replace(/[\\%_]/g, "\\$&")}%`),
    };
  };
}
