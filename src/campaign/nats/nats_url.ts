/**
 * The URLs of NATS servers.
 *
 * @module
 */
import { InputError } from "../../core/errors.ts";
import { redactUrl } from "../../core/redact.ts";

/** Where servers are, and what URLs say about access to them. */
export interface NatsLocation {
  /** `host:port` of each server. */
  readonly servers: readonly string[];
  /** Whether a URL starts with `tls://`: then TLS is required. */
  readonly isEncrypted: boolean;
  readonly user: string | undefined;
  readonly password: string | undefined;
  /** The token in the URLs: text before `@` without a colon. */
  readonly token: string | undefined;
  /** The prefix of inboxes of the user: `_INBOX.USER`, if the name can be a part of a subject. */
  readonly inbox: string | undefined;
  /** The URLs without secrets, for messages. */
  readonly shownUrls: string;
}

/** The port of NATS. */
const DEFAULT_PORT = 4222;
/** A comma before a scheme. Other commas are characters of a password. */
const BETWEEN_URLS = /,(?=\s*[a-z]+:\/\/)/i;

/**
 * Parses one or more URLs `nats://USER:PASSWORD@HOST:PORT`, with commas between them. `tls://`
 * requires TLS. Text before `@` without a colon is a token.
 *
 * @throws InputError when a URL is invalid, or URLs have different users.
 *
 * @example
 * ```ts
 * import { parseNatsUrls } from "./nats_url.ts";
 * import { assertEquals } from "@std/assert";
 *
 * const { servers, shownUrls } = parseNatsUrls("nats://ann:secret@10.0.0.1,nats://10.0.0.2:4333");
 * assertEquals(servers, ["10.0.0.1:4222", "10.0.0.2:4333"]);
 * assertEquals(shownUrls, "nats://ann@10.0.0.1,nats://10.0.0.2:4333");
 * ```
 */
export function parseNatsUrls(text: string): NatsLocation {
  const urls = text.split(BETWEEN_URLS).map((part) => parseUrl(part.trim()));
  const access = new Set(urls.map(userinfo).filter((one) => one !== ""));
  const shownUrls = urls.map(shownUrl).join(",");
  if (access.size > 1) {
    throw new InputError(
      `Invalid URLs of NATS "${shownUrls}": their users and passwords must be equal`,
    );
  }
  const { username, password } = urls.find((url) => userinfo(url) !== "") ?? urls[0];
  const isToken = username !== "" && password === "";
  const user = username === "" || isToken ? undefined : decodeURIComponent(username);
  return {
    servers: urls.map(({ hostname, port }) => `${hostname}:${port || DEFAULT_PORT}`),
    isEncrypted: urls.some(({ protocol }) => protocol === "tls:"),
    user,
    password: user === undefined ? undefined : decodeURIComponent(password),
    token: isToken ? decodeURIComponent(username) : undefined,
    inbox: user !== undefined && /^[\w-]+$/.test(user) ? `_INBOX.${user}` : undefined,
    shownUrls,
  };
}

function userinfo({ username, password }: URL): string {
  return `${username}:${password}` === ":" ? "" : `${username}:${password}`;
}

/** The URL without a token or password. */
function shownUrl({ protocol, username, password, host }: URL): string {
  const user = username !== "" && password !== "" ? `${username}@` : "";
  return `${protocol}//${user}${host}`;
}

function parseUrl(text: string): URL {
  const url = URL.parse(text);
  const isValid = url !== null && /^(?:nats|tls):$/.test(url.protocol) &&
    /^[^,]+$/.test(url.hostname) &&
    /^\/?$/.test(url.pathname) && url.search + url.hash === "" && isDecodable(url);
  if (isValid) return url;
  throw new InputError(
    `Invalid URL of NATS "${
      redactUrl(text)
    }": use nats:// and a host, such as nats://10.0.0.1:4222, or tls:// for TLS`,
  );
}

function isDecodable({ username, password }: URL): boolean {
  try {
    decodeURIComponent(username + password);
    return true;
  } catch {
    return false;
  }
}
