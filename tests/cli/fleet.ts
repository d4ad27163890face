/** Simulated servers on loopback for one test of the program. */
import { drawFleet, type FleetPlan } from "../../src/fleet/simulate/draw_fleet.ts";
import { openFleet } from "../../src/fleet/simulate/open_fleet.ts";
import { type readCsv, verifyAgainstManifest } from "../../src/fleet/judge/verify_rows.ts";
import { systemClock } from "../../src/net/clock.ts";
import { SELECTION } from "../app/resume/stopped_programs.ts";

/** Options of a scan on loopback, where replies arrive at once. */
export const QUICK = ["--cooldown", "500ms", "--timeout", "2s"];

/**
 * 40 servers and 10 hostile hosts on a /24 of loopback. Test files run at the same time: each has its
 * own range.
 *
 * @param start First address of the range.
 */
export function smallFleet(start: number): FleetPlan {
  return { servers: 40, hostile: 10, range: { start, end: start + 256 }, seed: 6 };
}

/** Checks the rows of a scan. */
type CheckRows = (
  rows: ReturnType<typeof readCsv>,
  format: "csv" | "ndjson",
) => ReturnType<typeof verifyAgainstManifest>;

/** A fleet on loopback while the test runs. */
export async function withFleet(
  plan: FleetPlan,
  test: (check: CheckRows) => Promise<void>,
): Promise<void> {
  const hosts = drawFleet(plan);
  const entries = hosts.map(({ entry }) => entry);
  await using _fleet = await openFleet(hosts, { clock: systemClock, seed: 1 });
  await test((rows, format) => verifyAgainstManifest(entries, rows, SELECTION, format));
}
