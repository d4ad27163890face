/** A peer at the other end of a stream, and an exchange talked through with it, without a socket. */
import {
  Closed,
  type Exchange,
  type ExchangeRequest,
  NoReply,
} from "../../src/protocols/protocol.ts";

/** What a peer does with the bytes of a connection that it has not dealt with. */
export type Peer = (received: Uint8Array) =>
  | { readonly used: number; readonly reply: Uint8Array; readonly close: boolean }
  | undefined;

/** How bytes arrive: their cuts, as the network makes them. */
export type Chunking = (bytes: Uint8Array) => readonly Uint8Array[];

/** All at once. */
export const WHOLE: Chunking = (bytes) => [bytes];

/** One byte after the other. */
export const DRIP: Chunking = (bytes) => Array.from(bytes, (byte) => Uint8Array.of(byte));

/** What came of a talk. */
export interface Talk<S> {
  readonly status: S;
  readonly questions: readonly ExchangeRequest[];
}

/** Talks an exchange through; the peer's end of a connection comes behind its last byte. */
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
        const answer = peer(received);
        if (answer === undefined) break;
        received = received.slice(answer.used);
        arriving.push(...chunking(answer.reply).map((chunk) => chunk.slice()));
        closed = answer.close;
      }
    }
    const chunk = arriving.shift();
    if (chunk !== undefined) step = exchange.next(chunk);
    else step = exchange.throw(closed ? new Closed() : new NoReply());
  }
  return { status: step.value, questions };
}
