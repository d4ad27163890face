/**
 * What the system refuses, told from what is wrong with us.
 *
 * @module
 */

/**
 * The code of a system's refusal: a network that went away, a port that is taken.
 *
 * @throws Whatever it is given that is none; what we were not allowed is none.
 */
export function refusalOf(error: unknown): string {
  const { code, name } = error as { code?: unknown; name?: unknown };
  if (typeof name === "string" && name !== "NotCapable") {
    if (typeof code === "string") return code;
    if (Object.hasOwn(Deno.errors, name)) return name;
  }
  throw error;
}

/**
 * Nothing, where the system refused: a network may go away while a server is queried.
 *
 * @throws Whatever it is given that is no refusal.
 */
export function noneWhenRefused(error: unknown): undefined {
  refusalOf(error);
}
