/**
 * The description of the API in OpenAPI 3.1, from the table of routes.
 *
 * @module
 */
import type { JsonSchema } from "../../core/schema.ts";
import config from "../../../deno.json" with { type: "json" };
import { MAX_CUT } from "../data/search_cut.ts";
import type { Parameter, Parameters } from "../queries/parameters.ts";
import type { Operation, Route } from "./route.ts";
import { COMPONENTS } from "../queries/schemas.ts";

/** Errors of all routes, by status. */
const ERRORS: Readonly<Record<string, string>> = {
  400: "A parameter is not valid.",
  401: "The dashboard requires a token.",
  403: "The request comes from a page of another site.",
  404: "There is no such server, scan or path.",
  421: "The host name is not one of the dashboard.",
  503: "The database cannot be read now, or is slow. Try again after `Retry-After`.",
};

/** What filters do not search, and counts do not have at once. */
const LIMITS =
  `The filter text searches the whole texts of servers; if more than ${MAX_CUT} servers have long ` +
  "ones, only the start of some. " +
  "Counts follow numbers of players, and which servers are online, within a minute.";

/** Errors of public routes, by status. */
const PUBLIC_ERRORS: Readonly<Record<string, string>> = {
  400: "The address is not valid.",
  404: "The server is offline.",
  503: "The database cannot be read now, or is slow. Try again after `Retry-After`.",
};

/** @param publicRoutes Routes that need no token, and whose errors are text. */
export function openApi(
  routes: readonly Route[],
  publicRoutes: readonly Route[] = [],
): JsonSchema {
  const errors = errorsOf(ERRORS, "application/json", { $ref: "#/components/schemas/Error" });
  const publicErrors = errorsOf(PUBLIC_ERRORS, "text/plain", { type: "string" });
  return {
    openapi: "3.1.0",
    jsonSchemaDialect: "https://json-schema.org/draft/2020-12/schema",
    info: {
      title: "blocksweep dashboard",
      version: config.version,
      description: "Game servers of one database. The API only reads. " + LIMITS,
    },
    servers: [{ url: "/" }],
    security: [{}, { token: [] }],
    paths: {
      ...pathsOf(routes, (route, operation) => operationOf(route, operation, errors)),
      ...pathsOf(publicRoutes, (route, operation) => ({
        ...operationOf(route, operation, publicErrors),
        security: [],
      })),
    },
    components: {
      schemas: COMPONENTS,
      securitySchemes: { token: { type: "http", scheme: "bearer" } },
    },
  };
}

function pathsOf(
  routes: readonly Route[],
  get: (route: Route, operation: Operation) => JsonSchema,
): JsonSchema {
  return Object.fromEntries(
    routes.flatMap((route) =>
      route.operation === undefined ? [] : [[route.path, { get: get(route, route.operation) }]]
    ),
  );
}

function errorsOf(
  texts: Readonly<Record<string, string>>,
  contentType: string,
  schema: JsonSchema,
): JsonSchema {
  return Object.fromEntries(
    Object.entries(texts).map(([status, text]) => [status, responseOf(contentType, schema, text)]),
  );
}

function operationOf(
  { path, pathParameters, parameters }: Route,
  { summary, contentType = "application/json", schema, description }: Operation,
  errors: JsonSchema,
): JsonSchema {
  return {
    operationId: path.replace(/^\/api\//, "").replace(/[{}]/g, "").replace(/\W+/g, "_"),
    summary,
    parameters: [
      ...parametersOf(pathParameters, "path"),
      ...parametersOf(parameters, "query"),
    ],
    responses: { 200: responseOf(contentType, schema, description), ...errors },
  };
}

function responseOf(contentType: string, schema: JsonSchema, description: string): JsonSchema {
  return { description, content: { [contentType]: { schema } } };
}

function parametersOf(table: Parameters, location: "path" | "query"): readonly JsonSchema[] {
  return Object.entries(table).map(([name, parameter]) => parameterOf(name, location, parameter));
}

function parameterOf(
  name: string,
  location: "path" | "query",
  { description, schema, repeats }: Parameter<unknown>,
): JsonSchema {
  const repeated = repeats ? { style: "form", explode: true } : {};
  return { name, in: location, required: location === "path", description, schema, ...repeated };
}
