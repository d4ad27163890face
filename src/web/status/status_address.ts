/**
 * The addresses in paths of the status API.
 *
 * @module
 */
import { formatAddress, parseAddress, unmappedAddress } from "../../core/address.ts";
import { BEDROCK_PORT, GAME_PORT, mayHaveService } from "../../protocols/usual_ports.ts";
import { parseServerName } from "../../store/mod.ts";
import type { StatusQuery } from "../queries/dashboard_data.ts";

/** Maximum length of an address: a name of 253 characters, and a port. */
const MAX_ADDRESS = 259;

/** A server as a client names it. */
export interface StatusAddress {
  /** The address in canonical form, without brackets, or the name in lower case and A-labels. */
  readonly host: string;
  readonly isName: boolean;
  /** The port; `undefined`: the client named none. */
  readonly port: number | undefined;
}

/**
 * Parses a server as clients of the status services name it: `play.example.org`,
 * `play.example.org:25566`, `192.0.2.1`, `2001:db8::1`, `[2001:db8::1]:25566`, and an IPv6 address with a
 * port but no brackets, where the text is not an address as a whole.
 *
 * @returns `undefined` for other text.
 *
 * @example
 * ```ts
 * import { parseStatusAddress } from "./status_address.ts";
 * import { assertEquals } from "@std/assert";
 *
 * const v6 = { host: "2001:db8::1", isName: false };
 * assertEquals(parseStatusAddress("2001:DB8::1"), { ...v6, port: undefined });
 * assertEquals(parseStatusAddress("2001:db8::1:25566"), { ...v6, port: 25566 });
 * assertEquals(parseStatusAddress("2001:db8::1%eth0"), undefined);
 * ```
 */
export function parseStatusAddress(text: string): StatusAddress | undefined {
  if (text.length > MAX_ADDRESS) return undefined;
  const [, host, digits] = /^\[?([\d.:a-f]+?)\]?(?::(\d{1,5}))?$/i.exec(text) ?? [];
  const whole = parseAddress(text.replace(/^\[(.*:.*)\]$/, "$1"));
  if (whole !== undefined) return ofAddress(whole, undefined);
  const address = host === undefined ? undefined : parseAddress(host);
  if (typeof address === "bigint" && isBracketed(text, host)) {
    const port = Number(digits);
    return port >= 1 && port <= 65535 ? ofAddress(address, port) : undefined;
  }
  const named = text.includes("%") ? undefined : parseServerName(text);
  if (named === undefined) return undefined;
  const parsed = parseAddress(named.host);
  return parsed === undefined
    ? { host: named.host, isName: true, port: named.port }
    : ofAddress(parsed, named.port);
}

/** Whether an IPv6 address at the start of a text has both brackets, or none. */
function isBracketed(text: string, host: string): boolean {
  return text.startsWith(`[${host}]:`) || text.startsWith(`${host}:`);
}

function ofAddress(address: number | bigint, port: number | undefined): StatusAddress {
  return { host: formatAddress(unmappedAddress(address)), isName: false, port };
}

/** The question to the database for a server that a client names. */
export function statusQueryOf(
  { host, isName, port }: StatusAddress,
  edition: StatusQuery["edition"],
): StatusQuery {
  const usual = edition === "java" ? GAME_PORT : BEDROCK_PORT;
  return {
    host,
    port: port ?? usual,
    edition,
    mayHaveService: edition === "java" && isName && mayHaveService(port),
  };
}
