/**
 * A simulated UDP server: responds to datagrams, with the state that real servers keep.
 *
 * @module
 */
import { type Endpoint, endpointKey } from "../../core/address.ts";
import { Truncated, u32 } from "../../core/bytes.ts";
import { decodeQueryRequest, type QueryRequest } from "../../protocols/query/mod.ts";
import { decodePing } from "../../protocols/raknet/mod.ts";
import { answerPing, refuseConnection } from "./raknet/pongs.ts";
import { ConnectionOpener } from "./raknet/open_connection.ts";
import type { SimulatedIdentity } from "./server_identity.ts";
import { answerRequest } from "./lan_worlds.ts";
import { answerHandshake, answerStat, drawToken, type QueryStyle } from "./query/query_replies.ts";
import type { Random } from "../random.ts";
import { remember, type Responder } from "./responder.ts";
import type { Software } from "./software.ts";

type StatRequest = Extract<QueryRequest, { type: "stat" }>;

/** A simulated server of one software, with one identity. */
export class SimulatedServer implements Responder {
  readonly #tokens = new Map<number | bigint, number>();
  readonly #ignored = new Map<number | bigint, number>();
  /** Encoded stats by kind of request. They differ between requests by the session only. */
  readonly #stats = new Map<string, Uint8Array | undefined>();
  readonly #random: Random;
  readonly #connectionOpener: ConnectionOpener | undefined;

  /**
   * @param software The server's behaviour.
   * @param identity The server's name, players and so on.
   * @param random The source of tokens.
   */
  constructor(readonly software: Software, readonly identity: SimulatedIdentity, random: Random) {
    this.#random = random;
    const style = software.bedrock?.openConnection;
    // The secret is not drawn from `random`, because that would change the sequence of tokens.
    this.#connectionOpener = style &&
      new ConnectionOpener(style, identity.guid, Number(identity.guid >> 32n));
  }

  /** Responds to pings, handshakes, stat requests and open connection requests. */
  respond(datagram: Uint8Array, from: Endpoint, now: number): readonly Uint8Array[] {
    const { bedrock, query, nethernet } = this.software;
    const address = { ...from, port: 0 };
    if ((this.#ignored.get(endpointKey(address)) ?? -Infinity) > now) return [];
    if (bedrock?.refusal !== undefined) {
      return [refuseConnection(bedrock.refusal, this.identity.guid)];
    }
    try {
      const opened = this.#connectionOpener?.respond(datagram, from);
      if (opened !== undefined) return opened;
      const reply = (bedrock && this.#ping(datagram, now)) ??
        (query && this.#query(datagram, from)) ??
        (nethernet && answerRequest(nethernet, this.identity, datagram));
      return reply === undefined ? [] : Array(this.software.repeats ?? 1).fill(reply);
    } catch (error) {
      if (!(error instanceof Truncated)) throw error;
      if (bedrock?.punishes) remember(this.#ignored, address, now + 1000 * bedrock.punishes);
      return [];
    }
  }

  #ping(datagram: Uint8Array, now: number): Uint8Array | undefined {
    const ping = decodePing(datagram);
    if (ping === undefined && this.software.bedrock!.punishesUnknown && datagram[0] < 0x80) {
      throw new Truncated("message that it knows", 0, 1, 0);
    }
    if (ping === undefined) return undefined;
    if (ping.guid === undefined || datagram.length > 33) {
      throw new Truncated("ping of 33 bytes", 0, 33, datagram.length);
    }
    return answerPing(this.software.bedrock!, this.identity, ping, now);
  }

  #query(datagram: Uint8Array, from: Endpoint): Uint8Array | undefined {
    const request = decodeQueryRequest(datagram);
    if (request === undefined) return undefined;
    const query = this.software.query!;
    const holder = query.binding === "address" ? { ...from, port: 0 } : from;
    if (request.type === "handshake") {
      const earlier = query.keepsToken ? this.#tokens.get(endpointKey(holder)) : undefined;
      const token = earlier ?? drawToken(query, this.#random.u32());
      remember(this.#tokens, holder, token);
      return answerHandshake(query, request.session, token);
    }
    return this.#stat(request, holder);
  }

  #stat(request: StatRequest, holder: Endpoint): Uint8Array | undefined {
    const query = this.software.query!;
    const token = this.#tokens.get(endpointKey(holder));
    if (query.singleUse) this.#tokens.delete(endpointKey(holder));
    return token === request.token ? this.#answerStat(query, request) : undefined;
  }

  /** Encodes a stat once per kind of request: encoding is slow and would limit benchmarks. */
  #answerStat(query: QueryStyle, request: StatRequest): Uint8Array | undefined {
    const form = query.form(request.padding.length);
    if (!this.#stats.has(form)) this.#stats.set(form, answerStat(query, this.identity, request));
    const stat = this.#stats.get(form)?.slice();
    stat?.set(u32(request.session), 1);
    return stat;
  }
}
