/** JSON for which `JSON.stringify()` of V8 recurses: it throws RangeError at some thousand levels. */

/** Nested objects whose keys are digits. The innermost one has 2,000 keys and a long text. */
export function deepJson(levels: number): string {
  const many = Object.fromEntries(Array.from({ length: 2000 }, (_, i) => [i, 1]));
  const inner = JSON.stringify({ ...many, text: "é".repeat(70_000) });
  return `${'{"7":'.repeat(levels - 1)}${inner}${"}".repeat(levels - 1)}`;
}
