/**
 * The address and the port of the metrics page.
 *
 * @module
 */
import { formatAddress, parseAddress } from "../../core/address.ts";
import { InputError } from "../../core/errors.ts";

export interface MetricsAddress {
  readonly hostname: string;
  readonly port: number;
}

/**
 * Parses `PORT`, which means loopback, or `ADDRESS:PORT`.
 *
 * @throws InputError for any other text.
 *
 * @example
 * ```ts
 * import { parseMetrics } from "./metrics_address.ts";
 * import { assertEquals } from "@std/assert";
 *
 * assertEquals(parseMetrics("9150"), { hostname: "127.0.0.1", port: 9150 });
 * assertEquals(parseMetrics("[::]:9150"), { hostname: "::", port: 9150 });
 * ```
 */
export function parseMetrics(text: string): MetricsAddress {
  const [, bare, host, digits] = /^(?::?(\d{1,5})|(.+):(\d{1,5}))$/.exec(text) ?? [];
  const port = Number(bare ?? digits);
  const name = host === "localhost" ? "127.0.0.1" : host?.replace(/^\[(.*)\]$/, "$1");
  const address = bare !== undefined ? 0x7f000001 : parseAddress(name ?? "");
  if (address !== undefined && port >= 1 && port <= 65535) {
    return { hostname: formatAddress(address), port };
  }
  throw new InputError(
    `Cannot use --metrics "${text}": expected a port or ADDRESS:PORT, for example 9150 or 0.0.0.0:9150`,
  );
}
