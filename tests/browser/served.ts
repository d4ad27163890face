/** Dashboards of the program, with the permissions that the documentation names. */
import { assert, assertEquals } from "@std/assert";
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
  await withServer(database, [], "/api/facets", "servers", test);
}

/** Serves the public list of a database while a test runs. */
export async function withPublicList(
  database: string,
  test: (origin: string) => Promise<void>,
): Promise<void> {
  const options = ["--public", "https://servers.example.org", "--contact", "abuse@example.org"];
  await withServer(database, options, "/stats", "<h2>Edition", test);
}

/** @param counted The path of a resource with counts, and a text that it has once all servers are counted. */
async function withServer(
  database: string,
  options: readonly string[],
  counted: string,
  text: string,
  test: (origin: string) => Promise<void>,
): Promise<void> {
  const port = freePort();
  const permissions = [
    `--allow-net=127.0.0.1:${port}`,
    `--allow-read=${database},${SRC}`,
  ];
  const child = start(["serve", database, "--port", `${port}`, ...options], { permissions });
  const printed = new PrintedText(child, child.stdout);
  try {
    await printed.until("Ctrl-C");
    await untilCounted(`http://127.0.0.1:${port}${counted}`, text);
    await test(`http://127.0.0.1:${port}`);
  } finally {
    child.kill("SIGINT");
    const errors = new Response(child.stderr).text();
    const [{ code }] = await Promise.all([child.status, printed.rest()]);
    assertEquals([code, await errors], [130, ""]);
  }
}

/** Waits until all servers are counted, which happens after the start. */
async function untilCounted(url: string, wanted: string): Promise<void> {
  for (;;) {
    const response = await fetch(url);
    const text = await response.text();
    if (response.status === 200 && text.includes(wanted)) return;
    assert([200, 503].includes(response.status), `${response.status}`);
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
