/**
 * Which targets need the permission of their owners.
 *
 * @module
 */
import { countOf, withCommas } from "../core/quantities.ts";
import type { Targets } from "./compose.ts";

/** Maximum number of private addresses that may be scanned without a permission. */
const MAX_WITHOUT_PERMISSION = 2n ** 20n;

/**
 * The reason why the user has to confirm the permission of the targets' owners. `undefined`: no
 * permission is needed, for up to a million private addresses, and any number on loopback.
 */
export function permissionNeeded({ publicSize, size, loopbackSize }: Targets): string | undefined {
  if (publicSize > 0n) {
    return countOf(publicSize, "public address", "public addresses");
  }
  return size - loopbackSize > MAX_WITHOUT_PERMISSION
    ? `more than ${withCommas(MAX_WITHOUT_PERMISSION)} addresses`
    : undefined;
}
