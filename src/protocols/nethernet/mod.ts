/**
 * NetherNet, the transport of Bedrock servers since 1.26.50. A server replies to an HTTP request with
 * its status. Players then connect by WebRTC, which blocksweep never does.
 *
 * On a LAN, worlds also reply to broadcasts: the subpath `lan` exports those messages.
 *
 * @module
 */
import { formatAddress } from "../../core/address.ts";
import { hashBytes } from "../../core/bits.ts";
import { Malformed, Truncated } from "../../core/bytes.ts";
import type { GeneralFlag } from "../../core/flags.ts";
import { nodeUrl } from "../../core/node_modules.ts";
import type { Exchange, ExchangeContext, ExchangeRequest, Protocol } from "../protocol.ts";
import { Closed, NoReply, request } from "../protocol.ts";
import { encodeStatusRequest } from "./codec.ts";
import {
  isWeakStatus,
  NETHERNET_COLUMNS,
  NETHERNET_PORT,
  nethernetStatement,
  type NethernetStatus,
} from "./columns.ts";
import { headerOf, type HttpFlag, type HttpReply, HttpReplyReader } from "./http_reply.ts";
import {
  decodeStatus,
  type GameStatusFlag,
  isSuccess,
  REDIRECTS,
  statusCodeError,
} from "./status_json.ts";

export * from "./codec.ts";
export { NETHERNET_PORT, type NethernetStatus } from "./columns.ts";
export { type Header, HTTP_LIMITS, type HttpFlag, type HttpReply } from "./http_reply.ts";
export {
  decodeStatus,
  type GameStatus,
  type GameStatusFlag,
  parseGameStatus,
} from "./status_json.ts";

/** A flag that only NetherNet has. */
type NethernetFlag =
  | Exclude<HttpFlag | GameStatusFlag, GeneralFlag>
  | "hidesStatus"
  | "emptyReply"
  | "unknownVersion";

const NETHERNET_FLAGS: Readonly<Record<NethernetFlag, string>> = {
  hidesStatus: "a Bedrock Dedicated Server that hides its status (`enable-lan-visibility=false`)",
  emptyReply: "the reply has no status: the server hides it, or is not ready",
  noLength: "the reply has no length and ends with the connection, so it may be incomplete",
  wrongType: "a text or a switch has another type; it is omitted",
  unknownVersion: "the version of the server data in a reply to LAN discovery is unknown",
};

/** The name of a Bedrock Dedicated Server whose owner has not chosen another one. */
const DEFAULT_NAME = "Dedicated Server";

/** A hash of what its owner has chosen: name, level and player slots; and of the version. */
function statusFingerprint(
  _reply: unknown,
  status: NethernetStatus | undefined,
): number | undefined {
  const { name, version, level, max } = status?.game ?? {};
  if (name == null || name === DEFAULT_NAME) return undefined;
  return hashBytes(new TextEncoder().encode(JSON.stringify([name, version, level, max])));
}

/** NetherNet's status over HTTP, as Bedrock servers speak it. */
export const nethernetProtocol: Protocol<NethernetStatus> = {
  name: "nethernet",
  finds: "Minecraft Bedrock servers, by NetherNet's HTTP requests over TCP",
  probeText: "NetherNet status requests over HTTP",
  transport: "tcp",
  // Over IPv6 too: Bedrock Dedicated Server ignores `server-portv6` for NetherNet.
  ports: { 4: [NETHERNET_PORT], 6: [NETHERNET_PORT] },
  lastElsewhere: true, // proxies of Java servers log a request as a bad packet
  siblings: ["raknet"],
  isWeak: isWeakStatus,
  fingerprint: statusFingerprint,
  playerFacts: [],
  columns: NETHERNET_COLUMNS,
  exchange: statusExchange,
  record: nethernetStatement,
  flags: NETHERNET_FLAGS,
  limitFlags: ["cut"],
};

/** The first byte of a TLS alert. */
const TLS_ALERT = 0x15;

/**
 * Requests a status: in the clear, and once more over TLS if the first reply shows that the port
 * speaks TLS. That is so if the server
 *
 * - accepted the connection and closed it without a byte,
 * - sent a TLS alert,
 * - replied with status 426 (upgrade required) or 400 (bad request),
 * - redirected to `https` on the same host and port.
 *
 * No other redirect is followed, and a server that did not reply in time gets no second request.
 */
function* statusExchange(context: ExchangeContext): Exchange<NethernetStatus> {
  const { host, serverName } = serverOf(context);
  const bytes = encodeStatusRequest({ host });
  const plain = yield* requestReply({ bytes, resend: false });
  if (!mayNeedTls(plain, host)) return statusOf(plain, context, null);
  let certificate = "";
  const tls = {
    ...(serverName !== undefined && { serverName }),
    onCertificate: (sha256: string) => void (certificate = sha256),
  };
  const encrypted = yield* requestReply({ bytes, resend: false, fresh: true, tls });
  if (encrypted instanceof NoReply) return statusOf(plain, context, null);
  return statusOf(encrypted, context, certificate);
}

/** The host of a request: the name that the user typed, and its port. */
function serverOf(
  { endpoint: { address, port: ownPort }, requestedAs, requestedPort }: ExchangeContext,
) {
  const port = requestedPort ?? ownPort;
  const typed = requestedAs ?? "";
  const name = /^[\x20-\x7e]*$/.test(typed) ? typed : nodeUrl().domainToASCII(typed);
  if (/^[\w.-]{1,253}$/.test(name)) return { host: `${name}:${port}`, serverName: name };
  const text = formatAddress(address);
  return { host: `${text.includes(":") ? `[${text}]` : text}:${port}` };
}

/** What came of a request: a reply, perhaps without its body, or why there is none. */
type Result = HttpReply | TlsAlert | NoReply | Malformed | Truncated;

/** The peer sent a TLS alert. */
class TlsAlert extends Malformed {
  constructor() {
    super("a TLS alert", 0);
  }
}

/** Sends a request, and reads the reply to its end. */
function* requestReply({ bytes, ...options }: ExchangeRequest): Exchange<Result> {
  const reader = new HttpReplyReader();
  const accept = (chunk: Uint8Array) => {
    if (reader.received === 0 && chunk[0] === TLS_ALERT) throw new TlsAlert();
    return reader.push(chunk);
  };
  try {
    return yield* request(bytes, accept, options);
  } catch (error) {
    if (error instanceof Malformed) return shownBy(reader) ?? error;
    if (!(error instanceof NoReply)) throw error;
    if (reader.received === 0) return error;
    if (error instanceof Closed) return lastReply(reader);
    // A reply that is incomplete at the timeout is no reason for a second request.
    const { head } = reader;
    return head !== undefined && !isSuccess(head) ? statusCodeError(head) : lastReply(reader);
  }
}

/** The reply without its body, if its status shows enough. */
function shownBy({ head }: HttpReplyReader): HttpReply | undefined {
  return head !== undefined && !isSuccess(head) ? head : undefined;
}

/** The reply of a peer that sends no more bytes. */
function lastReply(reader: HttpReplyReader): HttpReply | Truncated {
  try {
    return reader.close();
  } catch (error) {
    if (!(error instanceof Truncated)) throw error;
    return shownBy(reader) ?? error;
  }
}

/** Whether the same request over TLS may get a status. */
function mayNeedTls(result: Result, host: string): boolean {
  if (result instanceof Closed || result instanceof TlsAlert) return true;
  if (!("status" in result)) return false;
  if (result.status === 400 || result.status === 426) return true;
  return REDIRECTS.includes(result.status) && leadsToTls(headerOf(result, "location") ?? "", host);
}

/** Whether a URL is one of `https` on the host and port of the request. */
function leadsToTls(url: string, host: string): boolean {
  const [, authority] = /^https:\/\/([^/?#\\]+)/i.exec(url) ?? [];
  if (authority === undefined) return false;
  const whole = /:\d+$/.test(authority) ? authority : `${authority}:443`;
  return whole.toLowerCase() === host.toLowerCase();
}

/**
 * The status in a reply.
 *
 * @throws The error of a request without a reply, or Malformed when the reply is none of a server.
 */
function statusOf(
  result: Result,
  { endpoint: { port } }: ExchangeContext,
  certificate: string | null,
): NethernetStatus {
  if (!("status" in result)) throw result;
  return { reply: result, game: decodeStatus(result), port, certificate };
}
