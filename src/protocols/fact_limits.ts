/**
 * How much of what strangers say the facts of a row hold: rows stay small, for they are kept.
 *
 * @module
 */

/** UTF-16 units of names and values that one fact holds. */
const MOST_UNITS = 16_384;

/**
 * Items from the first on, as many as a fact may hold.
 *
 * @param size The units of an item; one at the least counts.
 * @param onCut Called when some are left out.
 * @param most How many at the most. Default: as many as the units allow.
 */
export function itemsWithinLimit<T>(
  items: Iterable<T>,
  size: (item: T) => number,
  onCut: () => void,
  most = MOST_UNITS,
): T[] {
  const kept: T[] = [];
  let left = MOST_UNITS;
  for (const item of items) {
    left -= Math.max(1, size(item));
    if (left < 0 || kept.length === most) {
      onCut();
      break;
    }
    kept.push(item);
  }
  return kept;
}
