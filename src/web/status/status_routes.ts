/**
 * The routes of the status API, in the forms of mcsrvstat.us and mcstatus.io. The answers come from the
 * database, or from probes of servers for clients.
 *
 * @module
 */
import { type FreshStatuses, StatusLimit } from "../../app/status_api/mod.ts";
import { type Clock, waitAtMost } from "../../net/clock.ts";
import type { Content } from "../api/answer.ts";
import { type Operation, type Route, route, type RouteRequest } from "../api/route.ts";
import { DataError, type StatusQuery } from "../queries/dashboard_data.ts";
import { type AskStatus, badgeRoutes } from "./badge_routes.ts";
import { DEFAULT_ICON } from "./default_icon.ts";
import { freshRequest, freshServer } from "./fresh_server.ts";
import { invalidMcsrvstat, mcsrvstat2, mcsrvstat3 } from "./mcsrvstat.ts";
import { mcstatusBedrock, mcstatusJava } from "./mcstatus.ts";
import {
  expiresAt,
  freshForS,
  isCacheHit,
  onlineServer,
  type StatusAnswer,
} from "./server_facts.ts";
import { statusQueryOf } from "./status_address.ts";
import { FRESH_S, invalidAddress, json, STATUS_ADDRESS } from "./status_answers.ts";
import { MCSRVSTAT_2, MCSRVSTAT_3, MCSTATUS_BEDROCK, MCSTATUS_JAVA } from "./status_schemas.ts";

export interface StatusApiOptions {
  /** Whether answers contain the names of players that the database has. */
  readonly hasNames: boolean;
  /** Probes servers for clients. Default: all answers come from the database. */
  readonly fresh?: Pick<FreshStatuses, "status">;
  readonly clock: Pick<Clock, "after">;
}

type Edition = StatusQuery["edition"];

/** How long an answer waits for the database, milliseconds. */
const MAX_WAIT_MS = 900;
/** The routes of the status API. */
export function statusRoutes({ hasNames, fresh, clock }: StatusApiOptions): readonly Route[] {
  const ask: AskStatus = async (address, edition, { data, now }, hasUptime = false) => {
    const query = { ...statusQueryOf(address, edition), hasUptime };
    const found = await inTime(clock, data.status(query));
    return { address, query, found, hasNames, now };
  };
  const askFresh: AskStatus = async (address, edition, request) => {
    const query = statusQueryOf(address, edition);
    const status = await fresh?.status(freshRequest(address, query, request.client))
      .catch((error: unknown) => {
        if (error instanceof StatusLimit && error.databaseAnswers) return error;
        throw error;
      });
    if (status === undefined) return await ask(address, edition, request);
    if (status instanceof StatusLimit) {
      const answer = await ask(address, edition, request);
      if (answer.found === undefined) throw status;
      return answer;
    }
    const found = freshServer(status, address);
    // a status that was found since the request began is as old as its answer
    return {
      address,
      query,
      found,
      fresh: status,
      hasNames,
      now: Math.max(request.now, status.retrievedAt),
    };
  };
  /** A route for servers of an edition. `invalid` answers for a text that is no address. */
  const statusRoute = (
    path: string,
    edition: Edition,
    operation: Operation,
    show: (answer: StatusAnswer) => Content,
    invalid: (request: RouteRequest) => Content,
  ) =>
    route({
      path,
      pathParameters: { address: STATUS_ADDRESS },
      operation,
      respond: async ({ address }, request) =>
        address === null ? invalid(request) : show(await askFresh(address, edition, request)),
    });
  return [
    ...(["java", "bedrock"] as const).flatMap((edition) => mcsrvstatRoutes(edition, statusRoute)),
    ...mcstatusRoutes(statusRoute),
    ...(["java", "bedrock"] as const).flatMap((edition) => badgeRoutes(edition, ask)),
  ];
}

type MakeRoute = (
  path: string,
  edition: Edition,
  operation: Operation,
  show: (answer: StatusAnswer) => Content,
  invalid: (request: RouteRequest) => Content,
) => Route;

const STATUS = "The status of the server, also of one that is offline.";
const ICON: Operation = {
  summary: "The icon of a Java server as a PNG, else a usual one.",
  contentType: "image/png",
  schema: { type: "string" },
  description: "The icon.",
};

/** The routes of mcsrvstat.us. The service answers an invalid address as a name without an address. */
function mcsrvstatRoutes(edition: Edition, make: MakeRoute): Route[] {
  const prefix = edition === "java" ? "" : "/bedrock";
  const name = edition === "java" ? "Java" : "Bedrock";
  const of = (version: number) => `The status of a ${name} server, as mcsrvstat.us v${version}.`;
  const invalid = (version: 2 | 3) => ({ now }: RouteRequest) => {
    const address = { host: "", isName: true, port: undefined };
    const query = statusQueryOf(address, edition);
    return json(invalidMcsrvstat({ query, found: undefined, hasNames: false, now }, version));
  };
  const simple = {
    summary: `200 for a ${name} server that is online, 404 for others.`,
    contentType: "text/plain",
    schema: { type: "string", maxLength: 0 },
    description: "The server is online.",
  };
  const status = (isOnline: boolean, cached = FRESH_S): Content => ({
    status: isOnline ? 200 : 404,
    contentType: "text/plain; charset=utf-8",
    body: "",
    cached,
  });
  return [
    make(
      `${prefix}/3/{address}`,
      edition,
      { summary: of(3), schema: MCSRVSTAT_3, description: STATUS },
      (answer) => json(mcsrvstat3(answer), freshForS(answer)),
      invalid(3),
    ),
    make(
      `${prefix}/2/{address}`,
      edition,
      { summary: of(2), schema: MCSRVSTAT_2, description: STATUS },
      (answer) => json(mcsrvstat2(answer), freshForS(answer)),
      invalid(2),
    ),
    make(
      `${prefix}/simple/{address}`,
      edition,
      simple,
      (answer) => status(onlineServer(answer) !== undefined, freshForS(answer)),
      () => status(false),
    ),
    ...edition === "java" ? [make("/icon/{address}", edition, ICON, icon, () => png(null))] : [],
  ];
}

/** The routes of mcstatus.io. */
function mcstatusRoutes(make: MakeRoute): Route[] {
  const of = (name: string) => `The status of a ${name} server, as mcstatus.io v2.`;
  return [
    make(
      "/v2/status/java/{address}",
      "java",
      { summary: of("Java"), schema: MCSTATUS_JAVA, description: STATUS },
      (answer) => withCacheState(answer, json(mcstatusJava(answer), freshForS(answer))),
      invalidAddress,
    ),
    make(
      "/v2/status/bedrock/{address}",
      "bedrock",
      { summary: of("Bedrock"), schema: MCSTATUS_BEDROCK, description: STATUS },
      (answer) => withCacheState(answer, json(mcstatusBedrock(answer), freshForS(answer))),
      invalidAddress,
    ),
    make(
      "/v2/icon/{address}",
      "java",
      ICON,
      (answer) => withCacheState(answer, icon(answer)),
      invalidAddress,
    ),
    route({ path: "/v2/icon", respond: () => Promise.resolve(png(null)) }),
  ];
}

function icon(answer: StatusAnswer): Content {
  const bytes = onlineServer(answer) === undefined ? null : answer.found?.icon ?? null;
  return png(bytes, freshForS(answer));
}

function png(bytes: Uint8Array | null, cached = FRESH_S): Content {
  return {
    contentType: "image/png",
    body: bytes === null ? DEFAULT_ICON : new Uint8Array(bytes),
    cached,
  };
}

/** Adds the headers of mcstatus.io: what the database has, or an earlier request has caused, is a hit. */
function withCacheState(answer: StatusAnswer, content: Content): Content {
  const isHit = isCacheHit(answer);
  const left = Math.max(0, Math.ceil((expiresAt(answer) - answer.now) / 1000));
  return {
    ...content,
    headers: {
      "x-cache-hit": String(isHit),
      ...isHit && { "x-cache-time-remaining": String(left) },
    },
  };
}

/**
 * Waits for the database.
 *
 * @throws DataError if the answer takes too long.
 */
async function inTime<T>(clock: Pick<Clock, "after">, reading: Promise<T>): Promise<T> {
  let read: { readonly value: T } | undefined;
  await waitAtMost(clock, MAX_WAIT_MS, reading.then((value) => void (read = { value })));
  if (read === undefined) throw new DataError("slow", "The answer took too long.");
  return read.value;
}
