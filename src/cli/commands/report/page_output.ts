/**
 * The file of an HTML page: checks that writing it destroys nothing else.
 *
 * @module
 */
import { userPath, writeRefusal } from "../../../app/mod.ts";
import { InputError } from "../../../core/errors.ts";
import { redactUrl } from "../../../core/redact.ts";
import { parseDatabaseLocation } from "../../../store/database_location.ts";

/** The start of an HTML page; `\s` also matches a byte order mark. */
const HTML = /^\s*<(?:!doctype\s+html|html)\b/i;

/** Number of bytes in which an HTML page has its first tag. */
const START_BYTES = 1024;

/**
 * Checks that a page can be written to a path or `-`, before the page is made.
 *
 * @throws InputError for a database, and for an existing file that is not empty and not an HTML page.
 */
export async function checkPageOutput(output: string): Promise<void> {
  if (output === "-") return;
  if (parseDatabaseLocation(output) !== undefined) {
    throw new InputError(
      `Cannot write an HTML page to "${redactUrl(output)}", which is a database`,
    );
  }
  const start = await startOf(output);
  if (start === "" || HTML.test(start)) return;
  throw new InputError(
    `Cannot overwrite "${output}": it is not an HTML page; name another file, or delete it`,
  );
}

/** The first bytes as text; `""` if there is no such file, or if it is a pipe or device. */
async function startOf(output: string): Promise<string> {
  const path = userPath(output);
  try {
    if (!(await Deno.stat(path)).isFile) return "";
    using file = await Deno.open(path);
    const bytes = new Uint8Array(START_BYTES);
    const count = await file.read(bytes) ?? 0;
    return new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes.subarray(0, count));
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return "";
    throw writeRefusal(output, error);
  }
}
