/**
 * Routes: paths with their parameters, and the functions that answer them. Routing, the check of
 * parameters and `openapi.json` derive from tables of routes.
 *
 * @module
 */
import type { Address } from "../../core/address.ts";
import type { JsonSchema } from "../../core/schema.ts";
import { SCHEMA } from "../../sinks/json.ts";
import type { DashboardData, DashboardFilters } from "../queries/dashboard_data.ts";
import { type Answer, htmlContent, jsonContent } from "./answer.ts";
import type { Caller, PageContext } from "../pages/page_context.ts";
import { FILTER_PARAMETERS, filtersOf } from "../queries/filters.ts";
import {
  checkBounds,
  type Parameters,
  readOne,
  readParameters,
  type ValuesOf,
} from "../queries/parameters.ts";
import type { Schema } from "../queries/schemas.ts";
import { SEARCH, withSearch } from "../queries/search_words.ts";
import type { LiveFeed } from "./live_feed.ts";
import type { StreamLimit } from "./stream_limit.ts";

/** What all requests of a dashboard share. */
export interface Site {
  readonly data: DashboardData;
  /** The name of the database: its file name, or its PostgreSQL database. No password. */
  readonly database: string;
  /** How the program was called, and where the database is: for commands that pages suggest. */
  readonly caller: Caller;
  /** The path of the folder with styles and scripts, with a `/` at its end. */
  readonly assets: string;
  /** Whether countries and operators are known. */
  readonly hasGeoip: boolean;
  /** Texts that the files of `--geoip` want to be shown. */
  readonly attributions: readonly string[];
  readonly live: LiveFeed;
  /** The limit of exports that run. */
  readonly exports: StreamLimit;
  /** Routes that everybody may request, from pages of all sites: those of the status API. */
  readonly publicRoutes: readonly Route[];
}

export interface RouteRequest extends Site {
  readonly path: string;
  /** The search of the request's URL, as a user wrote it. */
  readonly search: string;
  /** The time of the request, Unix milliseconds. */
  readonly now: number;
  /** The address of the client, also behind a trusted proxy. */
  readonly client: Address;
}

/** A route of the API as its description has it. */
export interface Operation {
  /** What the route returns, one line. */
  readonly summary: string;
  /** Default: JSON. */
  readonly contentType?: string;
  readonly schema: JsonSchema;
  readonly description: string;
}

/** A path, and the function that answers its requests. */
export interface Route {
  /** The path; names in braces are parameters: `/servers/{id}`. */
  readonly path: string;
  readonly pathParameters: Parameters;
  /** The parameters of the query. */
  readonly parameters: Parameters;
  /** Only routes of the API have a description. */
  readonly operation?: Operation;
  /**
   * Answers a request. `undefined`: there is no such server, scan or icon.
   *
   * @throws ParameterError; DataError.
   */
  readonly respond: (call: Call) => Promise<Answer | undefined>;
}

/** A request whose route is found. */
export interface Call {
  /** The texts of the parameters in the path, by their names. */
  readonly segments: Readonly<Record<string, string>>;
  readonly query: URLSearchParams;
  readonly request: RouteRequest;
}

/** The values of parameters, and the filters of the query. */
type Values<Path extends Parameters, Query extends Parameters> =
  & ValuesOf<Query>
  & Required<ValuesOf<Path>>
  & { readonly filters: DashboardFilters };

/** A route whose parameters have types. */
interface RouteDefinition<Path extends Parameters, Query extends Parameters>
  extends Omit<Route, "pathParameters" | "parameters" | "respond"> {
  readonly pathParameters?: Path;
  readonly parameters?: Query;
  /** Whether the query may have filters of servers. */
  readonly hasFilters?: boolean;
  readonly respond: (
    values: Values<Path, Query>,
    request: RouteRequest,
  ) => Promise<Answer | undefined>;
}

export function route<
  const Path extends Parameters = Record<never, never>,
  const Query extends Parameters = Record<never, never>,
>({ hasFilters, respond, ...definition }: RouteDefinition<Path, Query>): Route {
  const { pathParameters = {} as Path, parameters: others = {} as Query } = definition;
  const parameters = hasFilters ? { q: SEARCH, ...FILTER_PARAMETERS, ...others } : others;
  const isPage = !definition.path.startsWith("/api/");
  return {
    ...definition,
    pathParameters,
    parameters,
    respond: async ({ segments, query, request }) => {
      const path = Object.entries(pathParameters).map(([name, parameter]) =>
        [name, readOne(name, segments[name], parameter)] as const
      );
      const given: Readonly<Record<string, unknown>> = readParameters(
        hasFilters ? withSearch(query) : query,
        parameters,
        isPage,
      );
      if (hasFilters) {
        const bound = (name: string) => [name, given[name] as number | undefined] as const;
        checkBounds(bound("min_players"), bound("max_players"));
      }
      const values = { ...given, ...Object.fromEntries(path), filters: filtersOf(given) };
      return await respond(values as Values<Path, Query>, request);
    },
  };
}

/** How the data of a resource are shown. */
interface Representation<Query extends Parameters> {
  /** The names of its parameters. Default: all parameters of the resource. */
  readonly names?: readonly (keyof Query & string)[];
  /** Values of parameters that the URL does not have. */
  readonly defaults?: ValuesOf<Query>;
}

interface Page<Path extends Parameters, Query extends Parameters, Data, More>
  extends Representation<Query> {
  /** Reads further data of the page, at the same time. */
  readonly more?: (values: Values<Path, Query>, request: RouteRequest) => Promise<More>;
  readonly html: (data: NoInfer<Data & More>, context: PageContext) => string;
}

/** Data with a page, a document of the JSON API, and files. */
interface Resource<Path extends Parameters, Query extends Parameters, Data, More, Document> {
  /** The path of the page. The document's path is that path below `/api`. */
  readonly path: string;
  readonly pathParameters?: Path;
  readonly hasFilters?: boolean;
  readonly parameters?: Query;
  /** Reads the data. `undefined`: there is no such server or scan. */
  readonly data: (
    values: Values<Path, Query>,
    request: RouteRequest,
  ) => Promise<Data | undefined>;
  readonly page?: Page<Path, Query, Data, More>;
  readonly json?: Representation<Query> & Operation & {
    readonly schema: Schema<Document>;
    readonly document: (data: NoInfer<Data>) => NoInfer<Document> & object;
  };
  readonly files?: Representation<Query> & {
    readonly formats: readonly {
      readonly suffix: string;
      readonly content: (data: NoInfer<Data>, request: RouteRequest) => Answer;
    }[];
  };
}

export function resource<
  Data = never,
  const Path extends Parameters = Record<never, never>,
  const Query extends Parameters = Record<never, never>,
  More = unknown,
  Document = never,
>(definition: Resource<Path, Query, Data, More, Document>): Route[] {
  const { path, page, json, files } = definition;
  const routes: Route[] = [];
  if (page !== undefined) {
    routes.push(
      routeOf(
        definition,
        page,
        { path },
        (data, request, values, more) =>
          htmlContent(page.html({ ...data, ...more! }, pageContext(request, values))),
      ),
    );
  }
  if (json !== undefined) {
    routes.push(
      routeOf(
        definition,
        json,
        { path: `/api${path}`, operation: json },
        (data) => jsonContent({ schema: SCHEMA, ...json.document(data) }),
      ),
    );
  }
  for (const { suffix, content } of files?.formats ?? []) {
    routes.push(routeOf(definition, files!, { path: `${path}.${suffix}` }, content));
  }
  return routes;
}

function routeOf<Path extends Parameters, Query extends Parameters, Data, More>(
  { pathParameters, hasFilters, parameters, data }: Resource<Path, Query, Data, More, unknown>,
  { names, defaults, more }: Representation<Query> & Pick<Page<Path, Query, Data, More>, "more">,
  own: Pick<Route, "path" | "operation">,
  show: (data: Data, request: RouteRequest, values: Values<Path, Query>, more?: More) => Answer,
): Route {
  return route<Path, Query>({
    ...own,
    pathParameters,
    hasFilters,
    parameters: named(parameters, names),
    async respond(given, request) {
      const values = { ...defaults, ...given };
      const reads = [data(values, request), more?.(values, request)] as const;
      const [found, further] = await Promise.all(reads);
      return found === undefined ? undefined : show(found, request, values, further);
    },
  });
}

/** The parameters with some names. */
function named<Query extends Parameters>(
  parameters: Query | undefined,
  names: readonly string[] | undefined,
): Query | undefined {
  if (parameters === undefined || names === undefined) return parameters;
  return Object.fromEntries(names.map((name) => [name, parameters[name]])) as Query;
}

/** What a page receives besides its data. */
export function pageContext(
  { path, search, now, database, caller, assets, hasGeoip, attributions }: RouteRequest,
  { filters = {} }: { readonly filters?: DashboardFilters } = {},
): PageContext {
  return { path, search, now, database, caller, assets, hasGeoip, attributions, filters };
}

/** The route of a path, and the texts of its parameters; `undefined`: there is none. */
export function findRoute(
  routes: readonly Route[],
  path: string,
): { readonly route: Route; readonly segments: Readonly<Record<string, string>> } | undefined {
  const parts = path.split("/");
  for (const route of routes) {
    const segments = matched(route.path.split("/"), parts);
    if (segments !== undefined) return { route, segments };
  }
  return undefined;
}

function matched(
  pattern: readonly string[],
  parts: readonly string[],
): Record<string, string> | undefined {
  if (pattern.length !== parts.length) return undefined;
  const segments: Record<string, string> = {};
  for (const [i, word] of pattern.entries()) {
    const [, name, suffix] = /^\{(\w+)\}(.*)$/.exec(word) ?? [];
    if (name === undefined) {
      if (word !== parts[i]) return undefined;
      continue;
    }
    const text = decoded(parts[i]);
    if (text === undefined || !text.endsWith(suffix)) return undefined;
    segments[name] = text.slice(0, text.length - suffix.length);
  }
  return segments;
}

/** A part of a path without percent-encoding; `undefined` if it is not UTF-8. */
function decoded(part: string): string | undefined {
  try {
    return decodeURIComponent(part);
  } catch {
    return undefined;
  }
}
