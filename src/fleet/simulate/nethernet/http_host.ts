/**
 * A simulated host that speaks HTTP on a TCP port, plain, over TLS, or both.
 *
 * @module
 */
import { concat, indexOfBytes } from "../../../core/bytes.ts";
import { decodeLatin1 } from "../../../core/text.ts";
import type { Certificate } from "../network/certificate.ts";
import { isHello } from "../network/tls_stream.ts";
import type { StreamAct, StreamResponder, StreamTalk, TlsSide } from "../responder.ts";

export interface ReceivedRequest {
  /** The method, for example `GET`. */
  readonly method: string;
  /** The target, for example `/v1/join`. */
  readonly target: string;
  /** The header `Host`; empty without one. */
  readonly host: string;
  /** Whether the client asks to close the connection after the reply. */
  readonly closes: boolean;
}

/** The behaviour of a host on connections of one kind, plain or encrypted. */
export interface HttpBehaviour {
  /** Actions after a request. */
  readonly answer: (request: ReceivedRequest) => readonly StreamAct[];
  /** Actions after a TLS handshake that the host does not speak. Default: it closes the connection. */
  readonly hello?: readonly StreamAct[];
  /**
   * Whether the host waits for the end of a head whatever the first byte is. Default: it closes a
   * connection that does not begin with a capital letter.
   */
  readonly waits?: boolean;
  /** Actions at the start of a connection. Default: none. */
  readonly opening?: readonly StreamAct[];
}

/** The behaviour of a host on its port. */
export interface HttpPort extends HttpBehaviour {
  /** Behaviour on encrypted connections. Default: the host speaks no TLS. */
  readonly tls?: HttpBehaviour & { readonly certificate: Certificate };
}

/** Maximum size of a head that a host reads, bytes. */
const MAX_HEAD = 8192;
const END = Uint8Array.of(13, 10, 13, 10);

/** Accepts the connections of a host that speaks HTTP. */
export class HttpHost implements StreamResponder {
  /** The TLS side, if the host has one. */
  readonly tls: TlsSide | undefined;

  /** @param port The behaviour of the host. */
  constructor(private readonly port: HttpPort) {
    const { tls } = port;
    this.tls = tls && { certificate: tls.certificate, accept: () => talkOf(tls) };
  }

  /** Accepts a connection that is not encrypted. */
  accept(): StreamTalk {
    return talkOf(this.port);
  }
}

function talkOf({ answer, hello, waits, opening = [] }: HttpBehaviour): StreamTalk {
  let kept: Uint8Array = new Uint8Array();
  let isGreeted = false;
  return {
    opening,
    receive: (bytes) => {
      kept = concat(kept, bytes);
      if (isHello(kept)) {
        const acts = isGreeted ? [] : hello ?? ["close"];
        isGreeted = true;
        return acts;
      }
      if (!waits && !isCapital(kept[0])) return ["close"];
      const acts: StreamAct[] = [];
      for (let end; (end = indexOfBytes(kept, END, 0)) >= 0;) {
        const request = parseHead(decodeLatin1(kept.subarray(0, end)));
        kept = kept.slice(end + END.length);
        acts.push(...request === undefined ? ["close"] as const : answer(request));
      }
      return kept.length > MAX_HEAD ? [...acts, "close"] : acts;
    },
  };
}

const isCapital = (byte: number) => byte >= 0x41 && byte <= 0x5a;

/** Parses the head of a request without its empty line; `undefined`: it is none. */
function parseHead(head: string): ReceivedRequest | undefined {
  const [, method, target] = /^([A-Z]+) (\S+) HTTP\/1\.[01](?:\r\n|$)/.exec(head) ?? [];
  if (method === undefined) return undefined;
  const [, host = ""] = /\r\nhost: *(.*?) *(?:\r\n|$)/i.exec(head) ?? [];
  return { method, target, host, closes: /\r\nconnection: *close *(?:\r\n|$)/i.test(head) };
}

/**
 * Encodes a reply.
 *
 * @param status The code and its reason, for example `200 OK`.
 * @param headers The headers in order.
 * @param body The body, a text in UTF-8. Default: none.
 */
export function httpReply(
  status: string,
  headers: Readonly<Record<string, string | number>>,
  body: string | Uint8Array = "",
): Uint8Array<ArrayBuffer> {
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`).join("");
  const utf8 = (text: string) => new TextEncoder().encode(text);
  return concat(
    utf8(`HTTP/1.1 ${status}\r\n${lines}\r\n`),
    typeof body === "string" ? utf8(body) : body,
  );
}

/** Size of a text in UTF-8, bytes. */
export function utf8Size(text: string): number {
  return new TextEncoder().encode(text).length;
}
