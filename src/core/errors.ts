/**
 * What a user can do wrong.
 *
 * @module
 */

/** What this machine lacks for a command: nobody's mistake on the command line. */
export class ShortageError extends Error {
  /** Always `"ShortageError"`. */
  override readonly name = "ShortageError";
}

/** Input that cannot be used. The message names it and says what is wanted: one line, no advice lost. */
export class InputError extends Error {
  /** Always `"InputError"`. */
  override readonly name = "InputError";
}
