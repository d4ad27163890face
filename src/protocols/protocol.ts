/**
 * The contract of a protocol: a stateless half for the sweep, a stateful half for inspection.
 *
 * @module
 */
import type { Endpoint } from "../core/address.ts";
import type { Facts, ServerRecord } from "../core/record.ts";

/** The fields of a probe's reply that show to which probe it replies. */
export interface Reply {
  /** The token that the reply repeats, 32 bits; `undefined` for a kind of reply without a token. */
  readonly mac: number | undefined;
  /** The send time that the reply repeats: microseconds, modulo 2^32. */
  readonly clock?: number;
}

/** The content of the variable part of a probe's reply. */
export interface ReplyContent<S> {
  /** The whole status of the server; `undefined`: an exchange has to request it. */
  readonly status?: S;
  /** State that a later exchange may start from: see {@linkcode ExchangeContext.known}. */
  readonly known?: unknown;
}

/** The stateless half of a protocol: it sends one datagram and recognises the reply. */
export interface Probe<S> {
  /** `"tcp"`: the template is a TCP header, that of SYN packets. Default: a datagram. */
  readonly transport?: "tcp";
  /**
   * The datagram, with zeros in place of the token. It is copied once per slot of a batch, not per
   * probe.
   */
  readonly template: Uint8Array;
  /** Mask of the bits of a 32-bit token that replies repeat. */
  readonly macMask: number;
  /**
   * Whether some real servers reply without the token. Inspection then confirms such a reply with a
   * second probe; without this flag the reply counts as forged.
   */
  readonly mayLackToken: boolean;
  /**
   * Whether replies repeat so few bits of the token that a flood of forged replies matches some.
   * Inspection then sends a follow-up to each endpoint. An endpoint without a reply to the
   * follow-up does not count as a server. Default: false.
   */
  readonly guessable?: boolean;
  /**
   * Offset of the token in the template, bytes. The token is 32 bits, big endian, and proves that a
   * reply belongs to the probe of that endpoint. Default: the template contains no token.
   */
  readonly tokenAt?: number;
  /**
   * Whether the token is written as text, as in challenges of Quake 3: eight hexadecimal digits in
   * lower case. Default: false, four bytes.
   */
  readonly tokenText?: boolean;
  /**
   * Offset of the send time in the template, bytes. The send time gives the round trip:
   * microseconds modulo 2^32, big endian. Default: the template contains no time.
   */
  readonly clockAt?: number;
  /**
   * Reads the token of a reply, and decodes nothing else. It runs on every datagram that arrives, so
   * it must be cheap: {@linkcode Probe.content} decodes the reply.
   *
   * @returns `undefined` when the datagram is not a reply to this probe.
   * @throws Truncated, Malformed when the datagram is a broken reply.
   */
  read(datagram: Uint8Array): Reply | undefined;
  /**
   * Whether each reply with a token contains a whole status, for which `content` never throws. The
   * texts of the status are then UTF-8 in the datagram; decoding only removes characters, or
   * replaces them by spaces, `;` or U+FFFD. Such a reply may be decoded when its row is made, and in
   * another thread. Default: false.
   */
  readonly wholeStatus?: boolean;
  /**
   * Decodes a reply whose token is valid. The result may contain views into the datagram. Default:
   * replies contain nothing but the token.
   *
   * @throws Truncated, Malformed when that part is broken.
   */
  content?(datagram: Uint8Array): ReplyContent<S>;
}

/** A datagram to send, and whether it may be resent while no reply arrives. */
export interface ExchangeRequest {
  /** The datagram; over a stream, bytes for one write. */
  readonly bytes: Uint8Array;
  /** Whether a second copy is harmless to the server. Over a stream nothing is resent. */
  readonly resend: boolean;
  /** Whether the request needs a new connection: see {@linkcode Exchange}. */
  readonly fresh?: boolean;
  /** Encrypts the connection, which is then a new one. Default: it is not encrypted. */
  readonly tls?: TlsRequest;
}

/** The TLS connection that a request needs. Its certificate is not verified: a status is public. */
export interface TlsRequest {
  /** The name to send in the handshake (SNI). Default: none, as for an address. */
  readonly serverName?: string;
  /**
   * Called after the handshake, before the exchange gets the first bytes.
   *
   * @param sha256 The SHA-256 of the peer's certificate in DER: 64 hexadecimal digits, lower case.
   */
  onCertificate(sha256: string): void;
}

/** The error that is thrown into an exchange when its request got no acceptable reply in time. */
export class NoReply extends Error {
  /** The class's name: `"NoReply"`, or that of a subclass. */
  override readonly name: string = "NoReply";
}

/**
 * The error that is thrown into an exchange when the peer closed its stream or refused to open one.
 * No reply can follow.
 */
export class Closed extends NoReply {
  /** The class's name, always `"Closed"`. */
  override readonly name = "Closed";
}

/**
 * The stateful half of a protocol: a generator that yields requests. If it yields `undefined`, it
 * only listens. The generator is resumed with each datagram that arrives, and may keep the
 * datagram's bytes. {@linkcode NoReply} is thrown into the generator when no acceptable datagram
 * arrives.
 *
 * Over a stream (`transport` is `"tcp"`) the caller of the generator
 *
 * - opens a connection for the first request. For each request that is `fresh` it closes that
 *   connection and opens another. If the new connection cannot be opened, the caller throws
 *   {@linkcode Closed} into the generator;
 * - resumes the generator with chunks as they arrive. All chunks are parts of the reply, so their
 *   number has no meaning. The exchange itself ends when a peer sends too much;
 * - throws `Closed` into the generator at the peer's end of stream or reset, after all bytes that
 *   arrived before it. The caller throws `NoReply` when the time for one reply or for the whole
 *   connection is over. After either error, the exchange may still return a status from the
 *   bytes that it has;
 * - closes the connection when the exchange is over.
 */
export type Exchange<S> = Generator<ExchangeRequest | undefined, S, Uint8Array>;

/** The arguments of one exchange. */
export interface ExchangeContext {
  /** The endpoint of the exchange. */
  readonly endpoint: Endpoint;
  /** 63 unpredictable bits, new for every attempt. */
  readonly nonce: bigint;
  /**
   * State from an earlier reply of the same server on the same socket, for example a Query token.
   */
  readonly known?: unknown;
  /** Whether the socket serves only this exchange. If so, any reply on the socket is verified. */
  readonly exclusive: boolean;
  /** Whether this is the last attempt. If so, a partial status is accepted. */
  readonly lastAttempt: boolean;
  /** The host name under which the user requested the server; `null` or missing: an address. */
  readonly requestedAs?: string | null;
  /** The port that goes with that name, if an SRV record led from it to the endpoint. */
  readonly requestedPort?: number;
  /** Whether to request only the status, without a ping for the round trip. Default: false. */
  readonly statusOnly?: boolean;
}

/** What a protocol's status contributes to a server's record. */
export interface Statement {
  /** Values of the columns that the status fills. */
  readonly columns: Partial<ServerRecord>;
  /** Anomalies of the reply, as names for the `flags` column. */
  readonly flags: readonly string[];
  /** Facts without a column of their own, stored under `extras.<protocol>`. */
  readonly facts: Facts;
  /**
   * The MOTD as the server sent it, formatting included, if the columns `motd` and `name` contain
   * another form of it. This text is searched for opt-out markers.
   */
  readonly motdSent?: string;
  /** The icon's bytes; the column `favicon_hash` contains their hash. */
  readonly icon?: Uint8Array;
  /**
   * The sample of players with their UUIDs as the server writes them; `null`: without one. No column has
   * UUIDs.
   *
   * @internal
   */
  readonly sample?: readonly { readonly name: string; readonly id: string | null }[];
}

/**
 * The text of a statement that is searched for opt-out markers: the MOTD as the server sent it, the
 * column `motd`, and the column `name`, one per line. Missing values are left out.
 */
export function motdAsSent({ motdSent, columns: { motd, name } }: Statement): string {
  return [motdSent, motd, name].filter((text) => typeof text === "string").join("\n");
}

/** Ports by address family, ascending. */
export type UsualPorts = Readonly<Record<4 | 6, readonly number[]>>;

/** A protocol's optional check of whether a server accepts connections: `--verify`. */
export interface Verifier<S = unknown> {
  /** What the check does, for the help of `--verify`. */
  readonly help: string;
  /** Which datagrams it sends to which servers, for the plan of a scan. */
  readonly plan: string;
  /**
   * Checks a server. The result's columns, flags and facts are added to those of the status. The
   * exchange needs a socket of its own, and never throws {@linkcode NoReply}.
   *
   * @returns `undefined` when the status needs no check.
   */
  exchange(status: S, context: ExchangeContext): Exchange<Statement> | undefined;
  /** The columns that only this check fills reliably. */
  readonly columns: readonly (keyof ServerRecord)[];
  /** Phrases about the connection of a verified server, for `query`. */
  summary(record: ServerRecord): readonly string[];
  /** The meanings of the flags that the check adds, by name. */
  readonly flags?: Readonly<Record<string, string>>;
}

/** A protocol of game servers. */
export interface Protocol<S = unknown> {
  /** The name in `--protocol` and in the `protocol` column. */
  readonly name: string;
  /** Which servers it finds and by which probes, for the overview of the help. */
  readonly finds: string;
  /** A sentence of the help: what users must know before they use the protocol. Default: none. */
  readonly helpNote?: string;
  /** The sweep's probes, in the plural, for example `RakNet pings of 33 bytes`. */
  readonly probeText: string;
  /** The transport that carries its messages. */
  readonly transport: "udp" | "tcp";
  /**
   * Its usual ports. A protocol without usual ports is used only if the user names the protocol and
   * its ports.
   */
  readonly ports: UsualPorts;
  /** The ports on which its probe may be broadcast on a LAN. Default: it is never broadcast. */
  readonly broadcastPorts?: UsualPorts;
  /** Whether Minecraft's SRV records (`_minecraft._tcp`) lead to its servers. Default: false. */
  readonly hasServiceRecords?: boolean;
  /**
   * Whether its servers may listen on another port than the game, which they report in `port_v4`.
   * Default: false.
   */
  readonly reportsGamePort?: boolean;
  /**
   * Tests whether a `guid` is a random number of one server, and not a constant of its software.
   * Default: the protocol fills no `guid`.
   */
  isServerGuid?(guid: string): boolean;
  /**
   * Whether a server keeps its `guid` until it restarts. A changed `guid` then shows a restart.
   * Default: the protocol's GUIDs show no restarts.
   */
  guidChangesOnRestart?(guid: string): boolean;
  /**
   * A hash, 32 bits, of the parts of a first reply that are equal on all ports of a host that shows
   * one server on many ports, and that differ between servers. `undefined`: the reply has no such
   * parts. Default: no reply has any.
   *
   * @param reply The bytes of the reply, if they are kept.
   * @param status The status, if the reply was decoded.
   */
  fingerprint?(reply: Uint8Array | undefined, status: S | undefined): number | undefined;
  /** Whether it is used only if `--protocol` names it. Default: false. */
  readonly onlyNamed?: boolean;
  /**
   * The name of a protocol that suppresses this one. This protocol's messages would harm an
   * endpoint that speaks the other protocol, or make the endpoint block the scan. The sweep
   * therefore probes in the other protocol first, and sends this protocol's messages only to
   * endpoints that did not reply in the other. Default: none.
   */
  readonly suppressedBy?: string;
  /**
   * Whether servers of other software may log its requests as errors. On a port that is not one of its
   * usual ports, it is used after the other protocols of its transport. Default: false.
   */
  readonly lastElsewhere?: boolean;
  /**
   * Names of the protocols in which a server may reply after an update, in place of this one. A known
   * server that no longer replies in this protocol is queried in them before it counts as missed.
   * Default: none.
   */
  readonly siblings?: readonly string[];
  /**
   * Whether a status is too little evidence of a server, because other software sends such replies
   * too. It makes a row only together with a reply in another protocol. Default: never.
   *
   * @param isKnown Whether the server has replied in this protocol or a sibling before.
   */
  isWeak?(status: S, isKnown?: boolean): boolean;
  /**
   * Whether a datagram has the form of a reply in this protocol. It is called only if
   * `suppressedBy` names a suppressor. A datagram of another form shows that the endpoint speaks
   * another protocol, and ends the exchange. Default: every datagram has that form.
   */
  isReply?(datagram: Uint8Array): boolean;
  /**
   * Names of the facts that contain names of players: rows without players' names do not have these
   * facts.
   */
  readonly playerFacts: readonly string[];
  /** The columns that its statements may fill. Default: all columns. */
  readonly columns?: readonly (keyof ServerRecord)[];
  /**
   * Columns in which its values are preferred to those of protocols of a higher rank. Default:
   * none.
   */
  readonly fillsFirst?: readonly (keyof ServerRecord)[];
  /** The stateless half, for protocols over UDP. */
  readonly probe?: Probe<S>;
  /** The stateful half: requests the status of one server. */
  exchange(context: ExchangeContext): Exchange<S>;
  /** Converts a status into columns, flags and facts. */
  record(status: S): Statement;
  /** The meanings of its own flags, by name; flags of several protocols are in GENERAL_FLAGS. */
  readonly flags?: Readonly<Record<string, string>>;
  /** Its flag for records whose `players` are lines of text, and not names. Default: none. */
  readonly playersAreTextFlag?: string;
  /**
   * Those of its own flags that mean that a record lacks a part of the server's status. Default:
   * none.
   */
  readonly incompleteFlags?: readonly string[];
  /**
   * The flags that mean that a value exceeded a limit of the decoder and was shortened.
   * The same reply gives the same values again. Default: none.
   */
  readonly limitFlags?: readonly string[];
  /**
   * Whether the server that sent a status repeats the token. Other servers are queried only on a
   * socket of their own, whose port no other host has seen. Default: true.
   */
  echoesToken?(status: S): boolean;
  /**
   * State that a later exchange with the same server on the same socket may start from ({@linkcode
   * ExchangeContext.known}), and for how many milliseconds it stays valid. Default: none.
   */
  reusable?(status: S): { readonly known: unknown; readonly forMs: number } | undefined;
  /** The check of `--verify`. Default: none. */
  readonly verify?: Verifier<S>;
}

/** The options of {@linkcode request}. */
export type RequestOptions = Omit<ExchangeRequest, "bytes">;

/**
 * Sends one request and listens until `accept` recognises a reply. `accept` returns `undefined` for
 * unsolicited datagrams, for duplicates, and for parts of a reply.
 *
 * @example A handshake as one line
 * ```ts
 * import { assertEquals } from "@std/assert";
 *
 * const exchange = request(Uint8Array.of(9), ([type, token]) => type === 9 ? token : undefined, {
 *   resend: true,
 * });
 * assertEquals(exchange.next().value, { bytes: Uint8Array.of(9), resend: true });
 * assertEquals(exchange.next(Uint8Array.of(1, 1)).value, undefined); // unsolicited
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
    const reply = accept(datagram);
    if (reply !== undefined) return reply;
    datagram = yield undefined;
  }
}
