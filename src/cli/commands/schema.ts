/**
 * The schema command.
 *
 * @module
 */
import { recordSchema } from "../../core/schema.ts";
import { rankedNames } from "../../protocols/list.ts";
import type { Protocol } from "../../protocols/protocol.ts";
import { EXIT } from "../../app/exit_codes.ts";
import { readArgs } from "../options/parse_arguments.ts";
import { print } from "../term/console.ts";

/** Runs `schema`; returns the exit code. */
export async function runSchema(
  args: readonly string[],
  allProtocols: readonly Protocol[],
): Promise<number> {
  readArgs("schema", args);
  await print(JSON.stringify(recordSchema(rankedNames(allProtocols)), null, 2));
  return EXIT.done;
}
