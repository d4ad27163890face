/**
 * The header `Accept-Encoding`.
 *
 * @module
 */

/**
 * Whether a header `Accept-Encoding` names gzip with a weight above 0 (RFC 9110, 12.5.3).
 *
 * @example
 * ```ts
 * import { acceptsGzip } from "./accepts_gzip.ts";
 * import { assertEquals } from "@std/assert";
 *
 * assertEquals(["gzip, br", "br, gzip;q=0", "*"].map(acceptsGzip), [true, false, true]);
 * ```
 */
export function acceptsGzip(header: string | undefined): boolean {
  const weights = new Map<string, number>();
  for (const part of (header ?? "").toLowerCase().split(",")) {
    const [coding, ...parameters] = part.split(";").map((text) => text.trim());
    const weight = parameters.find((parameter) => parameter.startsWith("q="))?.slice(2) ?? "1";
    weights.set(coding, Number(weight));
  }
  return (weights.get("gzip") ?? weights.get("x-gzip") ?? weights.get("*") ?? 0) > 0;
}
