/** minecraft-server-util against the Java servers of our fleet, by today's ping and the old ones. */
import { assertEquals, assertMatch, assertNotEquals, assertRejects } from "@std/assert";
import type { ManifestEntry } from "../../src/fleet/manifest.ts";
import {
  util,
  type UtilFE01,
  type UtilJava,
  type UtilLegacy,
  type UtilOptions,
} from "./clients.ts";
import { askAll, serversOf, startFleet, where } from "./fleet.ts";
import { iconHash, type JavaRead, javaTruth, KICKERS, legacyTruth, STATUSES } from "./java.ts";

const PATIENT: UtilOptions = { enableSRV: false };
/** For servers that it waits for in vain. */
const BRIEF: UtilOptions = { enableSRV: false, timeout: 500 };

const asking =
  <T>(ask: (host: string, port: number, options: UtilOptions) => Promise<T>) =>
  ({ host, port }: ManifestEntry, options = PATIENT) => ask(host, port, options);

const status = asking(util.status);
const statusLegacy = asking(util.statusLegacy);
const statusFE = asking(util.statusFE);
const statusFE01 = asking(util.statusFE01);
const statusFE01FA = asking(util.statusFE01FA);

const OFFLINE = /^Server is offline/;
const CLOSED = /^Socket closed unexpectedly/;

Deno.test("minecraft-server-util reads our fleet's Java servers", async (t) => {
  const { fleet, entries } = await startFleet();
  await using _fleet = fleet;
  const servers = (...software: readonly string[]) => serversOf(entries, ...software);

  await t.step("status: every status", async () => {
    await askAll(servers(...STATUSES), async (entry) => {
      assertEquals(readStatus(await status(entry)), javaTruth(entry), where(entry));
    });
  });

  await t.step("status: MOTDs that it reads wrong", async () => {
    // A list of components is no component to it, and it knows no fallback of a translation.
    const wrong = { componentMotd: "", translateMotd: "server.motd" };
    for (const [name, motd] of Object.entries(wrong)) {
      await askAll(servers(name), async (entry) => {
        assertEquals(readStatus(await status(entry)), { ...javaTruth(entry), motd }, where(entry));
      });
    }
  });

  await t.step("status: what it cannot read", async () => {
    // What it has not read of an answer, it sends with its next question: the second text.
    await noneIsRead(servers("forgeMore"), status, CLOSED);
    // It wants players and a MOTD.
    await noneIsRead(servers("hiddenPlayers"), status, /\(reading 'online'\)$/);
    await noneIsRead(servers("disconnects"), status, /^Unexpected server MOTD type: undefined$/);
    // It takes a kick for a long frame.
    await noneIsRead(servers("beta18", "java14", "java16", "kicksOnly"), status, CLOSED);
  });

  const answerers = servers(...STATUSES, ...KICKERS, "componentMotd", "translateMotd", "forgeMore");

  await t.step("statusLegacy, statusFE01: every kick of 1.4's form", async () => {
    await askAll(answerers, async (entry) => {
      const truth = legacyTruth(entry);
      assertEquals(readLegacy(await statusLegacy(entry)), truth, where(entry));
      assertEquals(readFE01(await statusFE01(entry)), truth, where(entry));
    });
    // Beta's form is 1.4's to the one. The other takes a MOTD for 1.4's where its second letter
    // is 1, and splits it at its codes.
    await noneIsRead(servers("beta18"), statusFE01, /^Unexpected server MOTD type: undefined$/);
    const plain = servers("beta18").filter((entry) => !hasCodes(entry) && !hasOneSecond(entry));
    assertNotEquals(plain, []);
    await askAll(plain, async (entry) => {
      assertEquals(readLegacy(await statusLegacy(entry)), legacyTruth(entry), where(entry));
    });
  });

  await t.step("statusFE: every kick of Beta's form, where the MOTD has no codes", async () => {
    await askAll(servers("vanilla", "java14", "java16", "beta18"), async (entry) => {
      const { motd, players } = await statusFE(entry);
      const { motd: sent, online, max } = legacyTruth(entry);
      if (hasCodes(entry)) assertNotEquals([motd, players.max], [sent, max], where(entry));
      else assertEquals([motd, players], [sent, { online, max }], where(entry));
    });
  });

  await t.step("statusFE01FA, and who does not answer", async () => {
    // It writes the channel of 1.6 with one byte a letter: our servers wait for the rest.
    await noneIsRead(servers("vanilla", "java16").slice(0, 16), statusFE01FA, OFFLINE);
    await noneIsRead(servers("disconnects", "kicksOnly"), statusLegacy, CLOSED);
  });
});

/** No server of these is read. */
async function noneIsRead(
  entries: readonly ManifestEntry[],
  ask: (entry: ManifestEntry, options: UtilOptions) => Promise<unknown>,
  why: RegExp,
): Promise<void> {
  await Promise.all(entries.map(async (entry) => {
    const { message } = await assertRejects(() => ask(entry, BRIEF), Error, "", where(entry));
    assertMatch(message, why, where(entry));
  }));
}

/** Whether a MOTD has formatting codes, at which it splits Beta's form. */
function hasCodes({ truth }: ManifestEntry): boolean {
  return truth.slp.columns.motd!.includes("§");
}

function hasOneSecond({ truth }: ManifestEntry): boolean {
  return truth.slp.columns.motd![1] === "1";
}

/** A status as it reads it. */
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
