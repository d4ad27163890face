/** Dashboards of the program, with the permissions that the documentation names. */
import { assertEquals } from "@std/assert";
import { drawFleet, type FleetPlan } from "../../src/fleet/simulate/draw_fleet.ts";
import { openFleet } from "../../src/fleet/simulate/open_fleet.ts";
import { systemClock } from "../../src/net/clock.ts";
import { PrintedText, run, SCAN, start } from "../cli/program.ts";
import { freePort } from "../fakes/free_port.ts";

/** The folders of its code, and of its tables. */
const SRC = ["src", "data"].map((name) => new URL(`../../${name}`, import.meta.url).pathname)
  .join(",");
/** The permissions of a scan into a database. */
export const SCAN_PERMISSIONS = [
  ...SCAN.filter((one) => !one.startsWith("--allow-env")),
  "--allow-env",
];

/** Serves a database while a test runs, and ends the program as Ctrl-C does. */
export async function withDashboard(
  database: string,
  test: (origin: string) => Promise<void>,
): Promise<void> {
  const port = freePort();
  const permissions = [
    `--allow-net=127.0.0.1:${port}`,
    `--allow-read=${database},${SRC}`,
  ];
  const child = start(["serve", database, "--port", `${port}`], { permissions });
  const printed = new PrintedText(child, child.stdout);
  try {
    await printed.until("Ctrl-C");
    await untilCounted(`http://127.0.0.1:${port}`);
    await test(`http://127.0.0.1:${port}`);
  } finally {
    child.kill("SIGINT");
    const errors = new Response(child.stderr).text();
    const [{ code }] = await Promise.all([child.status, printed.rest()]);
    assertEquals([code, await errors], [130, ""]);
  }
}

/** Waits until the dashboard has counted all servers, which it does after its start. */
async function untilCounted(origin: string): Promise<void> {
  for (;;) {
    const response = await fetch(`${origin}/api/facets`);
    await response.body?.cancel();
    if (response.status === 200) return;
    assertEquals(response.status, 503);
  }
}

/** Runs a command of the program, which has to succeed. */
export async function succeed(...args: readonly string[]): Promise<void> {
  const { code, stderr } = await run(args, { permissions: SCAN_PERMISSIONS });
  assertEquals(code, 0, stderr);
}

/** Simulates servers on loopback while a test runs. */
export async function withFleet(plan: FleetPlan, test: () => Promise<void>): Promise<void> {
  await using _fleet = await openFleet(drawFleet(plan), { clock: systemClock, seed: 1 });
  await test();
}
