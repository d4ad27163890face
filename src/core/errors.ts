/**
 * The two errors that end a command with a message for the user.
 *
 * @module
 */

/** The error of a resource or capability that this machine lacks; the input is correct. */
export class ShortageError extends Error {
  /** The class's name, always `"ShortageError"`. */
  override readonly name = "ShortageError";
}

/**
 * The error of invalid input. Its message is one line that names the input and the required form.
 */
export class InputError extends Error {
  /** The class's name, always `"InputError"`. */
  override readonly name = "InputError";
}
