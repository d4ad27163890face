/**
 * Connections to a simulated Java server.
 *
 * @module
 */
import { concat } from "../../../core/bytes.ts";
import type { ServerIdentity } from "../server_identity.ts";
import { answerSlp, type SlpStyle } from "./slp_replies.ts";
import type { StreamAct, StreamResponder, StreamTalk } from "../responder.ts";

/** Bytes of requests that a server keeps: more than any request has. */
const MOST_KEPT = 4096;

/** A server of one software. */
export class SlpConnections implements StreamResponder {
  /**
   * @param style How it behaves.
   * @param identity What it is.
   */
  constructor(private readonly style: SlpStyle, private readonly identity: ServerIdentity) {}

  /** Accepts everybody. */
  accept(): StreamTalk {
    let kept: Uint8Array = new Uint8Array();
    return {
      opening: [],
      receive: (bytes) => {
        kept = concat(kept, bytes);
        const acts: StreamAct[] = [];
        while (kept.length > 0) {
          const answer = answerSlp(this.style, this.identity, kept);
          if (answer === undefined) break;
          kept = kept.slice(answer.used);
          if (answer.reply.length > 0) acts.push({ bytes: answer.reply });
          if (answer.close) return [...acts, "close"];
        }
        return kept.length > MOST_KEPT ? [...acts, "close"] : acts;
      },
    };
  }
}
