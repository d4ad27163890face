/**
 * The schema command.
 *
 * @module
 */
import { recordSchema } from "../../core/schema.ts";
import { rankedNames } from "../../protocols/list.ts";
import { EXIT } from "../../app/mod.ts";
import { type CommandCall, readCommandLine } from "../options/command_line.ts";
import { print } from "../term/console.ts";

/** Runs `schema`; returns the exit code. */
export async function runSchema(call: CommandCall): Promise<number> {
  const { options: { allProtocols } } = readCommandLine("schema", call);
  await print(JSON.stringify(recordSchema(rankedNames(allProtocols)), null, 2));
  return EXIT.done;
}
