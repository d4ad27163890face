/**
 * Routes: paths with their parameters, and the functions that answer them. Routing, the check of
 * parameters and `openapi.json` derive from tables of routes.
 *
 * @module
 */
import type { DashboardData } from "../data/dashboard_data.ts";
import type { Answer } from "../http/answer.ts";
import {
  type JsonSchema,
  type Parameters,
  readOne,
  readParameters,
  type ValuesOf,
} from "./parameters.ts";
import type { LiveFeed } from "./live_feed.ts";
import type { StreamLimit } from "./stream_limit.ts";

/** What all requests of a dashboard share. */
export interface Site {
  readonly data: DashboardData;
  /** The name of the database: its file name, or its PostgreSQL database. No password. */
  readonly database: string;
  /** The path of the folder with styles and scripts, with a `/` at its end. */
  readonly assets: string;
  /** Whether countries and operators are known. */
  readonly hasPlaces: boolean;
  /** Texts that the files of `--geoip` want to be shown. */
  readonly attributions: readonly string[];
  readonly live: LiveFeed;
  /** The limit of exports that run. */
  readonly exports: StreamLimit;
}

/** A request for a route. */
export interface RouteRequest extends Site {
  /** The path of the request. */
  readonly path: string;
  /** The time of the request, Unix milliseconds. */
  readonly now: number;
}

/** The answer as the documentation describes it. */
export interface AnswerDescription {
  readonly contentType: string;
  /** The schema of a JSON document. */
  readonly schema?: JsonSchema;
  readonly description: string;
}

/** A path, and the function that answers its requests. */
export interface Route {
  /** The path; names in braces are parameters: `/servers/{id}`. */
  readonly path: string;
  /** What the route returns, one line. */
  readonly summary: string;
  /** The parameters in the path. */
  readonly pathParameters: Parameters;
  /** The parameters of the query. */
  readonly parameters: Parameters;
  readonly answer: AnswerDescription;
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

/** A route whose parameters have types. */
interface RouteDefinition<Path extends Parameters, Query extends Parameters>
  extends Omit<Route, "pathParameters" | "parameters" | "respond"> {
  readonly pathParameters?: Path;
  readonly parameters?: Query;
  readonly respond: (
    values: ValuesOf<Query> & Required<ValuesOf<Path>>,
    request: RouteRequest,
  ) => Promise<Answer | undefined>;
}

/** Defines a route. */
export function route<
  const Path extends Parameters = Record<never, never>,
  const Query extends Parameters = Record<never, never>,
>(definition: RouteDefinition<Path, Query>): Route {
  const { pathParameters = {} as Path, parameters = {} as Query, respond } = definition;
  return {
    ...definition,
    pathParameters,
    parameters,
    respond: async ({ segments, query, request }) => {
      const path = Object.entries(pathParameters).map(([name, parameter]) =>
        [name, readOne(name, segments[name], parameter)] as const
      );
      const values = { ...readParameters(query, parameters), ...Object.fromEntries(path) };
      return await respond(values as ValuesOf<Query> & Required<ValuesOf<Path>>, request);
    },
  };
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
