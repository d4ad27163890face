/**
 * Simulates how servers respond to open connection requests, up to the second reply. The audit reports a
 * scanner that sends the second request (fleet/judge/connection_audit.ts).
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

/** A software's behaviour for open connection requests. */
export interface OpenConnectionStyle {
  /** Accepted RakNet protocol versions. The first is named in an incompatible protocol reply. */
  readonly protocols: readonly number[];
  /** Whether the second request must return a cookie. */
  readonly cookie: boolean;
  /** Minimum and maximum MTU, bytes. */
  readonly mtu: readonly [least: number, most: number];
  /** Whether a sender with another protocol version is ignored afterwards. */
  readonly ignoresAfterWrongProtocol?: boolean;
  /** A refusal in place of a reply. Default: none. */
  readonly refusal?: { readonly to: "request1" | "request2"; readonly reason: RefusalReason };
  /** What a correct scanner reads. */
  readonly truth: Truth;
}

/** Maximum number of remembered senders. */
const MAX_SENDERS = 1024;

/** Responds to the open connection requests of one server. */
export class ConnectionOpener {
  readonly #ignored = new Set<number | bigint>();

  /**
   * Creates a responder that ignores no sender yet.
   *
   * @param guid The server's RakNet GUID.
   * @param secret The secret of cookies.
   */
  constructor(
    private readonly style: OpenConnectionStyle,
    private readonly guid: bigint,
    private readonly secret: number,
  ) {}

  /** The replies to a datagram; `undefined` when it is not an open connection request. */
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
    const { style: { protocols, cookie, ignoresAfterWrongProtocol }, guid } = this;
    if (!protocols.includes(protocol)) {
      if (ignoresAfterWrongProtocol && this.#ignored.size < MAX_SENDERS) {
        this.#ignored.add(endpointKey(from));
      }
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

  /** A cookie that is bound to address and port, as in go-raknet. */
  #cookie(from: Endpoint): number {
    const key = Number(BigInt(endpointKey(from)) & 0xffffffffn);
    return Math.imul(key ^ this.secret, 0x9e3779b1) >>> 0;
  }
}
