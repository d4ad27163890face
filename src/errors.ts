/**
 * What a user can do wrong.
 *
 * @module
 */

/** Input that cannot be used. The message names it and says what is wanted: one line, no advice lost. */
export class InputError extends Error {
  /** Always `"InputError"`. */
  override readonly name = "InputError";
}
