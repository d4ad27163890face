/** Runs the tests of databases on PostgreSQL, with a server that it starts and stops. */
import { startPostgres } from "./server.ts";

/** The tests that use PostgreSQL if there is one. */
const TESTS = [
  "tests/store",
  "tests/app/databases/broken_cells_test.ts",
  "tests/app/databases/prune_test.ts",
  "tests/app/databases/select_servers_test.ts",
  "tests/app/targets/added_servers_test.ts",
  "tests/watch/database_outages_test.ts",
  "tests/watch/webhook/event_feed_queue_test.ts",
  "tests/watch/webhook/webhook_position_test.ts",
  "tests/campaign/collector",
  "tests/web/data",
  "tests/postgres",
];

await using server = await startPostgres();
const { code } = await new Deno.Command("deno", {
  args: ["test", "--no-prompt", "--allow-all", ...TESTS, ...Deno.args],
  env: { BLOCKSWEEP_POSTGRES: server.url },
}).spawn().status;
Deno.exitCode = code;
