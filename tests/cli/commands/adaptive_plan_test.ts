/**
 * The dry run of an adaptive scan. Covers src/cli/commands/scan/adaptive_plan_text.ts and
 * src/cli/commands/scan/dry_run.ts.
 */
import { assert, assertEquals, assertMatch } from "@std/assert";
import { runHere } from "../run_here.ts";

const SCAN = ["scan", "10.0.0.0/12", "--adaptive", "--seed", "5", "--engine", "portable"];

/** The rows of a plan, by name. */
async function planOf(...args: readonly string[]): Promise<ReadonlyMap<string, string>> {
  const { code, stdout, stderr } = await runHere([...SCAN, ...args, "--dry-run"]);
  assertEquals([code, stderr], [0, ""]);
  return new Map(
    stdout.trimEnd().split("\n").map((line) => [line.slice(0, 13).trim(), line.slice(13)]),
  );
}

Deno.test("the dry run of an adaptive scan prints its ports, budget, passes and networks", async () => {
  const plan = await planOf();
  assertEquals(
    plan.get("ports"),
    "raknet 19032-19232, first 19132; nethernet 19032-19232, first 19132; slp 25465-25665, first 25565",
  );
  // 50% of three probes for each of 1,048,576 addresses
  assertEquals(
    plan.get("budget"),
    "1,572,864 probes, 50% of one for each address; 632,291,328 endpoints in all",
  );
  assertEquals(plan.get("passes"), "about 77, each planned from the servers of those before");
  assertEquals(plan.get("networks"), "at most 16,384 probes to a /24");
  assert(/^\d+ kB for the counters; more as servers are found$/.test(plan.get("memory")!));
  // 1,573 s of sending, 76 waits of 2 s, and the cooldown of 5 s
  assertEquals(plan.get("duration"), "00:28:50 until the budget is spent");
  for (const name of ["note", "known", "probes", "TCP probes"]) assert(!plan.has(name), name);
});

Deno.test("the dry run names the end by --stop-below, and says that few targets gain nothing", async () => {
  const plan = await planOf("--exclude", "10.0.0.0", "--stop-below", "5/M", "--budget", "1h");
  assertEquals(
    plan.get("budget"),
    "3,600,000 probes, 114.4% of one for each address; 632,290,725 endpoints in all; less if passes find fewer " +
      "than 5 servers per million probes",
  );
  assertEquals(
    plan.get("note"),
    "fewer than 1,048,576 addresses: an adaptive scan gains nothing below 10%",
  );
});

Deno.test("without a rate limit, a budget may be smaller than a usual pass", async () => {
  const few = ["scan", "127.0.0.0/24", "--adaptive", "--budget", "100", "--dry-run"];
  const { code, stdout, stderr } = await runHere(few);
  assertEquals([code, stderr], [0, ""]);
  assertMatch(stdout, /^budget +100 probes, /m);
});

Deno.test("the dry run as JSON has the numbers of its text", async () => {
  const { code, stdout } = await runHere([...SCAN, "--protocol", "raknet", "--dry-run", "--json"]);
  assertEquals(code, 0);
  const plan = JSON.parse(stdout);
  const { memory_bytes, ...adaptive } = plan.adaptive;
  // 8 bytes for each of the 256 /20s
  assert(memory_bytes >= 8 * 256 && memory_bytes < 1e6, `${memory_bytes}`);
  assertEquals(adaptive, {
    budget: 524_288,
    even_sweep: 1_048_576,
    endpoints: 201 * 1_048_576,
    known: 0,
    passes: 54, // 20 of 5,000 probes, and 34 that grow by a twentieth
    max_per_network: 16_384,
    stop_below: 0,
    small: false,
  });
  assertEquals(plan.ports, [
    { protocol: "raknet", interviews: false, ports: "19032-19232", first: 19132 },
  ]);
  assertEquals([plan.probes, plan.tcp_probes], [524_288, 0]);
  assertEquals(plan.duration_s, 524.288 + 53 * 2 + 5);
});
