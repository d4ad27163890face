/** Runs commands in the process of a test, which takes a tenth of the time of a process of their own. */
import { main } from "../../src/cli/mod.ts";
import { withMessages, withResults } from "./failing_streams.ts";
import { ENVIRONMENT, type Finished } from "./program.ts";

// No test may read or change the configuration of the user who runs it.
Deno.env.set("XDG_CONFIG_HOME", ENVIRONMENT.XDG_CONFIG_HOME);

/**
 * Runs a command that reads no standard input, with the permissions of the test. The test fails if the
 * command leaves files or sockets open.
 */
export async function runHere(args: readonly string[]): Promise<Finished> {
  const [[code, stderr], stdout] = await withResults(() => withMessages(() => main(args)));
  return { code, stdout, stderr };
}
