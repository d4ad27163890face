/**
 * Separates errors of the operating system from defects of the program.
 *
 * @module
 */

/**
 * The code of an error of the operating system: a network is down, a port is in use.
 *
 * @throws Every other error, a missing Deno permission included.
 */
export function systemErrorCode(error: unknown): string {
  const { code, name } = error as { code?: unknown; name?: unknown };
  if (typeof name === "string" && name !== "NotCapable") {
    if (typeof code === "string") return code;
    if (Object.hasOwn(Deno.errors, name)) return name;
  }
  throw error;
}

/**
 * Ignores an error of the operating system, because a network may go down while a server is
 * queried.
 *
 * @throws Every other error.
 */
export function noneWhenRefused(error: unknown): undefined {
  systemErrorCode(error);
}
