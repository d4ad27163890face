/**
 * The door of simulated servers: what they answer to those who open a RakNet connection, up to the
 * second reply. The audit reports a scanner that asks for that one (fleet/judge/open_connection_audit.ts).
 *
 * @module
 */
import { type Endpoint, endpointKey } from "../../../core/address.ts";
import {
  decodeOpenRequest1,
  decodeOpenRequest2,
  encodeOpenReply1,
  encodeOpenReply2,
  encodeRefusal,
  MTU_HEADERS,
  type OpenRequest1,
  type OpenRequest2,
  type RefusalReason,
} from "../../../protocols/raknet/mod.ts";
import type { Truth } from "../../manifest.ts";

/** How a software opens connections. */
export interface OpenConnectionStyle {
  /** RakNet protocols that it takes; the first is the one that it names to others. */
  readonly protocols: readonly number[];
  /** Whether it wants to see a cookie again. */
  readonly cookie: boolean;
  /** The MTUs between which it stays. */
  readonly mtu: readonly [least: number, most: number];
  /** Whether who came with another protocol is ignored from then on. */
  readonly sulks?: boolean;
  /** What it answers in place of a reply. */
  readonly refusal?: { readonly to: "request1" | "request2"; readonly reason: RefusalReason };
  /** What a scanner should find out. */
  readonly truth: Truth;
}

/** Senders that a server remembers at the most. */
const MOST_SENDERS = 1024;

/** The door of one server. */
export class ConnectionOpener {
  readonly #ignored = new Set<number | bigint>();

  /**
   * Shuts out nobody yet.
   *
   * @param guid The server.
   * @param secret What its cookies are made of.
   */
  constructor(
    private readonly style: OpenConnectionStyle,
    private readonly guid: bigint,
    private readonly secret: number,
  ) {}

  /** The datagrams that answer; `undefined` when somebody wants something else. */
  respond(datagram: Uint8Array, from: Endpoint): readonly Uint8Array[] | undefined {
    const first = decodeOpenRequest1(datagram);
    const second = first === undefined
      ? decodeOpenRequest2(datagram, this.style.cookie)
      : undefined;
    if (first === undefined && second === undefined) return undefined;
    if (this.#ignored.has(endpointKey(from))) return [];
    const { refusal } = this.style;
    if (refusal?.to === (first === undefined ? "request2" : "request1")) {
      return [encodeRefusal({ reason: refusal.reason, guid: this.guid, protocol: undefined })];
    }
    return first === undefined ? this.#second(second!, from) : [this.#first(first, from)];
  }

  #first({ protocol, padding }: OpenRequest1, from: Endpoint): Uint8Array {
    const { style: { protocols, cookie, sulks }, guid } = this;
    if (!protocols.includes(protocol)) {
      if (sulks && this.#ignored.size < MOST_SENDERS) this.#ignored.add(endpointKey(from));
      return encodeRefusal({ reason: "incompatibleProtocol", guid, protocol: protocols[0] });
    }
    const security = cookie ? { cookie: this.#cookie(from), publicKey: undefined } : undefined;
    const mtu = this.#within(padding + 18 + MTU_HEADERS);
    return encodeOpenReply1({ guid, security, mtu });
  }

  #second({ cookie, mtu }: OpenRequest2, from: Endpoint): Uint8Array[] {
    if (cookie !== undefined && cookie !== this.#cookie(from)) return [];
    const { guid } = this;
    return [encodeOpenReply2({ guid, address: from, mtu: this.#within(mtu), encrypted: false })];
  }

  #within(mtu: number): number {
    const [least, most] = this.style.mtu;
    return Math.min(Math.max(mtu, least), most);
  }

  /** Bound to address and port, as go-raknet's are. */
  #cookie(from: Endpoint): number {
    const key = Number(BigInt(endpointKey(from)) & 0xffffffffn);
    return Math.imul(key ^ this.secret, 0x9e3779b1) >>> 0;
  }
}
