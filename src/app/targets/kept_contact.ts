/**
 * The file in the configuration folder that keeps the contact for commands without `--contact`. It is
 * written once, and never replaced.
 *
 * @module
 */
import { nodeFs, nodePath } from "../../core/node_modules.ts";
import { InputError } from "../../core/errors.ts";
import { LINE_END, withLocation } from "../../targets/parse.ts";
import type { CallContext } from "../network/call_context.ts";
import { reason } from "../environment.ts";
import { CONTACT } from "../options/domain_value_types.ts";
import type { GivenOptions } from "../options/given_options.ts";
import { configurationPath } from "../opt_outs/opt_out_file.ts";
import { withContact } from "./require_permission.ts";

/** Returns a function that reads the kept contact at its first call: see {@linkcode readContact}. */
export function contactReader(): () => Promise<string | undefined> {
  let contact: Promise<string | undefined> | undefined;
  return () => contact ??= readContact();
}

/**
 * Reads the kept contact. Lines that begin with `#` are comments.
 *
 * @returns `undefined` when there is no file, or the program may not read it.
 * @throws InputError that names the file when it cannot be read, or is not one line with a contact.
 */
export async function readContact(): Promise<string | undefined> {
  const path = contactPath();
  const text = await Deno.readTextFile(path).catch((error) => {
    const { NotFound, NotCapable } = Deno.errors;
    if (error instanceof NotFound || error instanceof NotCapable) return undefined;
    throw new InputError(`Cannot read "${path}": ${reason(error)}`);
  });
  if (text === undefined) return undefined;
  const lines = text.split(LINE_END).map((line) => line.trim());
  const [contact = "", ...further] = lines.filter((line) => line !== "" && !line.startsWith("#"));
  if (further.length > 0) {
    throw new InputError(`Cannot use "${path}": expected one contact, found ${1 + further.length}`);
  }
  return withLocation(path, () => CONTACT.parse(contact, { option: "contact", allProtocols: [] }));
}

/**
 * Keeps a contact, unless one is kept already. An error of the file system is only reported.
 *
 * @param contact The value of `--contact`; `undefined`: the option was not given.
 * @param report Receives a line when the contact is kept, or cannot be kept.
 */
export function keepContact(contact: string | undefined, report: (line: string) => void): void {
  if (contact === undefined) return;
  const path = contactPath();
  try {
    if (nodeFs().existsSync(path)) return;
    Deno.mkdirSync(nodePath().dirname(path), { recursive: true, mode: 0o700 });
    const text = `# who answers complaints: used by commands without --contact\n${contact}\n`;
    writeWhole(path, text);
    report(`blocksweep: the contact is kept in "${path}", for commands without --contact`);
  } catch (error) {
    report(`blocksweep: cannot keep the contact in "${path}": ${reason(error)}`);
  }
}

/** Writes another file and renames it: a full disk leaves no partial file. */
function writeWhole(path: string, text: string): void {
  const part = `${path}.${Deno.pid}.part`;
  try {
    Deno.writeTextFileSync(part, text, { mode: 0o600 });
    Deno.renameSync(part, path);
  } catch (error) {
    try {
      Deno.removeSync(part);
    } catch {
      // it was not created
    }
    throw error;
  }
}

/** Options with a contact. Polls do not need it: an error of the file is only reported. */
export async function withKeptContact(
  options: GivenOptions,
  { keptContact, warn }: Pick<CallContext, "keptContact" | "warn">,
): Promise<GivenOptions> {
  if (options.given.has("contact")) return options;
  try {
    const contact = await keptContact?.();
    return contact === undefined ? options : withContact(options, contact);
  } catch (error) {
    warn(`blocksweep: ${(error as Error).message}; polls are recorded without a contact`);
    return options;
  }
}

function contactPath(): string {
  return configurationPath("contact.txt");
}
