/**
 * The SQP half of simulated servers: challenges, and answers in packets.
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
import type { ServerIdentity } from "../server_identity.ts";
import type { Random } from "../../random.ts";
import { remember, type Responder } from "../responder.ts";

/** How a software answers SQP. */
export interface SqpStyle {
  /** The chunks that it has. */
  readonly chunks: (identity: ServerIdentity) => Chunks;
  /** What it answers to a query for none of them. */
  readonly lacking: "silent" | "empty";
  /** The version that it writes, whatever was asked for. Default: 1, and only that is answered. */
  readonly version?: number;
  /** Bytes of a later version's fields, behind the port of a ServerInfo. Default: none. */
  readonly later?: Uint8Array;
  /** Whether it gives out no other challenge until the last one was shown. Default: no. */
  readonly oneChallenge?: boolean;
  /** How many bytes of chunks a packet of it holds; the last one is sent first. Default: all. */
  readonly packetSize?: number;
  /** What a reader should make of it. */
  readonly truth: (identity: ServerIdentity) => Statement;
}

type Query = Extract<SqpRequest, { type: "query" }>;

/**
 * What follows an empty answer of go-svrquery's sample server: the fields of a ServerInfo, of which
 * none is filled, and its length of 0.
 */
const UNFILLED = new Uint8Array(14);

/** A server of one software. As in the sample server, a challenge is for one query, a wrong one too. */
export class SqpServer implements Responder {
  readonly #challenges = new Map<number | bigint, number>();
  readonly #style: SqpStyle;
  readonly #chunks: Chunks;
  readonly #random: Random;

  /**
   * @param style How it behaves.
   * @param identity What it is.
   * @param random Where its challenges come from.
   */
  constructor(style: SqpStyle, identity: ServerIdentity, random: Random) {
    this.#style = style;
    this.#chunks = style.chunks(identity);
    this.#random = random;
  }

  /** Answers requests for a challenge, and queries that show it; all else stays without an answer. */
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

  #query({ challenge, version: asked, chunks }: Query, from: Endpoint): readonly Uint8Array[] {
    const given = this.#challenges.get(endpointKey(from));
    this.#challenges.delete(endpointKey(from));
    const { lacking, packetSize, later, version } = this.#style;
    if (challenge !== given || version === undefined && asked !== 1) return [];
    const known = encodeChunks(chosen(this.#chunks, chunks));
    const answer = later !== undefined && chunks === CHUNKS.info ? longer(known, later) : known;
    if (answer.length > 0) return encodePackets(challenge, answer, packetSize, version).reverse();
    return lacking === "silent"
      ? []
      : encodePackets(challenge, answer).map((packet) => concat(packet, UNFILLED));
  }
}

/** A chunk with bytes behind what it holds. */
function longer(chunk: Uint8Array, more: Uint8Array): Uint8Array {
  const bytes = concat(chunk, more);
  new DataView(bytes.buffer).setUint32(0, bytes.length - 4);
  return bytes;
}

/** The chunks that are asked for. */
function chosen({ info, rules, players, teams, metrics }: Chunks, bits: number): Chunks {
  return {
    ...(bits & CHUNKS.info && { info }),
    ...(bits & CHUNKS.rules && { rules }),
    ...(bits & CHUNKS.players && { players }),
    ...(bits & CHUNKS.teams && { teams }),
    ...(bits & CHUNKS.metrics && { metrics }),
  };
}
