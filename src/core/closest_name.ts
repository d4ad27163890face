/**
 * Suggestions for misspelt names: "did you mean".
 *
 * @module
 */

/**
 * The name with the smallest edit distance to a word. The distance is at most 2, and at most a
 * third of the word's length, rounded up. A name with the opposite meaning is never suggested.
 */
export function closestName(word: string, names: readonly string[]): string | undefined {
  const most = Math.min(2, Math.ceil(word.length / 3));
  const opposites = oppositesOf(word);
  const [best] = names.map((name) => ({ name, distance: editDistance(word, name) }))
    .filter(({ distance }) => distance <= most)
    .filter(({ name, distance }) => opposites.every((one) => editDistance(one, name) >= distance))
    .sort((a, b) => a.distance - b.distance);
  return best?.name;
}

/** Pairs of prefixes with opposite meanings. */
const OPPOSITES = [
  ["in", "ex"],
  ["min", "max"],
  ["on", "off"],
  ["allow", "block"],
  ["white", "black"],
  ["no-", ""],
  ["no", ""],
  ["un", ""],
  ["im", "ex"],
] as const;

/** The words with the opposite meaning, formed by exchanging prefixes. */
function oppositesOf(word: string): string[] {
  return OPPOSITES.flatMap((pair) =>
    [pair, pair.toReversed()].flatMap(([from, to]) =>
      word.startsWith(from) ? [to + word.slice(from.length)] : []
    )
  );
}

/**
 * Edit distance: number of changed, added, removed or swapped letters (optimal string alignment).
 * The standard library's `levenshteinDistance` counts a swap, the most common slip, as two edits.
 */
function editDistance(a: string, b: string): number {
  let [before, last] = [[] as number[], Array.from({ length: b.length + 1 }, (_, j) => j)];
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const change = last[j - 1] + (a[i - 1] === b[j - 1] ? 0 : 1);
      row[j] = Math.min(change, last[j] + 1, row[j - 1] + 1);
      const swapped = a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
      if (i > 1 && j > 1 && swapped) row[j] = Math.min(row[j], before[j - 2] + 1);
    }
    [before, last] = [last, row];
  }
  return last[b.length];
}
