/**
 * Names and addresses of the loopback interface.
 *
 * @module
 */
import { isLoopback, parseAddress } from "../../core/address.ts";

/**
 * Whether a host, in the form of `URL.hostname`, is `localhost` (RFC 6761, 6.3) or a loopback
 * address.
 */
export function isLoopbackName(host: string): boolean {
  if (/^(?:[^.]+\.)*localhost\.?$/.test(host)) return true;
  return isLocal(host.replace(/^\[(.*)\]$/, "$1"));
}

/** Whether a text is a loopback address, IPv4-mapped IPv6 (RFC 4291, 2.5.5.2) included. */
export function isLocal(text: string): boolean {
  const address = parseAddress(text);
  if (typeof address === "bigint" && address >> 32n === 0xffffn) {
    return isLoopback(Number(address & 0xffffffffn));
  }
  return address !== undefined && isLoopback(address);
}
