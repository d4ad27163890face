/** The client of node-minecraft-protocol queries the Java servers of the fleet. */
import { assertEquals, assertMatch } from "@std/assert";
import type { ManifestEntry } from "../../../src/fleet/manifest.ts";
import { serverId } from "../../../src/core/record.ts";
import { serversOf, startFleet, where } from "../fleet.ts";
import { iconHash, javaTruth, STATUSES } from "../java.ts";
import { javaScript, run } from "../processes.ts";

/** The output of peers/ping.ts for a server. */
interface Printed {
  readonly error?: string;
  readonly motd?: string | null;
  readonly status: {
    readonly version?: { readonly name: string; readonly protocol: number };
    readonly players?: {
      readonly online: number;
      readonly max: number;
      readonly sample?: readonly { readonly name: string }[];
    };
    readonly favicon?: string;
    readonly latency?: number;
    readonly text?: string;
  };
}

/** The protocol number of 1.21.1, which the client sends. */
const ASKED_AS = 767;

async function ping(places: readonly string[]): Promise<readonly Printed[]> {
  const printed = await run(javaScript("ping.ts", ...places));
  // the client also prints messages that it cannot read
  return JSON.parse(printed.trimEnd().split("\n").at(-1)!);
}

Deno.test("the client of node-minecraft-protocol reads the Java servers of the fleet", async (t) => {
  const { fleet, entries } = await startFleet();
  await using _fleet = fleet;
  const readable = serversOf(
    entries,
    ...STATUSES,
    ...["componentMotd", "translateMotd", "forgeMore"],
  );
  const odd = serversOf(entries, "hiddenPlayers", "disconnects");
  const closed = serversOf(entries, "beta18", "java14", "java16", "kicksOnly");
  const queried = [...readable, ...odd, ...closed];
  const printed = await ping(queried.map(serverId));
  const of = (list: readonly ManifestEntry[]) =>
    list.map((entry) => [entry, printed[queried.indexOf(entry)]] as const);

  await t.step("every status, and a pong after each", () => {
    for (const [entry, { status, motd, error }] of of(readable)) {
      assertEquals(error, undefined, where(entry));
      const { version, players, favicon, latency } = status;
      const read = {
        version: version!.name,
        protocol: version!.protocol,
        motd: motd!.replaceAll(/§[xu]/g, ""), // formatting codes that the client does not remove
        online: players!.online,
        max: players!.max,
        players: players!.sample?.map(({ name }) => name) ?? null,
        icon: iconHash(favicon),
      };
      assertEquals(read, javaTruth(entry, ASKED_AS), where(entry));
      assertEquals(typeof latency, "number", where(entry));
    }
  });

  await t.step("an incomplete status is returned unchanged", () => {
    for (const [entry, { status }] of of(odd)) {
      const { version, players, text } = status;
      const expected = entry.software === "disconnects"
        ? [undefined, undefined, "Server is "]
        : [entry.truth.slp.facts.version_name, undefined, undefined];
      assertEquals<unknown>([version?.name, players, text], expected, where(entry));
    }
  });

  await t.step("kicks and closed connections yield no result", () => {
    for (const [entry, { error }] of of(closed)) {
      assertMatch(error ?? "", /ETIMEDOUT|ECONNRESET/, where(entry));
    }
  });
});
