/**
 * The command `contact-page`: one HTML file about the scans of an address.
 *
 * @module
 */
import { EXIT, writeTextFile } from "../../../app/mod.ts";
import { readContact } from "../../../app/targets/mod.ts";
import { contactPage } from "../../../web/mod.ts";
import { InputError } from "../../../core/errors.ts";
import { type CommandCall, readCommandLine } from "../../options/command_line.ts";
import { print } from "../../term/console.ts";
import { checkPageOutput } from "./page_output.ts";

/** Runs `contact-page`; returns the exit code. */
export async function runContactPage(call: CommandCall): Promise<number> {
  const { options } = readCommandLine("contact-page", call);
  const { contact = await readContact(), output } = options;
  if (contact === undefined) {
    throw new InputError("Cannot make the page without --contact: who answers complaints");
  }
  await checkPageOutput(output);
  const html = contactPage({ ...options, contact });
  if (output === "-") await print(html);
  else await writeTextFile(output, html);
  return EXIT.done;
}
