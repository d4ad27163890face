/** A simulated peer of a stream, and an exchange with it without a socket. */
import {
  Closed,
  type Exchange,
  type ExchangeRequest,
  NoReply,
} from "../../src/protocols/protocol.ts";

/** The reaction of a peer to the unprocessed bytes of a connection. */
export type Peer = (received: Uint8Array) =>
  | { readonly used: number; readonly reply: Uint8Array; readonly close: boolean }
  | undefined;

/** How the network splits bytes into chunks. */
export type Chunking = (bytes: Uint8Array) => readonly Uint8Array[];

/** All bytes in one chunk. */
export const WHOLE: Chunking = (bytes) => [bytes];

/** Chunks of one byte. */
export const DRIP: Chunking = (bytes) => Array.from(bytes, (byte) => Uint8Array.of(byte));

/** The result of an exchange. */
export interface Talk<S> {
  readonly status: S;
  readonly questions: readonly ExchangeRequest[];
}

/** Runs an exchange to its end. The end of a connection arrives after the peer's last byte. */
export function talkStream<S>(exchange: Exchange<S>, peer: Peer, chunking: Chunking): Talk<S> {
  const questions: ExchangeRequest[] = [];
  let received = new Uint8Array();
  let closed = false;
  let arriving: Uint8Array[] = [];
  let step = exchange.next();
  while (!step.done) {
    const question = step.value;
    if (question !== undefined) {
      questions.push(question);
      if (question.fresh) [received, closed, arriving] = [new Uint8Array(), false, []];
      received = Uint8Array.from([...received, ...question.bytes]);
      while (!closed && received.length > 0) {
        const response = peer(received);
        if (response === undefined) break;
        received = received.slice(response.used);
        arriving.push(...chunking(response.reply).map((chunk) => chunk.slice()));
        closed = response.close;
      }
    }
    const chunk = arriving.shift();
    if (chunk !== undefined) step = exchange.next(chunk);
    else step = exchange.throw(closed ? new Closed() : new NoReply());
  }
  return { status: step.value, questions };
}
