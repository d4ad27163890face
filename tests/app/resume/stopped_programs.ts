/** Fleets, folders and files for tests that stop and resume scans. */
import { assertEquals } from "@std/assert";
import type { ScannedSelection } from "../../../src/fleet/judge/expected_rows.ts";
import { drawFleet, type FleetPlan } from "../../../src/fleet/simulate/draw_fleet.ts";
import { openFleet } from "../../../src/fleet/simulate/open_fleet.ts";
import { systemClock } from "../../../src/net/clock.ts";
import { finish } from "../../cli/program.ts";

/** The targets, protocols and ports of the scans. */
export const SELECTION: ScannedSelection = {
  protocols: ["raknet", "nethernet", "slp", "query"],
  ports: (name) => name === "raknet" || name === "nethernet" ? [19132] : [25565],
  follow: true,
};

/**
 * Sixty servers on a /23 of loopback. Test files run at the same time: each has its own range.
 *
 * @param start First address of the range.
 * @param hostile Number of hostile hosts among them.
 */
export function fleetAt(start: number, hostile: number) {
  const plan: FleetPlan = { servers: 60, hostile, range: { start, end: start + 512 }, seed: 8 };
  const hosts = drawFleet(plan);
  return {
    entries: hosts.map(({ entry }) => entry),
    open: () => openFleet(drawFleet(plan), { clock: systemClock, seed: 1 }),
  };
}

/** A folder that is removed after the test. */
export async function inFolder(test: (folder: string) => Promise<void>): Promise<void> {
  const folder = await Deno.makeTempDir();
  try {
    await test(folder);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

/** Kills a process. */
export async function kill(child: Deno.ChildProcess): Promise<void> {
  child.kill("SIGKILL");
  assertEquals((await finish(child)).code, 137);
}

/** The number of servers in a list. */
export async function listed(path: string): Promise<number> {
  return (await Deno.readTextFile(path)).split("\n").filter((line) => line.startsWith("+ "))
    .reduce((sum, line) => sum + line.split(" ").length - 2, 0);
}

/** The text of a file. */
export const text = (path: string) => Deno.readTextFile(path);

/** Writes a file. */
export const put = (path: string, content: string) => Deno.writeTextFile(path, content);
