/**
 * Errors of files. Some are mistakes that a user can correct, others are failures of the system.
 *
 * @module
 */
import { InputError, permissionText, ShortageError } from "../core/errors.ts";
import { isOutOfDescriptors, NO_DESCRIPTORS } from "../net/file_descriptors.ts";
import { WriteError } from "./sink.ts";

/** Codes of errors that a user can correct by another path or by other permissions of the file. */
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
 * The error to report when a file cannot be written. The error of a missing Deno permission is returned
 * unchanged: the command line reports it with `permissionText()`.
 *
 * @param attempt The failed action, for example `write to "rows.csv"`.
 * @param error The system's error.
 * @returns An InputError for a wrong path, a ShortageError when no descriptor is free, otherwise a
 * WriteError.
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

/** An error message of the system, without the name of the failed call, or of the runtime. */
export function withoutCall(message: string): string {
  return permissionText(message).replace(/: (open|stat|readfile|writefile|rename|mkdir) '.*$/s, "");
}
