/**
 * The contract of a protocol: a stateless half for the sweep, a stateful half for inspection.
 *
 * @module
 */
import type { Endpoint } from "../address.ts";
import type { Facts, ServerRecord } from "../record.ts";

/** What the fixed part of a reply proves. */
export interface Reply {
  /** The token that came back; `undefined` when this kind of reply carries none. */
  readonly mac: number | undefined;
  /** The send clock that came back: microseconds, modulo 2^32. */
  readonly clock?: number;
}

/** What a probe's reply tells beyond being a reply. */
export interface Learned<S> {
  /** The whole status: nothing has to be asked. */
  readonly status?: S;
  /** What an exchange may start from: see {@linkcode ExchangeContext.known}. */
  readonly known?: unknown;
}

/** The stateless half: one datagram out, one recognisable datagram back. */
export interface Probe<S> {
  /** The datagram, with the token bytes zero. Copied once per slot, never per probe. */
  readonly template: Uint8Array;
  /** Which bits of a 32-bit token come back. */
  readonly macMask: number;
  /**
   * Whether honest servers are known that answer without our token: such a reply is then worth a
   * second question, where else it would be taken for forged.
   */
  readonly mayLackToken: boolean;
  /**
   * Writes the token in place.
   *
   * @param slots Memory that holds copies of the template.
   * @param at Where the copy to stamp starts.
   * @param mac Proves that the reply is to our probe of this endpoint; already masked.
   * @param clock Gives the round trip: microseconds, modulo 2^32.
   */
  stamp(slots: DataView, at: number, mac: number, clock: number): void;
  /**
   * Reads the fixed part of a reply: cheap, for it runs on whatever arrives.
   *
   * @returns `undefined` when the datagram is not a reply to this probe.
   * @throws Truncated, Malformed: it is one, but broken.
   */
  read(datagram: Uint8Array): Reply | undefined;
  /**
   * Reads the rest, once the token was found to be ours. What is learned may hold views into the
   * datagram. Throws as `read` does.
   */
  learn(datagram: Uint8Array): Learned<S>;
}

/** A datagram to send, and whether it may be sent again while nothing comes back. */
export interface Question {
  /** The datagram. */
  readonly bytes: Uint8Array;
  /** Whether a repetition is harmless to the server. */
  readonly resend: boolean;
}

/** Thrown into an exchange when its question stayed without an answer. */
export class Silence extends Error {
  /** Always `"Silence"`. */
  override readonly name = "Silence";
}

/**
 * The stateful half: yields a question (or `undefined`: keep listening), and is resumed with each
 * datagram that arrives, whose bytes it may keep. {@linkcode Silence} is thrown in when
 * nothing acceptable arrives.
 */
export type Exchange<S> = Generator<Question | undefined, S, Uint8Array>;

/** What an exchange may know of its surroundings. */
export interface ExchangeContext {
  /** Who is asked. */
  readonly endpoint: Endpoint;
  /** 63 bits that nobody can guess, new for every attempt. */
  readonly nonce: bigint;
  /** What the sweep already learned from this server, on the same socket. */
  readonly known?: unknown;
  /** Whether the socket serves nothing but this exchange, so that an answer on it is proof. */
  readonly exclusive: boolean;
  /** Whether no further attempt follows, so that less than a full status is better than nothing. */
  readonly final: boolean;
}

/** What a protocol's status says in the terms of the record. */
export interface Statement {
  /** Columns that it can fill. */
  readonly columns: Partial<ServerRecord>;
  /** What was odd about the answer. */
  readonly flags: readonly string[];
  /** Its own facts, kept under `extras.<protocol>`. */
  readonly facts: Facts;
}

/** A protocol that servers speak. */
export interface Protocol<S = unknown> {
  /** Its name: `--protocol` and the `protocol` column. */
  readonly name: string;
  /** What carries it. */
  readonly transport: "udp" | "tcp";
  /** Its stateless half, when it has one. */
  readonly probe?: Probe<S>;
  /** Its stateful half. */
  exchange(context: ExchangeContext): Exchange<S>;
  /** What a status says. */
  record(status: S): Statement;
}

/** How a question is asked. */
export interface AskOptions {
  /** Whether a repetition is harmless to the server. */
  readonly resend: boolean;
}

/**
 * Asks one question and listens until `accept` recognises an answer. Strays, duplicates and parts
 * need nothing more: `accept` returns `undefined` for them.
 *
 * @example A handshake as one line
 * ```ts
 * import { ask } from "blocksweep";
 * import { assertEquals } from "@std/assert";
 *
 * const exchange = ask(Uint8Array.of(9), ([type, token]) => type === 9 ? token : undefined, {
 *   resend: true,
 * });
 * assertEquals(exchange.next().value, { bytes: Uint8Array.of(9), resend: true });
 * assertEquals(exchange.next(Uint8Array.of(1, 1)).value, undefined); // a stray
 * assertEquals(exchange.next(Uint8Array.of(9, 42)), { done: true, value: 42 });
 * ```
 */
export function* ask<T>(
  bytes: Uint8Array,
  accept: (datagram: Uint8Array) => T | undefined,
  { resend }: AskOptions,
): Exchange<T> {
  let datagram = yield { bytes, resend };
  for (;;) {
    const answer = accept(datagram);
    if (answer !== undefined) return answer;
    datagram = yield undefined;
  }
}
