/**
 * The meaning of error codes of connections.
 *
 * @module
 */
import { isShortage } from "../file_descriptors.ts";
import type { ConnectFailure } from "../stream.ts";

/** The code of an error, or its name if it has none. */
export function codeOf(error: unknown): string {
  const { code, name } = error as { code?: string; name: string };
  return code ?? name;
}

/**
 * The meaning of an error code; an unknown code means that the peer is unreachable.
 *
 * @param hasAddress Whether this machine has an address of the peer's family. Without one,
 * EADDRNOTAVAIL means that no peer is reachable; with one, that no local port is free.
 */
export function connectFailure(code: string, hasAddress: () => boolean): ConnectFailure {
  if (REFUSALS.has(code)) return "refused";
  if (code === "EADDRNOTAVAIL" && !hasAddress()) return "unreachable";
  if (isShortage(code)) return "exhausted";
  return code === "ETIMEDOUT" || code === "TimedOut" ? "timeout" : "unreachable";
}

const REFUSALS = new Set(["ECONNREFUSED", "ECONNRESET", "ConnectionRefused", "ConnectionReset"]);
