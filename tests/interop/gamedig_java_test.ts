/** gamedig against the Java servers of our fleet: what it reads has to be what the manifest says. */
import { assertEquals, assertRejects } from "@std/assert";
import type { ManifestEntry } from "../../src/fleet/manifest.ts";
import { type DigAnswer, DigClient } from "./clients.ts";
import { askAll, serversOf, startFleet, where } from "./fleet.ts";
import { iconHash, type JavaRead, javaTruth, STATUSES } from "./java.ts";

/** What it hands out of a status as it came. */
interface Raw {
  readonly version: { readonly name: string; readonly protocol: number };
  readonly description: unknown;
  readonly favicon?: string;
  readonly players: { readonly sample?: unknown };
  /** The second text of a frame, of Better Compatibility Checker. */
  readonly bcc: unknown;
}

const PATIENT = 5000;
/** For servers that it gets no answer of: nothing it could wait for comes. */
const BRIEF = 500;

Deno.test("gamedig reads our fleet's Java servers", async (t) => {
  const { fleet, entries } = await startFleet();
  await using _fleet = fleet;
  using dig = new DigClient();
  const servers = (...software: readonly string[]) => serversOf(entries, ...software);
  const ask = (type: string, { host, port }: ManifestEntry, socketTimeout: number) =>
    dig.query({ type, host, port, socketTimeout });
  const ping = (entry: ManifestEntry, timeout = PATIENT) =>
    ask("protocol-minecraftvanilla", entry, timeout);

  await t.step("minecraftvanilla: every status", async () => {
    const kinds = [...STATUSES, "componentMotd", "translateMotd", "forgeMore"];
    await askAll(servers(...kinds), async (entry) => {
      const { motd: _, ...truth } = javaTruth(entry);
      assertEquals(readStatus(await ping(entry)), truth, where(entry));
    });
  });

  await t.step("minecraftvanilla: the text behind a status", async () => {
    await askAll(servers("forgeMore", "forge118"), async (entry) => {
      const { bcc } = rawOf(await ping(entry));
      const more = entry.software === "forgeMore"
        ? { projectID: 1, name: "Pack", version: "2" }
        : {};
      assertEquals(bcc, more, where(entry));
    });
  });

  await t.step("minecraftvanilla: what it cannot read", async () => {
    // It wants players, and does not know kicks; it waits on where a server has closed.
    const others = servers(
      ...["hiddenPlayers", "disconnects", "beta18", "java14", "java16", "kicksOnly"],
    );
    await Promise.all(
      others.map((entry) =>
        assertRejects(() => ping(entry, BRIEF), Error, "Failed all", where(entry))
      ),
    );
  });

  await t.step("minecraft: MOTDs", async () => {
    // For each server it also queries over UDP, and waits for replies that do not come.
    const kinds = [
      ...["vanillaOld", "vanillaString", "waterfall", "forge113", "neoforge", "cuberite"],
      ...["minestom", "nodeMinecraftProtocol", "wantsProtocol", "componentMotd", "translateMotd"],
    ];
    // Opens its socket: many first questions at once would open many.
    await ask("protocol-minecraftbedrock", servers("bds")[0], PATIENT);
    await Promise.all(kinds.map(async (kind) => {
      const [entry] = servers(kind);
      const { name, version, numplayers, maxplayers } = await ask("minecraft", entry, BRIEF);
      const { motd, version: named, online, max } = javaTruth(entry);
      // It knows neither lists of components nor translations.
      const known = kind === "componentMotd" || kind === "translateMotd" ? "" : motd;
      assertEquals(
        [name, version, numplayers, maxplayers],
        [known, named, online, max],
        where(entry),
      );
    }));
  });
});

function rawOf({ raw }: DigAnswer): Raw {
  return raw as unknown as Raw;
}

/** A status as gamedig reads it; it reads MOTDs only when it queries in every protocol. */
function readStatus(answer: DigAnswer): Omit<JavaRead, "motd"> {
  const { version, players, favicon } = rawOf(answer);
  // Of its players, which come as a class of their own; without a list it has none.
  const names = Array.from(answer.players, ({ name }) => name);
  return {
    version: version.name,
    protocol: version.protocol,
    online: answer.numplayers,
    max: answer.maxplayers,
    players: players.sample === undefined ? null : names,
    icon: iconHash(favicon),
  };
}
