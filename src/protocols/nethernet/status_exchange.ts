/**
 * Requests a status: in the clear, and once more over TLS if the first reply shows that the port
 * speaks TLS. That is so if the server
 *
 * - accepted the connection and closed it without a byte,
 * - sent a TLS alert,
 * - replied with status 426 (upgrade required) or 400 (bad request),
 * - redirected to `https` on the same host and port.
 *
 * No other redirect is followed, and a server that was silent is not asked again.
 *
 * @module
 */
import { formatAddress } from "../../core/address.ts";
import { Malformed, Truncated } from "../../core/bytes.ts";
import { nodeUrl } from "../../core/node_modules.ts";
import { decodeLatin1 } from "../../core/text.ts";
import type { Exchange, ExchangeContext, ExchangeRequest } from "../protocol.ts";
import { Closed, NoReply, request } from "../protocol.ts";
import { encodeJoinRequest } from "./codec.ts";
import type { NethernetStatus } from "./columns.ts";
import { headerOf, type HttpReply, HttpReplyReader } from "./http_reply.ts";
import { parseGameStatus } from "./status_json.ts";

/** The first byte of a TLS alert. */
const TLS_ALERT = 0x15;
/** Maximum number of bytes of a reply without JSON that counts as a reply without a status. */
const MAX_NOTE = 64;
/** Statuses of redirects. */
const REDIRECTS = [301, 302, 307, 308];

/** Requests the status of a server. */
export function* statusExchange(context: ExchangeContext): Exchange<NethernetStatus> {
  const { host, port, serverName } = serverOf(context);
  const bytes = encodeJoinRequest({ host });
  const plain = yield* requestReply({ bytes, resend: false });
  if (!mayNeedTls(plain, { host, port })) return statusOf(plain, context, null);
  let certificate = "";
  const tls = {
    ...(serverName !== undefined && { serverName }),
    onCertificate: (sha256: string) => void (certificate = sha256),
  };
  const encrypted = yield* requestReply({ bytes, resend: false, fresh: true, tls });
  const isReply = "status" in encrypted || encrypted instanceof Malformed;
  return isReply ? statusOf(encrypted, context, certificate) : statusOf(plain, context, null);
}

/** The host of a request: the name that the user typed, and its port. */
function serverOf(
  { endpoint: { address, port: ownPort }, requestedAs, requestedPort }: ExchangeContext,
) {
  const port = requestedPort ?? ownPort;
  const typed = requestedAs ?? "";
  const name = /^[\x20-\x7e]*$/.test(typed) ? typed : nodeUrl().domainToASCII(typed);
  if (/^[\w.-]{1,253}$/.test(name)) return { host: `${name}:${port}`, port, serverName: name };
  const text = formatAddress(address);
  return { host: `${text.includes(":") ? `[${text}]` : text}:${port}`, port };
}

/** What came of a request: a reply, perhaps without its body, or why there is none. */
type Result = HttpReply | TlsAlert | NoReply | Malformed | Truncated;

/** The peer sent a TLS alert. */
class TlsAlert extends Malformed {
  constructor() {
    super("a TLS alert", 0);
  }
}

/** The reply is incomplete because the peer became silent, and did not close its connection. */
class Silence extends Truncated {}

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
    if (error instanceof Closed) return closedReply(reader);
    return new Silence("the rest of an HTTP reply", reader.received, 1, 0);
  }
}

/** The reply without its body, if its status shows enough. */
function shownBy({ head }: HttpReplyReader): HttpReply | undefined {
  return head !== undefined && !isSuccess(head) ? head : undefined;
}

/** The reply of a peer that has closed its connection. */
function closedReply(reader: HttpReplyReader): HttpReply | Truncated {
  try {
    return reader.close();
  } catch (error) {
    if (!(error instanceof Truncated)) throw error;
    return shownBy(reader) ?? error;
  }
}

function isSuccess({ status }: HttpReply): boolean {
  return status >= 200 && status < 300;
}

/** Whether the same request over TLS may get a status. */
function mayNeedTls(result: Result, server: { host: string; port: number }): boolean {
  if (result instanceof Closed || result instanceof TlsAlert) return true;
  if (!("status" in result)) return false;
  if (result.status === 400 || result.status === 426) return true;
  return REDIRECTS.includes(result.status) &&
    leadsToTls(headerOf(result, "location") ?? "", server);
}

/** Whether a URL is one of `https` on the host and port of the request. */
function leadsToTls(url: string, { host, port }: { host: string; port: number }): boolean {
  const [, authority] = /^https:\/\/([^/?#\\]+)/i.exec(url) ?? [];
  if (authority === undefined) return false;
  const whole = port === 443 && !/:\d+$/.test(authority) ? `${authority}:443` : authority;
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
  const reply = result;
  if (!isSuccess(reply)) throw new Malformed(statusName(reply, certificate), 0);
  return { reply, game: gameOf(reply), port, certificate };
}

function statusName({ status }: HttpReply, certificate: string | null): string {
  const over = certificate === null ? "" : " over TLS";
  return `HTTP status ${status}${REDIRECTS.includes(status) ? " (a redirect)" : ""}${over}`;
}

/** The status in a reply; `undefined` for a short one without a status. */
function gameOf(reply: HttpReply) {
  const { body } = reply;
  const type = headerOf(reply, "content-type")?.toLowerCase() ?? "";
  const start = decodeLatin1(body.subarray(0, MAX_NOTE)).trimStart();
  if (type.includes("html") || start.startsWith("<")) throw new Malformed("a web page", 0);
  const isJson = /^(?:\xef\xbb\xbf)?\s*[[{]/.test(start);
  if (!isJson && body.length <= MAX_NOTE) return undefined;
  return parseGameStatus(body);
}
