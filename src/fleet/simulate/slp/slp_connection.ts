/**
 * TCP connections to a simulated Java server.
 *
 * @module
 */
import { concat } from "../../../core/bytes.ts";
import type { SimulatedIdentity } from "../server_identity.ts";
import { answerSlp, type SlpStyle } from "./slp_replies.ts";
import type { StreamAct, StreamResponder, StreamTalk } from "../responder.ts";

/** Maximum size of buffered requests, bytes: more than any request has. */
const MAX_KEPT = 4096;

/** Accepts the connections of one simulated server. */
export class SlpConnections implements StreamResponder {
  /**
   * @param style The server's behaviour.
   * @param identity The server's name, players and so on.
   */
  constructor(private readonly style: SlpStyle, private readonly identity: SimulatedIdentity) {}

  /** Accepts a connection and returns its side of the exchange. */
  accept(): StreamTalk {
    let kept: Uint8Array = new Uint8Array();
    return {
      opening: [],
      receive: (bytes) => {
        kept = concat(kept, bytes);
        const acts: StreamAct[] = [];
        while (kept.length > 0) {
          const response = answerSlp(this.style, this.identity, kept);
          if (response === undefined) break;
          kept = kept.slice(response.used);
          if (response.reply.length > 0) acts.push({ bytes: response.reply });
          if (response.close) return [...acts, "close"];
        }
        return kept.length > MAX_KEPT ? [...acts, "close"] : acts;
      },
    };
  }
}
