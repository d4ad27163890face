/**
 * The token of a header `Authorization` (RFC 6750, 2.1).
 *
 * @module
 */
import { nodeCrypto } from "../../core/node_modules.ts";
import type { HttpRequest } from "./http_request.ts";

/** What the header can contain as a token. */
export const TOKEN_FORM = /^[A-Za-z0-9._~+/-]+=*$/;

/** Whether a request has the token in its header `Authorization`. */
export function hasBearerToken(headers: HttpRequest["headers"], token: string): boolean {
  const [, given = ""] = /^bearer +(\S+)$/i.exec(headers.get("authorization") ?? "") ?? [];
  return isSameSecret(given, token);
}

/** Compares two texts in a time that does not depend on where they differ. */
export function isSameSecret(a: string, b: string): boolean {
  const [first, second] = [a, b].map((text) =>
    nodeCrypto().createHash("sha256").update(text).digest()
  );
  return nodeCrypto().timingSafeEqual(first, second);
}
