/**
 * Functions of JavaScript that Node 20 and 24 lack. The bundle for Node.js calls these in place of the
 * runtime's, so that nothing global is changed.
 */

/** `Promise.withResolvers()`, which Node 20 lacks. */
export function withResolvers<T>(): PromiseWithResolvers<T> {
  let resolve!: PromiseWithResolvers<T>["resolve"];
  let reject!: PromiseWithResolvers<T>["reject"];
  const promise = new Promise<T>((...functions) => [resolve, reject] = functions);
  return { promise, resolve, reject };
}

/** `Object.groupBy()`, which Node 20 lacks. */
export function groupBy<T>(
  items: Iterable<T>,
  keyOf: (item: T, index: number) => PropertyKey,
): Record<PropertyKey, T[]> {
  const groups: Record<PropertyKey, T[]> = Object.create(null);
  let index = 0;
  for (const item of items) (groups[keyOf(item, index++)] ??= []).push(item);
  return groups;
}

/** `Uint8Array.prototype.toHex()`, which Node 20 and 24 lack. */
export function toHex(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
