/**
 * The contract of a protocol: a stateless half for the sweep, a stateful half for inspection.
 *
 * @module
 */
import type { Endpoint } from "../core/address.ts";
import type { Facts, ServerRecord } from "../core/record.ts";

/** What the fixed part of a reply proves. */
export interface Reply {
  /** The token that came back, 32 bits; `undefined` when this kind of reply carries none. */
  readonly mac: number | undefined;
  /** The send clock that came back: microseconds, modulo 2^32. */
  readonly clock?: number;
}

/** What a probe's reply tells beyond being a reply. */
export interface ReplyContent<S> {
  /** The whole status: nothing has to be asked. */
  readonly status?: S;
  /** The reply that it is from. */
  readonly raw?: Uint8Array;
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
   * Whether so few bits of the token come back that a flood of forgeries hits upon some: whoever
   * then says nothing more is no server. Default: no.
   */
  readonly guessable?: boolean;
  /**
   * Where in it the token goes, which proves that a reply is to our probe of that endpoint: 32 bits,
   * big endian. Default: nowhere.
   */
  readonly tokenAt?: number;
  /**
   * Whether the token is text, as in challenges of Quake 3: eight hexadecimal digits in lower case.
   * Default: it is four bytes.
   */
  readonly tokenText?: boolean;
  /**
   * Where the time goes, which gives the round trip: microseconds modulo 2^32, big endian. Default:
   * nowhere.
   */
  readonly clockAt?: number;
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
  readContent(datagram: Uint8Array): ReplyContent<S>;
}

/** A datagram to send, and whether it may be sent again while nothing comes back. */
export interface ExchangeRequest {
  /** The datagram; over a stream, bytes to write at once. */
  readonly bytes: Uint8Array;
  /** Whether a repetition is harmless to the server. Over a stream nothing is repeated. */
  readonly resend: boolean;
  /** Whether the question wants a connection of its own: see {@linkcode Exchange}. */
  readonly fresh?: boolean;
}

/** Thrown into an exchange when its question stayed without an answer. */
export class NoReply extends Error {
  /** What it is: `"NoReply"`, or the name of a kind of it. */
  override readonly name: string = "NoReply";
}

/** The silence of a peer that closed its stream, or refused to open one: nothing more will come. */
export class Closed extends NoReply {
  /** Always `"Closed"`. */
  override readonly name = "Closed";
}

/**
 * The stateful half: yields a question (or `undefined`: keep listening), and is resumed with each
 * datagram that arrives, whose bytes it may keep. {@linkcode NoReply} is thrown in when
 * nothing acceptable arrives.
 *
 * Over a stream (`transport` is `"tcp"`) the connecting side
 *
 * - opens a connection for the first question, and one more for each that is `fresh`, in place of
 *   the one before, which it closes; one that cannot be opened again is {@linkcode Closed};
 * - resumes with chunks as they come: they are parts of an answer, never strays, so that the
 *   number of them says nothing, and the exchange itself gives up on a peer that sends too much;
 * - throws in `Closed` at the peer's end of stream or reset, once all that came before it was
 *   handed over, and `NoReply` when its time is up, for one answer or for the whole connection:
 *   the exchange may still make something of what it has;
 * - closes the connection when the exchange is over.
 */
export type Exchange<S> = Generator<ExchangeRequest | undefined, S, Uint8Array>;

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
  readonly lastAttempt: boolean;
  /** The name under which the server is asked for, where it has one. */
  readonly requestedAs?: string | null;
  /** Whether only what a status needs is asked, and nothing for its round trip. Default: no. */
  readonly statusOnly?: boolean;
}

/** What a protocol's status says in the terms of the record. */
export interface Statement {
  /** Columns that it can fill. */
  readonly columns: Partial<ServerRecord>;
  /** What was odd about the answer. */
  readonly flags: readonly string[];
  /** Its own facts, kept under `extras.<protocol>`. */
  readonly facts: Facts;
  /** The MOTD with all that was written in it, where the column holds another form of it. */
  readonly motdSent?: string;
  /** The icon whose hash is in its column. */
  readonly icon?: Uint8Array;
}

/** The MOTD with all that was written in it, in which servers say that they opt out. */
export function motdAsSent({ motdSent, columns: { motd } }: Statement): string {
  return motdSent ?? motd ?? "";
}

/** Ports by family of addresses, ascending. */
export type UsualPorts = Readonly<Record<4 | 6, readonly number[]>>;

/** How a protocol finds out, on request, whether a server can be used. */
export interface Verifier<S = unknown> {
  /** What it does, as the help of `--verify` says it. */
  readonly help: string;
  /** What it sends to whom, for the plan of a scan. */
  readonly plan: string;
  /**
   * Finds it out. What comes of it is laid over the status' statement. It needs a socket of its own,
   * and does not end in silence.
   *
   * @returns `undefined` when there is nothing to find out.
   */
  exchange(status: S, context: ExchangeContext): Exchange<Statement> | undefined;
  /** What a verified row says of the connection, in words for people. */
  summary(record: ServerRecord): readonly string[];
}

/** A protocol that servers speak. */
export interface Protocol<S = unknown> {
  /** Its name: `--protocol` and the `protocol` column. */
  readonly name: string;
  /** Which servers it finds, and how, for the overview of the help. */
  readonly finds: string;
  /** What users have to know before they look for it, as a sentence. Default: nothing. */
  readonly helpNote?: string;
  /** What the sweep sends, in the plural, as `RakNet pings of 33 bytes`. */
  readonly probeText: string;
  /** What carries it. */
  readonly transport: "udp" | "tcp";
  /**
   * Its usual ports. Where they are empty it is looked for only by name, and the user names ports too.
   */
  readonly ports: UsualPorts;
  /** Its discovery form: the ports on which its probe may be broadcast. Default: it has none. */
  readonly broadcastPorts?: UsualPorts;
  /** Whether Minecraft's SRV records (`_minecraft._tcp`) lead to its servers. Default: no. */
  readonly hasServiceRecords?: boolean;
  /**
   * Whether its servers may have a port of their own beside the game's, which they report in
   * `port_v4`. Default: no.
   */
  readonly reportsGamePort?: boolean;
  /** Whether a `guid` is one that a server drew for itself. Default: it has no such column. */
  isServerGuid?(guid: string): boolean;
  /** Whether it is asked for only where it is named. Default: no. */
  readonly onlyNamed?: boolean;
  /**
   * The name of a protocol that suppresses this one: an endpoint that speaks it would be harmed, or
   * would harm us, and is sent nothing of this one. It is probed for first. Default: none.
   */
  readonly suppressedBy?: string;
  /**
   * Whether a datagram has the form of a reply in it: any other ends an exchange of a protocol
   * that another one suppresses, for it shows that the endpoint speaks something else. Default: every one has.
   */
  isReply?(datagram: Uint8Array): boolean;
  /** Columns that it fills before protocols of a higher rank do. Default: none. */
  readonly fillsFirst?: readonly (keyof ServerRecord)[];
  /** Its stateless half, when it has one. */
  readonly probe?: Probe<S>;
  /** Its stateful half. */
  exchange(context: ExchangeContext): Exchange<S>;
  /** What a status says. */
  record(status: S): Statement;
  /**
   * Whether the server of a status repeats our token, so that it can be asked on a socket whose port
   * others know. Default: yes.
   */
  echoesToken?(status: S): boolean;
  /**
   * What a later exchange with the same server on the same socket may start from, and for how long,
   * milliseconds: see {@linkcode ExchangeContext.known}. Default: nothing.
   */
  reusable?(status: S): { readonly known: unknown; readonly forMs: number } | undefined;
  /** How it verifies servers: `--verify`. Default: it does not. */
  readonly verify?: Verifier<S>;
}

/** How a question is asked. */
export type RequestOptions = Omit<ExchangeRequest, "bytes">;

/**
 * Asks one question and listens until `accept` recognises an answer. Strays, duplicates and parts
 * need nothing more: `accept` returns `undefined` for them.
 *
 * @example A handshake as one line
 * ```ts
 * import { request } from "blocksweep/protocols";
 * import { assertEquals } from "@std/assert";
 *
 * const exchange = request(Uint8Array.of(9), ([type, token]) => type === 9 ? token : undefined, {
 *   resend: true,
 * });
 * assertEquals(exchange.next().value, { bytes: Uint8Array.of(9), resend: true });
 * assertEquals(exchange.next(Uint8Array.of(1, 1)).value, undefined); // a stray
 * assertEquals(exchange.next(Uint8Array.of(9, 42)), { done: true, value: 42 });
 * ```
 */
export function* request<T>(
  bytes: Uint8Array,
  accept: (datagram: Uint8Array) => T | undefined,
  options: RequestOptions,
): Exchange<T> {
  let datagram = yield { bytes, ...options };
  for (;;) {
    const answer = accept(datagram);
    if (answer !== undefined) return answer;
    datagram = yield undefined;
  }
}
