/**
 * Answers requests for public routes: to everybody, and with errors as text.
 *
 * @module
 */
import type { HttpRequest, HttpStatus } from "../../app/http/mod.ts";
import { StatusLimit } from "../../app/status_api/mod.ts";
import type { Answer, Content } from "../api/answer.ts";
import type { findRoute, RouteRequest } from "../api/route.ts";
import { DataError } from "../queries/dashboard_data.ts";
import { ParameterError } from "../queries/parameters.ts";
import { PREFLIGHT_HEADERS, PUBLIC_HEADERS, publicRefusal, RETRY_S } from "./access.ts";

/**
 * Answers a request for a public route.
 *
 * @param report Receives an error that is a defect of the program.
 */
export async function publicAnswer(
  request: HttpRequest,
  routed: RouteRequest,
  { route, segments }: NonNullable<ReturnType<typeof findRoute>>,
  report: (error: unknown) => void,
): Promise<Answer> {
  const refusal = publicRefusal(request);
  if (refusal !== undefined) return text(refusal.status, refusal.message, refusal.headers);
  if (request.method === "OPTIONS") return text(200, "", PREFLIGHT_HEADERS);
  try {
    const answer = await route.respond({ segments, query: request.query, request: routed });
    return answer === undefined
      ? text(404, "Not Found")
      : { ...answer, headers: { ...PUBLIC_HEADERS, ...answer.headers } };
  } catch (error) {
    if (error instanceof ParameterError) {
      return text(400, `${error.message}: expected ${error.wanted}`);
    }
    if (error instanceof DataError) {
      return text(503, "Service Unavailable", { "retry-after": RETRY_S });
    }
    if (error instanceof StatusLimit) {
      return text(429, "Too Many Requests", { "retry-after": String(error.retryAfterS) });
    }
    report(error);
    return text(500, "Internal Server Error");
  }
}

function text(
  status: HttpStatus,
  body: string,
  headers: Readonly<Record<string, string>> = {},
): Content {
  return {
    status,
    contentType: "text/plain; charset=utf-8",
    body,
    headers: { ...PUBLIC_HEADERS, ...headers },
  };
}
