/**
 * Networks as filters and pages have them.
 *
 * @module
 */
import { type Address, family, formatAddress } from "../../core/address.ts";
import { InputError } from "../../core/errors.ts";
import { parseNetwork } from "../../store/mod.ts";

/**
 * An IPv4 or IPv6 network in its canonical form: `192.0.2.0/24`, or one address; `undefined`: the text is
 * no network.
 */
export function canonicalNetwork(text: string): string | undefined {
  const range = rangeOf(text);
  if (range === undefined) return undefined;
  const { start, end } = range;
  const size = BigInt(end) - BigInt(start);
  const bits = size.toString(2).length - 1;
  if (1n << BigInt(bits) !== size || BigInt(start) % size !== 0n) return undefined;
  const length = family(start) === 4 ? 32 : 128;
  const address = formatAddress(start);
  return bits === 0 ? address : `${address}/${length - bits}`;
}

function rangeOf(text: string): { readonly start: Address; readonly end: Address } | undefined {
  try {
    return parseNetwork(text);
  } catch (error) {
    if (error instanceof InputError) return undefined;
    throw error;
  }
}
