/**
 * How many descriptors are left. Deno does not tell the limit of the process, and the limit alone
 * would not tell what is in use; so some are taken, and given back.
 *
 * @module
 */

/** Something that holds a descriptor. */
interface Held {
  [Symbol.asyncDispose](): PromiseLike<void>;
}

/**
 * Tries whether so many descriptors can be had at once.
 *
 * @param most How many are wanted.
 * @param open Takes one; throws where there is none.
 * @returns How many can be had, at most `most`.
 */
export async function descriptorsLeft(most: number, open: () => Held): Promise<number> {
  const held: Held[] = [];
  try {
    while (held.length < most) held.push(open());
  } catch (error) {
    if (error instanceof Deno.errors.NotCapable) throw error;
  }
  await Promise.all(held.map((one) => one[Symbol.asyncDispose]()));
  return held.length;
}
