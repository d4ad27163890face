/**
 * Responds to requests for `/probe`: reads them, and shows the results of probes as metrics.
 *
 * @module
 */
import { InputError } from "../../../core/errors.ts";
import { oneLine } from "../../../core/text.ts";
import { chosenProtocols } from "../../settings/chosen_protocols.ts";
import type { HttpRequest } from "../../http/http_request.ts";
import type { WholeResponse } from "../../http/http_response.ts";
import { probeRefusal } from "./probe_access.ts";
import {
  ProbeEngine,
  type ProbeEngineOptions,
  ProbeRefused,
  type ProbeRequest,
  type RepliedServer,
} from "./probe_engine.ts";
import { type ProbedStatus, probeFamilies } from "./probe_page.ts";
import { ForbiddenTarget, parseProbeTarget, type ProbeTargets } from "./probe_targets.ts";
import { EXPOSITION_TYPE, prometheusText } from "../prometheus_text.ts";
import type { ServerInfoSeries } from "../server_info.ts";

/** How long a client waits at most, milliseconds. Prometheus waits for 10 s by default. */
const MAX_WAIT_MS = 9500;
/** How much earlier than Prometheus' timeout a response is sent, milliseconds. */
const MARGIN_MS = 500;

/** Options of {@linkcode Probes}. */
export interface ProbesOptions extends ProbeEngineOptions {
  /** Decides which targets may be probed. */
  readonly targets: ProbeTargets;
  /** The token that clients have to send; `undefined`: none. */
  readonly token: string | undefined;
  /** The labels of info series; `undefined`: there are none. */
  readonly info: ServerInfoSeries | undefined;
  /** Whether the poll loop runs. */
  readonly isRunning: () => boolean;
}

/** A response without the metrics of a probe: the client has no access. */
class Denied extends Error {
  constructor(
    readonly status: 401 | 403,
    message: string,
    readonly headers?: WholeResponse["headers"],
  ) {
    super(message);
  }
}

/** Responds to requests for `/probe`. */
export class Probes {
  readonly #engine: ProbeEngine;
  /** What each probe has found, made once: labels of info series change at most once an hour. */
  readonly #statuses = new WeakMap<RepliedServer, ProbedStatus>();

  /** Starts without remembered probes. */
  constructor(private readonly options: ProbesOptions) {
    this.#engine = new ProbeEngine(options);
  }

  /** Number of probes that are in progress. */
  get running(): number {
    return this.#engine.running;
  }

  /** The response to a request: metrics, or one line with the reason why there are none. */
  async respond(request: HttpRequest): Promise<WholeResponse> {
    try {
      const waitMs = waitOf(request);
      const { replied, tookMs, lookupMs } = await this.#engine.probe(this.#read(request), waitMs);
      return page({ status: replied && this.#statusOf(replied), tookMs, lookupMs });
    } catch (error) {
      if (error instanceof Denied) return refusal(error.status, error.message, error.headers);
      if (error instanceof ProbeRefused) {
        return refusal(error.status, error.message, { "retry-after": String(error.retryAfterS) });
      }
      if (error instanceof ForbiddenTarget) return refusal(403, error.message);
      if (error instanceof InputError) return refusal(400, error.message);
      throw error;
    }
  }

  #statusOf(replied: RepliedServer): ProbedStatus {
    const known = this.#statuses.get(replied);
    if (known !== undefined) return known;
    const { server, record } = replied;
    const { players_online: players, players_max: slots, latency_ms: latencyMs } = record;
    const info = this.options.info?.labelsOf(server, record, this.options.clock.now());
    const status = { players, slots, latencyMs, info };
    this.#statuses.set(replied, status);
    return status;
  }

  #read(request: HttpRequest): ProbeRequest {
    const { token, targets, rules, isRunning, signal } = this.options;
    const denied = probeRefusal(request, token);
    if (denied !== undefined) {
      const headers = denied.status === 401 ? { "www-authenticate": "Bearer" } : undefined;
      throw new Denied(denied.status, denied.line, headers);
    }
    const { query } = request;
    const unknown = [...query.keys()].find((key) => !["target", "protocol"].includes(key));
    if (unknown !== undefined) {
      throw new InputError(`Cannot use parameter "${unknown}": expected target or protocol`);
    }
    const [text, ...more] = query.getAll("target");
    if (text === undefined || more.length > 0) {
      throw new InputError("Cannot probe: expected /probe?target=HOST:PORT&protocol=NAME");
    }
    const target = parseProbeTarget(text);
    targets.require(target, text);
    const names = query.getAll("protocol").flatMap((list) => list.split(","));
    const protocols = names.length === 0 ? undefined : chosenProtocols(names, rules.allProtocols);
    if (!isRunning() || signal.aborted) throw new ProbeRefused(503, "polling has not begun", 1);
    return { target, protocols };
  }
}

/** How long the client of a request waits, milliseconds. */
function waitOf({ headers }: HttpRequest): number {
  const seconds = Number(headers.get("x-prometheus-scrape-timeout-seconds"));
  return seconds > 0 ? Math.min(seconds * 1000 - MARGIN_MS, MAX_WAIT_MS) : MAX_WAIT_MS;
}

function page(metrics: Parameters<typeof probeFamilies>[0]): WholeResponse {
  const body = new TextEncoder().encode(prometheusText(probeFamilies(metrics)));
  return { status: 200, headers: { "content-type": EXPOSITION_TYPE }, body };
}

/** A response with one line. The line may contain a text of the client. */
function refusal(
  status: WholeResponse["status"],
  line: string,
  headers: WholeResponse["headers"] = {},
): WholeResponse {
  return {
    status,
    headers: { "x-content-type-options": "nosniff", ...headers },
    body: new TextEncoder().encode(`${oneLine(line)}\n`),
  };
}
