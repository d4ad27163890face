/** The queries of pages of servers, and those of docs/database.md. */
import type { ServerFilters } from "../../src/store/queries/filters.ts";
import { SERVER_ORDERS, type ServerOrder } from "../../src/store/queries/orders.ts";
import { LATE_MS, NOW, ROLLUP_EVERY } from "./fill.ts";

/** Filters with values that many and few servers have. */
export const FILTERS: readonly (readonly [name: string, filters: ServerFilters])[] = [
  ["(all)", {}],
  ["--online", { online: true }],
  ["--offline", { online: false }],
  ["--software paper", { software: ["paper"] }],
  ["--software 'mp 5.2'", { software: ["mp 5.2"] }],
  ["--software 'mp 5.7'", { software: ["mp 5.7"] }],
  ["--software 'mp 5.20'", { software: ["mp 5.20"] }],
  ["--software rare", { software: ["rare"] }],
  ["--game-version 1.21", { version: ["1.21"] }],
  ["--game-version 1.14", { version: ["1.14"] }],
  ["--game-version 1.15.3", { version: ["1.15.3"] }],
  ["--edition bedrock", { edition: ["bedrock"] }],
  ["--edition java", { edition: ["java"] }],
  ["--edition education", { edition: ["education"] }],
  ["--protocol query", { protocol: ["query"] }],
  ["--protocol sqp", { protocol: ["sqp"] }],
  ["--confidence B,C", { confidence: ["B", "C"] }],
  ["--no-aliases", { noAliases: true }],
  ["--edition java --no-aliases", { edition: ["java"], noAliases: true }],
  ["--port 19132", { port: [19132] }],
  ["--port 18056", { port: [18056] }],
  ["--port 18056,25565,40000", { port: [18056, 25565, 40000] }],
  ["--network 10.0.0.0/8", { network: ["10.0.0.0/8"] }],
  ["--network 10.1.0.0/18", { network: ["10.1.0.0/18"] }],
  ["--network 10.1.0.0/24", { network: ["10.1.0.0/24"] }],
  ["--network of two /18", { network: ["10.1.0.0/18", "10.9.0.0/18"] }],
  ["--flag formatted", { flag: ["formatted"] }],
  ["--flag cutShort", { flag: ["cutShort"] }],
  ["--flag countClamped", { flag: ["countClamped"] }],
  ["--flag countClamped,cutShort", { flag: ["countClamped", "cutShort"] }],
  ["--since, last 20 days", { since: NOW - 20 * 86_400_000 }],
  ["--since, the last addresses", { since: NOW - LATE_MS }],
  ["--since, last hour", { since: NOW - 3_600_000 }],
  ["--min-players 5", { minPlayers: 5 }],
  ["--min-players 100", { minPlayers: 100 }],
  ["--max-players 0", { maxPlayers: 0 }],
  ["--min-players 40 --max-players 50", { minPlayers: 40, maxPlayers: 50 }],
];

/** Filters for which a text index is needed. */
export const TEXT_FILTERS: typeof FILTERS = [
  ["--text server", { text: ["server"] }],
  ["--text skyblock", { text: ["skyblock"] }],
  ["--text zebra", { text: ["zebra"] }],
  ["--text server --max-players 0", { text: ["server"], maxPlayers: 0 }],
  ["--text server --max-players 5 --online", { text: ["server"], maxPlayers: 5, online: true }],
];

/** All sort orders. */
export const ORDERS = Object.keys(SERVER_ORDERS) as readonly ServerOrder[];

/** The documented queries of an engine, with the key of a server that has rollups. */
export async function documentedQueries(
  engine: "sqlite" | "postgres",
  hasTextIndex: boolean,
): Promise<string[]> {
  const text = await Deno.readTextFile(new URL("../../docs/database.md", import.meta.url));
  const section = text.split("## Queries\n")[1].split("\n## ")[0];
  const blocks = [...section.matchAll(/```(sql|text)\n([^]*?)```/g)].flatMap(([, kind, sql]) =>
    sql.split(";").map((one) => ({ kind, sql: one.trim() })).filter((one) => one.sql !== "")
  );
  const isOther = (sql: string) =>
    engine === "postgres"
      ? /unixepoch|server_text/.test(sql)
      : /generate_series|date_trunc/.test(sql);
  return blocks.filter(({ sql }) => !isOther(sql))
    .filter(({ sql }) =>
      hasTextIndex
        ? !(engine === "sqlite" && /lower\(name\)/.test(sql))
        : !/server_text|lower\(name\)/.test(sql)
    )
    .map(({ sql }) => withValues(engine, sql));
}

/** A query at the time of the rollups, for a server that has some. */
function withValues(engine: "sqlite" | "postgres", sql: string): string {
  const server = 1 + ROLLUP_EVERY * 4321;
  return sql.replaceAll(
    "'play.example.org:25565'",
    `(select key from servers where id = ${server})`,
  )
    .replaceAll("unixepoch('now', 'start of day')", String(NOW / 1000))
    .replaceAll("unixepoch('now')", String(NOW / 1000))
    .replaceAll("now()", `to_timestamp(${NOW / 1000})`)
    .replace(/ at = (\d{13})/, engine === "postgres" ? " at = to_timestamp($1 / 1000)" : "$&");
}
