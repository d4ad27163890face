/**
 * Remembers between polls which endpoints suppress protocols: a protocol may harm servers that speak
 * another one (see src/inspect/interview.ts), and one poll may lose the datagram that shows it.
 *
 * @module
 */
import { DAY_MS } from "../core/quantities.ts";
import { type Endpoint, endpointKey } from "../core/address.ts";
import type { ServerRecord } from "../core/record.ts";
import { repliesSuppress } from "../inspect/mod.ts";
import type { Protocol } from "../protocols/protocol.ts";

/** After this time without a reply an endpoint may have another server, milliseconds: 30 days. */
const MEMORY_MS = 30 * DAY_MS;
/** Maximum number of endpoints that are remembered. */
const MAX_ENDPOINTS = 65_536;

/** What a poll shows about an endpoint. */
export interface PolledEndpoint {
  /** Whether the endpoint sent a datagram that suppresses protocols. */
  readonly suppresses: boolean;
  /** Whether the endpoint replied in any protocol. */
  readonly hasReplied: boolean;
  /** When the poll ended, milliseconds of the clock. */
  readonly at: number;
}

/** Endpoints that have sent datagrams other than replies in a suppressible protocol. */
export class SuppressingEndpoints {
  /** When the endpoints last replied, milliseconds of the clock; the earliest noted first. */
  readonly #repliedAt = new Map<number | bigint, number>();

  constructor(private readonly allProtocols: readonly Protocol[]) {}

  /** Notes the result of a poll. Any reply of an endpoint that suppresses protocols prolongs the memory. */
  note(endpoint: Endpoint, { suppresses, hasReplied, at }: PolledEndpoint): void {
    if (suppresses || hasReplied && this.has(endpoint, at)) this.#note(endpoint, at);
  }

  /**
   * Notes the last record of a server.
   *
   * @param at When its reply arrived, milliseconds of the clock.
   */
  noteRecord(endpoint: Endpoint, { protocols }: Pick<ServerRecord, "protocols">, at: number): void {
    const suppresses = this.allProtocols.some((one) =>
      protocols.includes(one.name) && repliesSuppress(one)
    );
    if (suppresses) this.#note(endpoint, at);
  }

  /** Whether suppressible protocols must not be used, unless the server is known to speak them. */
  has(endpoint: Endpoint, now: number): boolean {
    return !isOutdated(this.#repliedAt.get(endpointKey(endpoint)) ?? -Infinity, now);
  }

  #note(endpoint: Endpoint, at: number): void {
    const key = endpointKey(endpoint);
    const latest = Math.max(at, this.#repliedAt.get(key) ?? at);
    this.#repliedAt.delete(key);
    this.#repliedAt.set(key, latest);
    if (this.#repliedAt.size <= MAX_ENDPOINTS) return;
    const [[oldest]] = this.#repliedAt;
    this.#repliedAt.delete(oldest);
  }
}

/** Whether the last reply of an endpoint is so old that another server may be there. */
export function isOutdated(repliedAt: number, now: number): boolean {
  return now - repliedAt >= MEMORY_MS;
}
