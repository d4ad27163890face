/**
 * minecraft-server-util queries the Java servers of the fleet by the current ping and by legacy
 * pings.
 */
import { assertEquals, assertMatch, assertNotEquals, assertRejects } from "@std/assert";
import type { ManifestEntry } from "../../src/fleet/manifest.ts";
import {
  util,
  type UtilFE01,
  type UtilJava,
  type UtilLegacy,
  type UtilOptions,
} from "./clients.ts";
import { queryAll, serversOf, startFleet, where } from "./fleet.ts";
import { iconHash, type JavaRead, javaTruth, KICKERS, legacyTruth, STATUSES } from "./java.ts";

const PATIENT: UtilOptions = { enableSRV: false };
/** Options for servers without a reply. */
const BRIEF: UtilOptions = { enableSRV: false, timeout: 500 };

const asking =
  <T>(query: (host: string, port: number, options: UtilOptions) => Promise<T>) =>
  ({ host, port }: ManifestEntry, options = PATIENT) => query(host, port, options);

const status = asking(util.status);
const statusLegacy = asking(util.statusLegacy);
const statusFE = asking(util.statusFE);
const statusFE01 = asking(util.statusFE01);
const statusFE01FA = asking(util.statusFE01FA);

const OFFLINE = /^Server is offline/;
const CLOSED = /^Socket closed unexpectedly/;

Deno.test("minecraft-server-util reads the Java servers of the fleet", async (t) => {
  const { fleet, entries } = await startFleet();
  await using _fleet = fleet;
  const servers = (...software: readonly string[]) => serversOf(entries, ...software);

  await t.step("status: every status", async () => {
    await queryAll(servers(...STATUSES), async (entry) => {
      assertEquals(readStatus(await status(entry)), javaTruth(entry), where(entry));
    });
  });

  await t.step("status: MOTDs that it reads incorrectly", async () => {
    // It supports neither lists of components nor fallbacks of translations.
    const wrong = { componentMotd: "", translateMotd: "server.motd" };
    for (const [name, motd] of Object.entries(wrong)) {
      await queryAll(servers(name), async (entry) => {
        assertEquals(readStatus(await status(entry)), { ...javaTruth(entry), motd }, where(entry));
      });
    }
  });

  await t.step("status: statuses that it cannot read", async () => {
    // It sends the unread bytes of a reply, here the second text, with its next request.
    await noneIsRead(servers("forgeMore"), status, CLOSED);
    // It requires players and a MOTD.
    await noneIsRead(servers("hiddenPlayers"), status, /\(reading 'online'\)$/);
    await noneIsRead(servers("disconnects"), status, /^Unexpected server MOTD type: undefined$/);
    // It reads a kick as a long frame.
    await noneIsRead(servers("beta18", "java14", "java16", "kicksOnly"), status, CLOSED);
  });

  const responders = servers(
    ...STATUSES,
    ...KICKERS,
    "componentMotd",
    "translateMotd",
    "forgeMore",
  );

  await t.step("statusLegacy, statusFE01: every kick in the form of 1.4", async () => {
    await queryAll(responders, async (entry) => {
      const truth = legacyTruth(entry);
      assertEquals(readLegacy(await statusLegacy(entry)), truth, where(entry));
      assertEquals(readFE01(await statusFE01(entry)), truth, where(entry));
    });
    // statusFE01 reads the form of Beta as that of 1.4. statusLegacy does so if the second letter
    // of the MOTD is 1, and it splits the MOTD at its codes.
    await noneIsRead(servers("beta18"), statusFE01, /^Unexpected server MOTD type: undefined$/);
    const plain = servers("beta18").filter((entry) => !hasCodes(entry) && !hasOneSecond(entry));
    assertNotEquals(plain, []);
    await queryAll(plain, async (entry) => {
      assertEquals(readLegacy(await statusLegacy(entry)), legacyTruth(entry), where(entry));
    });
  });

  await t.step("statusFE: every kick in the form of Beta whose MOTD has no codes", async () => {
    await queryAll(servers("vanilla", "java14", "java16", "beta18"), async (entry) => {
      const { motd, players } = await statusFE(entry);
      const { motd: sent, online, max } = legacyTruth(entry);
      if (hasCodes(entry)) assertNotEquals([motd, players.max], [sent, max], where(entry));
      else assertEquals([motd, players], [sent, { online, max }], where(entry));
    });
  });

  await t.step("statusFE01FA, and servers that do not reply", async () => {
    // It writes the channel of 1.6 with one byte per letter. The servers of the fleet wait for the
    // rest.
    await noneIsRead(servers("vanilla", "java16").slice(0, 16), statusFE01FA, OFFLINE);
    await noneIsRead(servers("disconnects", "kicksOnly"), statusLegacy, CLOSED);
  });
});

/** Checks that it gets no result from these servers. */
async function noneIsRead(
  entries: readonly ManifestEntry[],
  query: (entry: ManifestEntry, options: UtilOptions) => Promise<unknown>,
  why: RegExp,
): Promise<void> {
  await Promise.all(entries.map(async (entry) => {
    const { message } = await assertRejects(() => query(entry, BRIEF), Error, "", where(entry));
    assertMatch(message, why, where(entry));
  }));
}

/** Whether a MOTD has formatting codes. The client splits a kick in the form of Beta at these. */
function hasCodes({ truth }: ManifestEntry): boolean {
  return truth.slp.columns.motd!.includes("§");
}

function hasOneSecond({ truth }: ManifestEntry): boolean {
  return truth.slp.columns.motd![1] === "1";
}

/** A status in the result of the client. */
function readStatus({ version, players, motd, favicon }: UtilJava): JavaRead {
  return {
    version: version.name,
    protocol: version.protocol,
    motd: motd.clean,
    online: players.online,
    max: players.max,
    players: players.sample?.map(({ name }) => name) ?? null,
    icon: iconHash(favicon),
  };
}

const readFE01 = ({ version, protocolVersion, players, motd }: UtilFE01) => ({
  version,
  protocol: protocolVersion,
  motd: motd.clean,
  ...players,
});

const readLegacy = ({ version, players, motd }: UtilLegacy) => ({
  version: version?.name ?? null,
  protocol: version?.protocol ?? null,
  motd: motd.clean,
  ...players,
});
