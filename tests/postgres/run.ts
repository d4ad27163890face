/** Runs the tests of lists on PostgreSQL too: on a server of their own, which it starts and stops. */
import { startPostgres } from "./server.ts";

await using server = await startPostgres();
const { code } = await new Deno.Command("deno", {
  args: ["test", "--no-prompt", "--allow-all", "tests/store", "tests/postgres", ...Deno.args],
  env: { BLOCKSWEEP_POSTGRES: server.url },
}).spawn().status;
Deno.exitCode = code;
