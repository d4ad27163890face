/**
 * Runs the tests of databases on PostgreSQL, in two groups at the same time. Each group has a server
 * of its own, because an event feed waits for the transactions of all databases of its server.
 */
import { startPostgres } from "./server.ts";

/** The tests that use PostgreSQL if there is one, in groups that take about the same time. */
const GROUPS = [
  [
    "tests/store",
    "tests/app/databases/broken_cells_test.ts",
    "tests/app/databases/prune_test.ts",
    "tests/app/databases/select_servers_test.ts",
    "tests/app/lan/run_discovery_test.ts",
    "tests/app/targets/added_servers_test.ts",
  ],
  [
    "tests/campaign/collector",
    "tests/postgres",
    "tests/watch/changed_transports_test.ts",
    "tests/watch/database_outages_test.ts",
    "tests/watch/webhook/event_feed_queue_test.ts",
    "tests/watch/webhook/outages_test.ts",
    "tests/watch/webhook/webhook_position_test.ts",
    "tests/web/data",
  ],
];

/** Runs a group of tests. Returns the exit code, and prints the output at the end. */
async function runGroup(tests: readonly string[]): Promise<number> {
  await using server = await startPostgres();
  const { code, stdout, stderr } = await new Deno.Command("deno", {
    args: ["test", "--no-check", "--no-prompt", "--allow-all", ...tests, ...Deno.args],
    env: { BLOCKSWEEP_POSTGRES: server.url },
  }).output();
  for (const bytes of [stdout, stderr]) {
    await new Blob([bytes]).stream().pipeTo(Deno.stdout.writable, { preventClose: true });
  }
  return code;
}

Deno.exitCode = Math.max(...await Promise.all(GROUPS.map(runGroup)));
