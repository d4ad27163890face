/** Runs the tests of databases on PostgreSQL, with a server that it starts and stops. */
import { startPostgres } from "./server.ts";

await using server = await startPostgres();
const { code } = await new Deno.Command("deno", {
  args: ["test", "--no-prompt", "--allow-all", "tests/store", "tests/postgres", ...Deno.args],
  env: { BLOCKSWEEP_POSTGRES: server.url },
}).spawn().status;
Deno.exitCode = code;
