/**
 * A scan of the fleet that the clients of other projects query. Its rows must agree with the same
 * manifest.
 */
import { assertEquals } from "@std/assert";
import { verifyAgainstManifest } from "../../src/fleet/judge/verify_rows.ts";
import { startFleet } from "./fleet.ts";
import { scan } from "./processes.ts";

const PORTS: Record<string, readonly number[]> = {
  raknet: [19132],
  nethernet: [19132],
  query: [25565],
  slp: [25565],
};

Deno.test("scan: the fleet that other clients read gives the rows of its manifest", async () => {
  const { fleet, entries } = await startFleet();
  await using _fleet = fleet;
  const hosts = await Deno.makeTempFile();
  try {
    await Deno.writeTextFile(hosts, entries.map(({ host }) => `${host}\n`).join(""));
    const { rows } = await scan("-iL", hosts);
    const selection = {
      protocols: Object.keys(PORTS),
      ports: (protocol: string) => PORTS[protocol],
      follow: true,
    };
    const { faults, right } = verifyAgainstManifest(entries, rows, selection, "ndjson");
    assertEquals(faults, []);
    assertEquals(right, entries.length);
  } finally {
    await Deno.remove(hosts);
  }
});
