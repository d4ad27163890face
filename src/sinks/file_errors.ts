/**
 * Errors of files: which of them a user can correct, and which are failures of the system.
 *
 * @module
 */
import { InputError, ShortageError } from "../core/errors.ts";
import { isOutOfDescriptors, NO_DESCRIPTORS } from "../net/file_descriptors.ts";
import { WriteError } from "./sink.ts";

/** Codes of errors that another path or other permissions prevent. */
const PATH_ERRORS: ReadonlySet<string> = new Set([
  "EACCES",
  "EBUSY",
  "EINVAL",
  "EISDIR",
  "ELOOP",
  "ENAMETOOLONG",
  "ENODEV",
  "ENOENT",
  "ENOTDIR",
  "ENXIO",
  "EPERM",
  "EROFS",
  "ETXTBSY",
]);

/**
 * The error of a file that cannot be written, in a user's terms. A missing permission of Deno stays as it
 * is: its message names the option that grants it.
 *
 * @param attempt What was tried, as `write to "rows.csv"`.
 * @param error The system's error.
 * @returns An InputError for a wrong path, a ShortageError without descriptors, else a WriteError.
 */
export function fileError(attempt: string, error: unknown): Error {
  if (error instanceof Deno.errors.NotCapable) return error;
  const { code = "", message } = error as { code?: string; message: string };
  if (isOutOfDescriptors(code)) {
    return new ShortageError(`Cannot ${attempt}: ${NO_DESCRIPTORS}`, { cause: error });
  }
  const text = `Cannot ${attempt}: ${withoutCall(message)}`;
  return PATH_ERRORS.has(code) ? new InputError(text) : new WriteError(text, { cause: error });
}

/** A system's error message without the call that failed. */
export function withoutCall(message: string): string {
  return message.replace(/: (open|stat|readfile|writefile|rename|mkdir) '.*$/s, "");
}
