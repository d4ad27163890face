/**
 * JSON Schemas (2020-12) of the API's answers, and the types of these. The columns of a server come
 * from the record.
 *
 * @module
 */
import { GEOIP_FIELDS } from "../../app/geoip/geoip_fields.ts";
import type { GeoipValues } from "../../app/geoip/mod.ts";
import type { Field } from "../../core/record.ts";
import { fieldSchema, type JsonSchema } from "../../core/schema.ts";
import { GROUP_RULES, type GroupRule, type SelectedServer } from "../../store/mod.ts";
import { STORED_FIELDS } from "../../store/queries/stored_fields.ts";

/** A server of a page: the columns of `servers --json`, its number, and its country and operator. */
export interface ListedServer extends SelectedServer, GeoipValues {
  /** `servers.id`. */
  readonly id: number;
  /** `servers.key`: the name or address, and the port, as a user types it. */
  readonly key: string;
  /** Whether the database has the icon of `favicon_hash` as a PNG of at most 128 × 128 pixels. */
  readonly has_icon: boolean;
}

export const FACETS = [
  ...["edition", "software", "version", "protocol", "port", "flag"] as const,
  ...["country", "operator"] as const,
] as const;

export type FacetName = typeof FACETS[number];

export const MAP_LAYERS = ["servers", "online", "age", "scanned"] as const;

export type MapLayer = typeof MAP_LAYERS[number];

/**
 * Columns of servers in lists and files: without the names of players, of which the dashboard has no
 * index. The page of a server has them.
 */
export const LISTED_FIELDS: readonly Field[] = STORED_FIELDS.filter(({ name }) =>
  name !== "players"
);

/** A schema of values of a type. No schema has the member `value`. */
export type Schema<Value> = JsonSchema & { readonly value?: Value };
export type ValueOf<Of> = Of extends Schema<infer Value> ? Value : never;
type Properties = Readonly<Record<string, Schema<unknown>>>;
type ValuesOf<Of extends Properties> = { readonly [Name in keyof Of]: ValueOf<Of[Name]> };

/** An object with these members, and perhaps some others. */
function object<Of extends Properties, Others extends Properties = Record<never, never>>(
  members: Of,
  others?: Others,
): Schema<ValuesOf<Of> & Partial<ValuesOf<Others>>> {
  const [required, properties] = [Object.keys(members), { ...members, ...others }];
  return { type: "object", properties, required, additionalProperties: false };
}

/** An answer: the members of an object, which also has the version of the schema. */
function answer<Of extends Properties>(properties: Of): Schema<ValuesOf<Of>> {
  const schema = { const: 1, description: "version of this schema" };
  return object({ schema, ...properties }) as JsonSchema;
}

const list = <Item>(items: Schema<Item>): Schema<readonly Item[]> => ({
  type: "array",
  items,
});
const orNull = <Value>(schema: Schema<Value>): Schema<Value | null> => ({
  anyOf: [schema, { type: "null" }],
});
const word = <Word>(words: readonly Word[]): Schema<Word> => ({
  type: "string",
  enum: words,
});
const ref = <Name extends keyof typeof COMPONENTS>(
  name: Name,
): Schema<ValueOf<typeof COMPONENTS[Name]>> => ({ $ref: `#/components/schemas/${name}` });
const described = <Value>(schema: Schema<Value>, description: string): Schema<Value> => ({
  ...schema,
  description,
});

const TEXT: Schema<string> = { type: "string" };
const TEXT_OR_NULL: Schema<string | null> = { type: ["string", "null"] };
const INTEGER: Schema<number> = { type: "integer" };
const INTEGER_OR_NULL: Schema<number | null> = { type: ["integer", "null"] };
const COUNT: Schema<number> = { type: "integer", minimum: 0 };
const COUNT_OR_NULL: Schema<number | null> = { type: ["integer", "null"], minimum: 0 };
const NUMBER: Schema<number> = { type: "number" };
const NUMBER_OR_NULL: Schema<number | null> = { type: ["number", "null"] };
const YES_NO: Schema<boolean> = { type: "boolean" };
const OBJECT: Schema<Readonly<Record<string, unknown>>> = { type: "object" };
const TIME = described(INTEGER, "Unix milliseconds");
const TIME_OR_NULL = described(INTEGER_OR_NULL, "Unix milliseconds; null: unknown");

/** Parts of schemas, for other documents than those of the API. */
export const SCHEMA_PARTS = {
  object,
  list,
  orNull,
  described,
  text: TEXT,
  textOrNull: TEXT_OR_NULL,
  integer: INTEGER,
  integerOrNull: INTEGER_OR_NULL,
  count: COUNT,
  countOrNull: COUNT_OR_NULL,
  yesNo: YES_NO,
};

const CURSOR = described(
  TEXT_OR_NULL,
  "the value of the parameter for the page there; null: there is none",
);

const COLUMNS = [...LISTED_FIELDS, ...GEOIP_FIELDS];
const SERVER: Schema<Omit<ListedServer, "players">> = object({
  id: described(INTEGER, "number of the server in this database"),
  key: described(TEXT, "host name or address, and port"),
  has_icon: described(YES_NO, "whether /icons/FAVICON_HASH.png is an image"),
  ...Object.fromEntries(COLUMNS.map((field) => [field.name, fieldSchema(field)])),
}) as JsonSchema;

const SCAN_PROPERTIES = {
  scan_id: TEXT,
  kind: described(TEXT, "sweep, watch, lan or import"),
  campaign: described(TEXT_OR_NULL, "the name of the campaign; null: none, or unknown"),
  shard: described(TEXT_OR_NULL, "the shard that it probes, such as 2/4; null: all targets"),
  state: described(TEXT, "running, stale, finished, interrupted or failed"),
  ...{ started_at: TIME_OR_NULL, finished_at: TIME_OR_NULL, heartbeat_at: TIME_OR_NULL },
  ...{ ends_at: TIME_OR_NULL, runs: COUNT, position: NUMBER },
  parts: described(COUNT, "parts into which a campaign divides its targets; 1 without a campaign"),
  parts_done: described(COUNT, "complete parts"),
  parts_running: described(COUNT, "parts that workers scan now"),
  parts_stale: described(COUNT, "parts whose worker has not reported for 60 seconds"),
  parts_poisoned: described(COUNT, "parts that failed too often"),
  parts_cancelled: described(COUNT, "parts that will not be scanned; the other parts are queued"),
  ...{ total: NUMBER, probes_sent: NUMBER, replies: NUMBER, found: COUNT },
  packet_loss: described(NUMBER_OR_NULL, "share, 0 to 1"),
  ...{ rows_lost: COUNT, rate: NUMBER_OR_NULL, rate_reason: TEXT_OR_NULL },
  counters: described<ValueOf<typeof OBJECT> | null>(
    { type: ["object", "null"] },
    "losses by cause, and replies, as in status files; null: unknown",
  ),
  members: described(
    orNull(
      object({ found: COUNT, new: COUNT, back: COUNT, changed: COUNT, missed: COUNT, lost: COUNT }),
    ),
    "servers by what the scan saw of them; null: it has not ended, or is no scan; a server that it did " +
      "not ask is in none",
  ),
  retries: described(COUNT_OR_NULL, "the value of --retries; null: not given"),
  ...{ ranges: list(TEXT), excluded: list(TEXT), widened: YES_NO, sampled: YES_NO },
};

const PART = object({
  ...{ part: COUNT, worker: described(TEXT_OR_NULL, "the worker that reported last; null: none") },
  state: described(TEXT, "running, stale or poisoned"),
  tries: described(COUNT, "how often workers have taken the part"),
  ...{ position: NUMBER, total: NUMBER, probes_sent: NUMBER, replies: NUMBER, found: COUNT },
  why: described(TEXT_OR_NULL, "why the last try failed; null: it did not"),
  updated_at: TIME,
});

const EVENT_PROPERTIES = {
  position: described(TEXT, "position in the order of transactions: a value of history --after"),
  ...{ id: TEXT, at: TIME, server: TEXT_OR_NULL, server_id: INTEGER_OR_NULL },
  name: described(TEXT_OR_NULL, "the name that the server publishes now"),
  ...{ scan_id: TEXT_OR_NULL, kind: TEXT },
  data: OBJECT,
};

const UPTIME_PROPERTIES = {
  watched_s: described(NUMBER, "seconds in which the server was watched"),
  online_s: described(NUMBER, "seconds in which it was online"),
  player_s: described(NUMBER, "sum of the times of all players, seconds"),
  ...{ players_min: COUNT_OR_NULL, players_max: COUNT_OR_NULL },
  polls: described(
    COUNT_OR_NULL,
    "number of polls; polls without a change are counted an hour late at most; null: unknown",
  ),
};
const UPTIME = object({
  ...UPTIME_PROPERTIES,
  watched_share: described(
    NUMBER,
    "share of the period, or of the time since the server was first seen, that was watched, 0 to 1",
  ),
});

const FACET_VALUE = object({
  value: described<string | number | null>(
    { type: ["string", "integer", "null"] },
    "null: unknown",
  ),
  ...{ servers: COUNT, online: COUNT, players: COUNT },
}, { label: described(TEXT, "a name for the value, such as that of an operator") });

const ALIAS = object({ id: INTEGER, key: TEXT });
/** The other rows of a server. */
const OTHER_ROWS = {
  members: described(
    list(object({
      ...{ id: INTEGER, key: TEXT, online: YES_NO },
      endpoint: described(TEXT, "its address and port"),
      rules: described(
        list(word(Object.keys(GROUP_RULES) as GroupRule[])),
        "why the row certainly belongs to the server",
      ),
    })),
    "the best known ones, at most 20",
  ),
  count: described(COUNT, "number of all of them"),
};

/** The schemas that answers share. */
export const COMPONENTS = {
  StoredServer: SERVER,
  Scan: object(SCAN_PROPERTIES),
  Part: PART,
  Event: object(EVENT_PROPERTIES),
  Uptime: UPTIME,
  Error: object({
    error: described(TEXT, "what cannot be done, with the name of the parameter"),
    wanted: described(TEXT_OR_NULL, "what is expected; null: try again later"),
  }),
};

/** The schemas of answers. */
export const ANSWERS = {
  servers: answer({
    total: described(COUNT_OR_NULL, "number of rows of all pages; null: not counted"),
    servers: list(ref("StoredServer")),
    others: described(
      list(object({ id: described(INTEGER, "`id` of the server"), ...OTHER_ROWS })),
      "with group=yes: the other rows of servers of this page",
    ),
    ...{ next: CURSOR, previous: CURSOR },
  }),
  server: answer({
    ...{
      server: ref("StoredServer"),
      tags: list(TEXT),
      notes: TEXT_OR_NULL,
      players: described(list(TEXT), "names of players as last published"),
    },
    ...{ alias_of: orNull(ALIAS), aliases: list(ALIAS) },
    others: described(
      orNull(object(OTHER_ROWS)),
      "the other rows that certainly belong to this server; null: there are none",
    ),
    uptime: object({ "24h": ref("Uptime"), "7d": ref("Uptime"), "30d": ref("Uptime") }),
    uptime_days: described(
      list(object({ at: TIME, ...UPTIME_PROPERTIES })),
      "the last 90 days (UTC) on which the server was watched; at: start of the day",
    ),
    replies: described(
      orNull(list(object({
        ...{ protocol: TEXT, seen_at: TIME, size: COUNT },
        hex: described(TEXT, "the first bytes of the last reply, hexadecimal"),
      }))),
      "null: the role of the database may not read them",
    ),
    events: list(ref("Event")),
  }),
  history: answer({
    ...{ from: TIME, to: TIME },
    step: described(
      NUMBER,
      "milliseconds of a step; 0: each change is a point, and each day that was pruned",
    ),
    points: list(object({
      ...{ at: TIME, until: described(TIME, "end of the time in which the values hold") },
      online: YES_NO,
      online_share: described(
        NUMBER_OR_NULL,
        "share of the watched time in which the server was online, 0 to 1; null: not watched",
      ),
      players: described(NUMBER_OR_NULL, "of a step: the mean while the server was online"),
      players_most: NUMBER_OR_NULL,
      ...{ slots: NUMBER_OR_NULL, latency_ms: NUMBER_OR_NULL },
      ...{ latency_least_ms: NUMBER_OR_NULL, latency_most_ms: NUMBER_OR_NULL },
    })),
    unwatched: described(
      list(object({ from: TIME, to: TIME })),
      "times in which no watch watched the server",
    ),
    peak: orNull(object({ players: COUNT, at: TIME })),
  }),
  serverEvents: answer({ events: list(ref("Event")), next: CURSOR }),
  facets: answer({
    ...{ servers: COUNT, online: COUNT, players: COUNT },
    facets: object(
      Object.fromEntries(FACETS.map((name) => [name, list(FACET_VALUE)])),
    ) as Schema<Record<FacetName, readonly ValueOf<typeof FACET_VALUE>[]>>,
    totals: described(
      object(Object.fromEntries(FACETS.map((name) => [name, COUNT]))) as Schema<
        Record<FacetName, number>
      >,
      "for each facet, the servers among which its values are counted: those that all other filters match",
    ),
  }),
  map: answer({
    ...{ network: TEXT, layer: word(MAP_LAYERS), servers: COUNT },
    gaps: described(
      list<number>({ type: "integer", minimum: 1 }),
      "for each cell, the distance of its index from that of the cell before, the first one from -1; " +
        "indexes are in the order of addresses, and cells that are not listed have the value 0",
    ),
    values: described(list(NUMBER), "values of these cells"),
  }),
  trends: answer({
    ...{ days: COUNT, by: TEXT_OR_NULL },
    trends: list(object({
      value: TEXT_OR_NULL,
      points: list(object({
        ...{ at: TIME, servers: described(NUMBER, "servers that were watched") },
        online: described(NUMBER, "mean of the watched time"),
        players: described(NUMBER, "mean of the watched time"),
        watched_share: described(NUMBER, "share of the hour or day that was watched, 0 to 1"),
      })),
    })),
  }),
  scans: answer({ scans: list(ref("Scan")) }),
  scan: answer({
    ...{ scan: ref("Scan"), finds: list(ref("StoredServer")) },
    running_parts: described(list(ref("Part")), "at most 200, in the order of the workers"),
    poisoned_parts: described(list(ref("Part")), "at most 200, in the order of their numbers"),
  }),
  openapi: OBJECT,
  live: answer({
    at: TIME,
    scans: list(object({
      ...SCAN_PROPERTIES,
      ...{ probes_per_second: NUMBER_OR_NULL, replies_per_second: NUMBER_OR_NULL },
      rates_since: described(TIME_OR_NULL, "start of the time of these rates; null: not yet known"),
      finds: list(ref("StoredServer")),
    })),
    status: list(object({ file: TEXT, state: orNull(OBJECT) })),
    error: described(TEXT_OR_NULL, "why the database cannot be read now"),
  }),
};

/** The members of an answer. */
export type AnswerOf<Name extends keyof typeof ANSWERS> = ValueOf<typeof ANSWERS[Name]>;
