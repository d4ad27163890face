/**
 * The schema command.
 *
 * @module
 */
import { recordSchema } from "../../core/schema.ts";
import { readArgs } from "../options/parse_arguments.ts";
import { print } from "../term/console.ts";

/** Runs `schema`; returns the exit code. */
export async function runSchema(args: readonly string[]): Promise<number> {
  readArgs("schema", args);
  await print(JSON.stringify(recordSchema(), null, 2));
  return 0;
}
