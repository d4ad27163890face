/** gamedig queries the Java servers of the fleet. Its results must agree with the manifest. */
import { assertEquals, assertRejects } from "@std/assert";
import type { ManifestEntry } from "../../src/fleet/manifest.ts";
import { type DigAnswer, DigClient } from "./clients.ts";
import { queryAll, serversOf, startFleet, where } from "./fleet.ts";
import { iconHash, type JavaRead, javaTruth, STATUSES } from "./java.ts";

/** The unprocessed parts of a status in gamedig's result. */
interface Raw {
  readonly version: { readonly name: string; readonly protocol: number };
  readonly description: unknown;
  readonly favicon?: string;
  readonly players: { readonly sample?: unknown };
  /** The second text of a frame, which Better Compatibility Checker adds. */
  readonly bcc: unknown;
}

const PATIENT = 5000;
/** Timeout for servers without a reply, milliseconds. */
const BRIEF = 500;

Deno.test("gamedig reads the Java servers of the fleet", async (t) => {
  const { fleet, entries } = await startFleet();
  await using _fleet = fleet;
  using dig = new DigClient();
  const servers = (...software: readonly string[]) => serversOf(entries, ...software);
  const sendQuery = (type: string, { host, port }: ManifestEntry, socketTimeout: number) =>
    dig.query({ type, host, port, socketTimeout });
  const ping = (entry: ManifestEntry, timeout = PATIENT) =>
    sendQuery("protocol-minecraftvanilla", entry, timeout);

  await t.step("minecraftvanilla: every status", async () => {
    const kinds = [...STATUSES, "componentMotd", "translateMotd", "forgeMore"];
    await queryAll(servers(...kinds), async (entry) => {
      const { motd: _, ...truth } = javaTruth(entry);
      assertEquals(readStatus(await ping(entry)), truth, where(entry));
    });
  });

  await t.step("minecraftvanilla: the second text after a status", async () => {
    await queryAll(servers("forgeMore", "forge118"), async (entry) => {
      const { bcc } = rawOf(await ping(entry));
      const more = entry.software === "forgeMore"
        ? { projectID: 1, name: "Pack", version: "2" }
        : {};
      assertEquals(bcc, more, where(entry));
    });
  });

  await t.step("minecraftvanilla: statuses that it cannot read", async () => {
    // It requires players, does not support kicks, and keeps waiting after a server has closed the
    // connection.
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
    // It also queries each server over UDP, and waits for replies that do not arrive.
    const kinds = [
      ...["vanillaOld", "vanillaString", "waterfall", "forge113", "neoforge", "cuberite"],
      ...["minestom", "nodeMinecraftProtocol", "wantsProtocol", "componentMotd", "translateMotd"],
    ];
    // This query opens its socket. Many concurrent first queries would open many sockets.
    await sendQuery("protocol-minecraftbedrock", servers("bds")[0], PATIENT);
    await Promise.all(kinds.map(async (kind) => {
      const [entry] = servers(kind);
      const { name, version, numplayers, maxplayers } = await sendQuery("minecraft", entry, BRIEF);
      const { motd, version: named, online, max } = javaTruth(entry);
      // It supports neither lists of components nor translations.
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

/** A status in gamedig's result. It contains a MOTD only after a query in every protocol. */
function readStatus(reply: DigAnswer): Omit<JavaRead, "motd"> {
  const { version, players, favicon } = rawOf(reply);
  // Names of players, which are in a class of gamedig. Without a list there are no names.
  const names = Array.from(reply.players, ({ name }) => name);
  return {
    version: version.name,
    protocol: version.protocol,
    online: reply.numplayers,
    max: reply.maxplayers,
    players: players.sample === undefined ? null : names,
    icon: iconHash(favicon),
  };
}
