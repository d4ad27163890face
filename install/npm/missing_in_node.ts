/**
 * Functions of JavaScript that Node 20 and 24 lack. The bundle for Node.js calls these in place of the
 * runtime's, so that nothing global is changed.
 */

/** `Promise.withResolvers()`, which Node 20 lacks. */
export function withResolvers<T>(): PromiseWithResolvers<T> {
  let resolve!: PromiseWithResolvers<T>["resolve"];
  let reject!: PromiseWithResolvers<T>["reject"];
  const promise = new Promise<T>((resolveIt, rejectIt) => {
    resolve = resolveIt;
    reject = rejectIt;
  });
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

/** The two digits of each byte. */
const HEX = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, "0"));

/** `Uint8Array.prototype.toHex()`, which Node 20 and 24 lack. */
export function toHex(bytes: Uint8Array): string {
  let text = "";
  for (let i = 0; i < bytes.length; i++) text += HEX[bytes[i]];
  return text;
}
