/**
 * Which requests the dashboard refuses: by host, method, site and size.
 *
 * @module
 */
import { type HttpRequest, type HttpStatus, isLocal } from "../../app/http/mod.ts";
import { formatAddress, parseAddress } from "../../core/address.ts";
import { isFile } from "../api/export_files.ts";

/** Maximum size of a query string, bytes. */
export const MAX_QUERY = 4096;

/** After how many seconds a client should try again if the database cannot be read. */
export const RETRY_S = "5";

/** Why a request is refused. */
export interface AccessRefusal {
  readonly status: HttpStatus;
  readonly message: string;
  /** What is expected instead. */
  readonly wanted: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Where a dashboard listens, and what may be requested. */
export interface AccessOptions {
  /** The address to listen on. */
  readonly hostname: string;
  /** Further host names of requests. */
  readonly allowedHosts: readonly string[];
  /** Whether there is a token, and so a form for it. */
  readonly hasToken: boolean;
}

/** The path of the form for the token. */
export const TOKEN_PATH = "/token";

/**
 * Why a request is refused; `undefined` if it is not.
 *
 * @param local The address of this machine to which the client has connected.
 */
export function accessRefusal(
  request: HttpRequest,
  local: string,
  options: AccessOptions,
): AccessRefusal | undefined {
  const { method, path, search, headers } = request;
  if (!isAllowedHost(request.host, local, options)) {
    return {
      status: 421,
      message: "This dashboard does not serve the requested host name",
      wanted: "the address of the dashboard, localhost, or a name of --allow-host",
    };
  }
  const isForm = path === TOKEN_PATH && options.hasToken;
  if (method !== "GET" && method !== "HEAD" && !(method === "POST" && isForm)) {
    return {
      status: 405,
      message: "The dashboard only reads",
      wanted: "the method GET or HEAD",
      headers: { allow: isForm ? "GET, HEAD, POST" : "GET, HEAD" },
    };
  }
  const site = headers.get("sec-fetch-site") ?? "none";
  const isForPrograms = isApi(path) || isFile(path);
  if ((isForPrograms || method === "POST") && site !== "none" && site !== "same-origin") {
    return {
      status: 403,
      message: "Pages of other sites cannot use the dashboard",
      wanted: "a request without Sec-Fetch-Site, or from a page of the dashboard",
    };
  }
  if (search.length > MAX_QUERY + 1) {
    return {
      status: 400,
      message: "The query string is too long",
      wanted: `a query string of at most ${MAX_QUERY} bytes`,
    };
  }
  return undefined;
}

/** The methods of public routes. */
const PUBLIC_METHODS = "GET, HEAD, OPTIONS";

/** Headers of public routes: pages of all sites may read them, and show them as images. */
export const PUBLIC_HEADERS: Readonly<Record<string, string>> = {
  "access-control-allow-origin": "*",
  "access-control-expose-headers": "X-Cache-Hit, X-Cache-Time-Remaining, Retry-After",
  "cross-origin-resource-policy": "cross-origin",
};

/** Further headers of the answer to a preflight request (Fetch, 4.8). */
export const PREFLIGHT_HEADERS: Readonly<Record<string, string>> = {
  "access-control-allow-methods": PUBLIC_METHODS,
  "access-control-allow-headers": "*",
  "access-control-max-age": "86400",
};

/**
 * Why a request for a public route is refused; `undefined` if it is not. Every host name, site and client may
 * request public routes, without a token: they have nothing that is not meant for everybody.
 */
export function publicRefusal(
  { method, search }: Pick<HttpRequest, "method" | "search">,
): Omit<AccessRefusal, "wanted"> | undefined {
  if (!PUBLIC_METHODS.split(", ").includes(method)) {
    return { status: 405, message: "Method Not Allowed", headers: { allow: PUBLIC_METHODS } };
  }
  if (search.length > MAX_QUERY + 1) return { status: 400, message: "Bad Request" };
  return undefined;
}

/** Whether a path belongs to the JSON API. */
export function isApi(path: string): boolean {
  return path === "/api" || path.startsWith("/api/");
}

/**
 * Whether the requested host is the dashboard. A page under another name that resolves to this machine
 * (DNS rebinding) must not read it, also on loopback.
 */
function isAllowedHost(
  host: string | undefined,
  local: string,
  { hostname, allowedHosts }: AccessOptions,
): boolean {
  if (host === undefined) return false;
  const name = host.toLowerCase().replace(/\.$/, "");
  if (name === "localhost" || allowedHosts.includes(name)) return true;
  const bare = name.replace(/^\[(.*)\]$/, "$1");
  const address = addressIn(bare);
  if (address === undefined) return false;
  return isLocal(bare) || [hostname, local].some((one) => addressIn(one) === address);
}

/** An address in one form: a socket of IPv6 has IPv4 clients with mapped addresses (RFC 4291, 2.5.5.2). */
function addressIn(text: string): string | undefined {
  const address = parseAddress(text);
  if (address === undefined) return undefined;
  const isMapped = typeof address === "bigint" && address >> 32n === 0xffffn;
  return formatAddress(isMapped ? Number(address & 0xffffffffn) : address);
}
