/**
 * Signatures of requests, with which a receiver verifies their sender, content and age.
 *
 * @module
 */
import { nodeCrypto } from "../../core/node_modules.ts";

/**
 * The headers of a signed request. `x-blocksweep-signature` is `sha256=` and the hexadecimal
 * HMAC-SHA-256 of `TIMESTAMP.BODY`; `x-blocksweep-timestamp` is TIMESTAMP, Unix seconds.
 *
 * @param secret The key, as UTF-8.
 * @param wall The time of the request, Unix milliseconds.
 */
export function signatureHeaders(
  secret: string,
  wall: number,
  body: Uint8Array,
): Readonly<Record<string, string>> {
  const timestamp = String(Math.floor(wall / 1000));
  const hash = nodeCrypto().createHmac("sha256", secret);
  const mac = hash.update(`${timestamp}.`).update(body).digest("hex");
  return { "x-blocksweep-timestamp": timestamp, "x-blocksweep-signature": `sha256=${mac}` };
}
