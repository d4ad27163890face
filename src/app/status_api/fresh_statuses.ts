/**
 * Fresh statuses of servers for clients of the status API: probes them, and shares each status for a while.
 *
 * @module
 */
import type { Address, Endpoint } from "../../core/address.ts";
import type { RecordWithAttachments } from "../../core/record.ts";
import { type Clock, sleep, waitAtMost } from "../../net/clock.ts";
import type { Protocol } from "../../protocols/protocol.ts";
import type { Service } from "../../targets/srv.ts";
import { ClientCounts } from "../metrics/probe/client_counts.ts";
import {
  type ProbeEngine,
  ProbeRefused,
  type ProbeRequest,
  type ProbeResult,
} from "../metrics/probe/probe_engine.ts";
import { ForbiddenTarget, type ProbeTargets } from "../metrics/probe/probe_targets.ts";
import { limitKey } from "./keyed_limit.ts";

/** A server that a client wants the status of. */
export interface FreshRequest {
  /** An address, or a name. */
  readonly target: ProbeRequest["target"];
  readonly edition: "java" | "bedrock";
  /** The address of the client. */
  readonly client: Address;
}

/** The status of a server, or that it has none. */
export interface FreshStatus {
  /** What the server replied; `undefined`: it is offline, or it must not be probed. */
  readonly record: RecordWithAttachments | undefined;
  /** Where the server is; `undefined`: its name leads nowhere, or to where nothing is probed. */
  readonly endpoint: (Endpoint & { readonly service?: Service }) | undefined;
  /** When the status was found, Unix milliseconds. */
  readonly retrievedAt: number;
  /** Until when it is shared, Unix milliseconds. */
  readonly expiresAt: number;
  /** Whether an earlier request has caused it. */
  readonly isShared: boolean;
}

/** Too many requests: of a client, to a server, or in all. */
export class StatusLimit extends Error {
  /**
   * @param retryAfterS After how many seconds a client may try again.
   * @param databaseAnswers Whether the database answers if it has the server.
   */
  constructor(readonly retryAfterS: number, readonly databaseAnswers = false) {
    super("too many requests");
  }
}

/** How long a status is shared, milliseconds: of servers online and offline, and of names without one. */
export const SHARED_MS = { online: 30_000, offline: 60_000, unresolved: 300_000 } as const;
/** Maximum number of statuses that are remembered. */
const MAX_STATUSES = 1024;
/** How long a client waits at most, milliseconds. */
const MAX_WAIT_MS = 9500;
/** How much longer it waits for a lookup that does not end, milliseconds. */
const MARGIN_MS = 250;
/** After how many seconds it may try again then. */
const LATER_S = 5;
/** Maximum number of requests of a client that wait for what other requests find: they keep connections open. */
export const MAX_WAITING = 32;
/** After how many seconds a client may try again if too many wait. */
const SOON_S = 1;
/** How often a request tries to get a status, if limits of other clients end what it waits for. */
const TRIES = 3;

export interface FreshStatusesOptions {
  readonly engine: Pick<ProbeEngine, "probe">;
  readonly targets: Pick<ProbeTargets, "require">;
  /** The protocols for servers of an edition. */
  readonly protocolsOf: (edition: FreshRequest["edition"]) => readonly Protocol[];
  readonly clock: Pick<Clock, "now" | "wall" | "after">;
  /**
   * Whether the database answers for a target that must not be probed, because it is on no list, and for one
   * that is not probed because of a limit. Otherwise the first has the status of a server that is offline.
   */
  readonly databaseAnswers: boolean;
  /**
   * Grants a request that no remembered status answers.
   *
   * @returns 0, or after how many seconds the client may try again. Default: all are granted.
   */
  readonly grant?: (client: string) => number;
  /**
   * The time after which a probe without a status ends for the client, milliseconds. It is the same whether
   * the server refuses connections or is silent. Default: as soon as that is known.
   */
  readonly offlineMs?: number;
}

type Found = Omit<FreshStatus, "isShared">;

interface Remembered {
  readonly found: Promise<Found>;
  /** Whose request has caused it. */
  readonly client: string;
  /** When another request finds the status anew, milliseconds of the clock. */
  expires: number;
}

/** Finds statuses, and shares them. */
export class FreshStatuses {
  readonly #remembered = new Map<string, Remembered>();
  /** How many requests of each client wait for what other requests find. */
  readonly #waiting = new ClientCounts();

  constructor(private readonly options: FreshStatusesOptions) {}

  /** Number of statuses that are remembered. */
  get size(): number {
    return this.#remembered.size;
  }

  /**
   * The status of a server; `undefined`: the database has to answer.
   *
   * @throws StatusLimit; ProbeRefused as StatusLimit.
   */
  async status(request: FreshRequest): Promise<FreshStatus | undefined> {
    const { clock, grant, databaseAnswers } = this.options;
    const key = keyOf(request);
    const mayProbe = this.#mayProbe(request, key);
    if (!mayProbe && databaseAnswers) return undefined;
    const client = clientKey(request.client);
    for (let tries = TRIES; tries > 0; tries--) {
      const remembered = this.#remembered.get(key);
      if (remembered === undefined || clock.now() >= remembered.expires) break;
      const found = await this.#shared(remembered, client, tries === 1);
      if (found !== undefined) return { ...found, isShared: true };
    }
    const waitS = grant?.(client) ?? 0;
    if (waitS > 0) throw this.#limit(waitS);
    const found = mayProbe ? this.#find(request, client) : Promise.resolve(this.#nowhere(request));
    this.#remember(key, found, client);
    return { ...await found, isShared: false };
  }

  /** What another request finds; `undefined`: limits of its client apply, and not those of this one. */
  async #shared(
    { found, client: finder, expires }: Remembered,
    client: string,
    isLast: boolean,
  ): Promise<Found | undefined> {
    if (expires < Infinity) return await found;
    if (this.#waiting.of(client) >= MAX_WAITING) throw this.#limit(SOON_S);
    this.#waiting.add(client, 1);
    try {
      return await found;
    } catch (error) {
      if (error instanceof StatusLimit && finder !== client && !isLast) return undefined;
      throw error;
    } finally {
      this.#waiting.add(client, -1);
    }
  }

  #limit(retryAfterS: number): StatusLimit {
    return new StatusLimit(retryAfterS, this.options.databaseAnswers);
  }

  #mayProbe({ target }: FreshRequest, text: string): boolean {
    try {
      this.options.targets.require(target, text);
      return true;
    } catch (error) {
      if (error instanceof ForbiddenTarget) return false;
      throw error;
    }
  }

  #remember(key: string, found: Promise<Found>, client: string): void {
    const { clock } = this.options;
    const remembered: Remembered = { found, client, expires: Infinity };
    this.#remembered.delete(key);
    for (const [oldest, { expires }] of this.#remembered) {
      if (expires > clock.now() && this.#remembered.size < MAX_STATUSES) break;
      this.#remembered.delete(oldest);
    }
    this.#remembered.set(key, remembered);
    found.then(
      ({ expiresAt, retrievedAt }) =>
        void (remembered.expires = clock.now() + expiresAt - retrievedAt),
      () => this.#remembered.get(key) === remembered && this.#remembered.delete(key),
    );
  }

  async #find(request: FreshRequest, client: string): Promise<Found> {
    const { clock } = this.options;
    const began = clock.now();
    try {
      const result = await this.#probed(request, client);
      if (result.endpoint === undefined) return this.#nowhere(request);
      const record = result.replied?.record;
      if (record === undefined) await this.#untilOffline(result);
      return this.#found(record, result.endpoint, record === undefined ? "offline" : "online");
    } catch (error) {
      if (error instanceof ForbiddenTarget) {
        // An exclusion or opt-out of an address takes as long as a silent server.
        if ("address" in request.target) {
          await this.#untilOffline({ tookMs: clock.now() - began });
        }
        return this.#nowhere(request);
      }
      if (error instanceof ProbeRefused) throw this.#limit(error.retryAfterS);
      throw error;
    }
  }

  /** Probes the server of a request. A lookup of its name may take longer than a client waits. */
  async #probed({ target, edition }: FreshRequest, client: string): Promise<ProbeResult> {
    const { engine, protocolsOf, clock } = this.options;
    let result: ProbeResult | undefined;
    const asked = { target, protocols: protocolsOf(edition), client };
    const probing = engine.probe(asked, MAX_WAIT_MS);
    probing.catch(() => {}); // after the wait, an error has no reader
    await waitAtMost(clock, MAX_WAIT_MS + MARGIN_MS, probing.then((one) => void (result = one)));
    if (result === undefined) throw this.#limit(LATER_S);
    return result;
  }

  /** Waits until a silent server would count as offline too. */
  async #untilOffline({ tookMs }: Pick<ProbeResult, "tookMs">): Promise<void> {
    const { offlineMs = 0, clock } = this.options;
    if (tookMs < offlineMs) await sleep(clock, offlineMs - tookMs);
  }

  /** A name that leads nowhere, or a target that must not be probed: the client cannot tell which. */
  #nowhere({ target }: FreshRequest): Found {
    return "name" in target
      ? this.#found(undefined, undefined, "unresolved")
      : this.#found(undefined, target, "offline");
  }

  #found(
    record: Found["record"],
    endpoint: Found["endpoint"],
    kind: keyof typeof SHARED_MS,
  ): Found {
    const retrievedAt = Math.round(this.options.clock.wall());
    return { record, endpoint, retrievedAt, expiresAt: retrievedAt + SHARED_MS[kind] };
  }
}

/** A client: its IPv4 address, or its /56 of IPv6. */
function clientKey(client: Address): string {
  return limitKey(client, { 4: 32, 6: 56 });
}

/** What distinguishes the server of a request from others. */
function keyOf({ target, edition }: FreshRequest): string {
  return `${edition} ${"name" in target ? target.name : target.address} ${target.port}`;
}
