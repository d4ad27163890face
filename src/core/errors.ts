/**
 * The two errors that end a command with a message for the user, and the message of a missing
 * permission.
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

/** `Requires write access to "/x", run again with the --allow-write flag` of Deno 2.9. */
const RUNTIME = /^Requires (\w+) access(?: to (.*?))?, run again with the --allow-\w+ flag/s;

/** What a permission is for, by its name. */
const ATTEMPTS: Readonly<Record<string, string>> = {
  env: "read the environment variable",
  ffi: "load the library",
  net: "use the network address",
  read: "read",
  run: "run",
  sys: "read from the system",
  write: "write to",
};

/** Permissions whose flag is useful with one value. Others are usually granted as a whole. */
const WITH_VALUE: ReadonlySet<string> = new Set(["env", "read", "run", "sys", "write"]);

/**
 * The message to show for an error of a missing permission, in place of the runtime's own: "run again
 * with the --allow-all flag" is no help for the user of an installed command. Other messages are not
 * changed.
 *
 * @param message The message of the error.
 */
export function permissionText(message: string): string {
  const [, kind, what = ""] = RUNTIME.exec(message) ?? [];
  if (kind === undefined) return message;
  if (kind === "all") {
    return `Cannot open ${what}: Deno opens such files only for programs with all permissions; ` +
      "use - and let the shell open the file, for example -o - > FILE";
  }
  const value = what.replace(/^"(.*)"$/s, "$1");
  const flag = WITH_VALUE.has(kind) && value !== ""
    ? `--allow-${kind}=${value}`
    : `--allow-${kind}`;
  const other = kind === "env" && !value.startsWith("BLOCKSWEEP_")
    ? "use a variable whose name starts with BLOCKSWEEP_, or "
    : "";
  return `Cannot ${ATTEMPTS[kind] ?? `use ${kind}`} ${what}`.trimEnd() +
    `: the permission is missing; ${other}add ${flag} to deno run or deno install`;
}
