/**
 * The schema command.
 *
 * @module
 */
import { recordSchema } from "../../core/schema.ts";
import { rankedNames } from "../../protocols/list.ts";
import type { Protocol } from "../../protocols/protocol.ts";
import { EXIT } from "../../app/exit_codes.ts";
import { readCommandLine } from "../options/read_options.ts";
import { print } from "../term/console.ts";

/** Runs `schema`; returns the exit code. */
export async function runSchema(
  args: readonly string[],
  allProtocols: readonly Protocol[],
): Promise<number> {
  readCommandLine("schema", args, allProtocols);
  await print(JSON.stringify(recordSchema(rankedNames(allProtocols)), null, 2));
  return EXIT.done;
}
