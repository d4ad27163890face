/**
 * Limits on the size of facts. Hosts choose the content of their replies, and rows are stored. The
 * facts of a row are therefore cut to a maximum size.
 *
 * @module
 */

/** Maximum number of UTF-16 units of names and values in one fact. */
const MAX_UNITS = 16_384;

/**
 * The first items of a sequence, up to the maximum size of a fact.
 *
 * @param size The size of an item in UTF-16 units. An empty item counts as one unit.
 * @param onCut Called once when items are left out.
 * @param most Maximum number of items. Default: as many as their size allows.
 */
export function itemsWithinLimit<T>(
  items: Iterable<T>,
  size: (item: T) => number,
  onCut: () => void,
  most = MAX_UNITS,
): T[] {
  const kept: T[] = [];
  let left = MAX_UNITS;
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
