/**
 * Simulates SQP servers: challenges, and replies in one or several packets.
 *
 * @module
 */
import { type Endpoint, endpointKey } from "../../../core/address.ts";
import { concat, Truncated } from "../../../core/bytes.ts";
import {
  CHUNKS,
  type Chunks,
  decodeSqpRequest,
  encodeChunks,
  encodePackets,
  encodeSqpChallenge,
  type SqpRequest,
} from "../../../protocols/sqp/mod.ts";
import type { Statement } from "../../../protocols/protocol.ts";
import type { SimulatedIdentity } from "../server_identity.ts";
import type { Random } from "../../random.ts";
import { remember, type Responder } from "../responder.ts";

/** The SQP behaviour of a software. */
export interface SqpStyle {
  /** Builds the chunks of a server's reply. */
  readonly chunks: (identity: SimulatedIdentity) => Chunks;
  /** The reply to a query for chunks that the server lacks. */
  readonly lacking: "none" | "empty";
  /** The version in every reply. Default: 1, and queries of other versions get no reply. */
  readonly version?: number;
  /** Bytes of a later version's fields after the port in ServerInfo. Default: none. */
  readonly later?: Uint8Array;
  /** Whether a new challenge is issued only after the last one was used. Default: no. */
  readonly oneChallenge?: boolean;
  /** Chunk bytes per packet; packets are sent in reverse order. Default: all in one packet. */
  readonly packetSize?: number;
  /** What a correct scanner reads. */
  readonly truth: (identity: SimulatedIdentity) => Statement;
}

type Query = Extract<SqpRequest, { type: "query" }>;

/**
 * The bytes after an empty reply of go-svrquery's sample server: an empty ServerInfo, and its length
 * of 0.
 */
const UNFILLED = new Uint8Array(14);

/**
 * A simulated SQP server. As in go-svrquery's sample server, a challenge is valid for one query.
 */
export class SqpServer implements Responder {
  readonly #challenges = new Map<number | bigint, number>();
  readonly #style: SqpStyle;
  readonly #chunks: Chunks;
  readonly #random: Random;

  /**
   * @param style The server's behaviour.
   * @param identity The server's name, players and so on.
   * @param random The source of challenges.
   */
  constructor(style: SqpStyle, identity: SimulatedIdentity, random: Random) {
    this.#style = style;
    this.#chunks = style.chunks(identity);
    this.#random = random;
  }

  /** Responds to challenge requests, and to queries with a valid challenge. */
  respond(datagram: Uint8Array, from: Endpoint): readonly Uint8Array[] {
    try {
      const request = decodeSqpRequest(datagram);
      if (request?.type === "query") return this.#query(request, from);
      return request === undefined ? [] : this.#challenge(from);
    } catch (error) {
      if (!(error instanceof Truncated)) throw error;
      return [];
    }
  }

  #challenge(from: Endpoint): readonly Uint8Array[] {
    if (this.#style.oneChallenge && this.#challenges.has(endpointKey(from))) return [];
    const challenge = this.#random.u32() || 1;
    remember(this.#challenges, from, challenge);
    return [encodeSqpChallenge(challenge)];
  }

  #query({ challenge, version: requested, chunks }: Query, from: Endpoint): readonly Uint8Array[] {
    const given = this.#challenges.get(endpointKey(from));
    this.#challenges.delete(endpointKey(from));
    const { lacking, packetSize, later, version } = this.#style;
    if (challenge !== given || version === undefined && requested !== 1) return [];
    const known = encodeChunks(chosen(this.#chunks, chunks));
    const reply = later !== undefined && chunks === CHUNKS.info ? longer(known, later) : known;
    if (reply.length > 0) return encodePackets(challenge, reply, packetSize, version).reverse();
    return lacking === "none"
      ? []
      : encodePackets(challenge, reply).map((packet) => concat(packet, UNFILLED));
  }
}

/** A chunk with bytes appended. */
function longer(chunk: Uint8Array, more: Uint8Array): Uint8Array {
  const bytes = concat(chunk, more);
  new DataView(bytes.buffer).setUint32(0, bytes.length - 4);
  return bytes;
}

/** The chunks that a query requests. */
function chosen({ info, rules, players, teams, metrics }: Chunks, bits: number): Chunks {
  return {
    ...(bits & CHUNKS.info && { info }),
    ...(bits & CHUNKS.rules && { rules }),
    ...(bits & CHUNKS.players && { players }),
    ...(bits & CHUNKS.teams && { teams }),
    ...(bits & CHUNKS.metrics && { metrics }),
  };
}
