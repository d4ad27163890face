/** minecraft-server-util against our fleet: what it reads has to be what the manifest says. */
import { assert, assertEquals, assertMatch, assertNotEquals, assertRejects } from "@std/assert";
import type { ManifestEntry } from "../../src/fleet/manifest.ts";
import { decodeLatin1 } from "../../src/core/text.ts";
import {
  util,
  type UtilBasic,
  type UtilFull,
  type UtilOptions,
  type UtilStatus,
} from "./clients.ts";
import {
  advertisementOf,
  ADVERTISERS,
  askAll,
  bytesOf,
  hasInnerSemicolon,
  pluginsOf,
  serversOf,
  startFleet,
  valuesOf,
  where,
} from "./fleet.ts";

const PATIENT: UtilOptions = { enableSRV: false };
/** For servers that it gets no answer of: nothing it could wait for comes. */
const BRIEF: UtilOptions = { enableSRV: false, timeout: 500 };

const ping = ({ host, port }: ManifestEntry, options = PATIENT) =>
  util.statusBedrock(host, port, options);
const basic = ({ host, port }: ManifestEntry, options = PATIENT) =>
  util.queryBasic(host, port, options);
const full = ({ host, port }: ManifestEntry, options = PATIENT) =>
  util.queryFull(host, port, options);

const OFFLINE = /^Server is offline/;

Deno.test("minecraft-server-util reads our fleet as the manifest has it", async (t) => {
  const { fleet, entries } = await startFleet();
  await using _fleet = fleet;
  const servers = (...software: readonly string[]) => serversOf(entries, ...software);
  const bedrock = servers(...ADVERTISERS, "raknetNode");

  await t.step("statusBedrock: every pong", async () => {
    await askAll(bedrock.filter((entry) => !hasInnerSemicolon(entry)), async (entry) => {
      assertEquals<unknown>(readStatus(await ping(entry)), statusTruth(entry), where(entry));
    });
  });

  // It splits at every `;`, an escaped one too: all that follows is a field late.
  await t.step("statusBedrock: a `;` in the MOTD shifts its fields", async () => {
    await askAll(bedrock.filter(hasInnerSemicolon), async (entry) => {
      const { motd, version, players, serverID } = await ping(entry);
      const split = advertisementOf(entry).split(";");
      assertEquals(
        [motd.clean.split("\n")[0], version.name, players.online, players.max, serverID],
        [withoutCodes(split[1]), split[3], parseInt(split[4]), parseInt(split[5]), split[6]],
        where(entry),
      );
      assertNotEquals(players.max, entry.truth.raknet.columns.players_max);
    });
  });

  await t.step("statusBedrock: what is no advertisement of today", async () => {
    await askAll(servers("pocket2012"), async (entry) => {
      const { edition, motd } = await ping(entry);
      // It does not know the order of 2012, where the name is the third field.
      assertEquals([edition, motd.clean], ["MCCPP", "Demo"], where(entry));
    });
    await noneIsRead(servers("banned"), ping, /received 23$/);
    // It waits for a length, or for as much text as another game's first letters say.
    await noneIsRead(servers("mute", "otherGame"), ping, OFFLINE);
  });

  await t.step("queryFull: every full stat", async () => {
    const kinds = [
      ...["vanilla", "vanillaNul", "paper", "velocity", "bungeecord"],
      ...["waterdog", "pocketmine", "geyser2020"],
    ];
    await askAll(servers(...kinds), async (entry) => {
      assertEquals<unknown>(readFull(await full(entry)), fullTruth(entry), where(entry));
    });
    // It ends the brand at the first colon, which Glowstone has inside of it: `(MC: 1.12.2)`.
    await askAll(servers("glowstone"), async (entry) => {
      const truth = { ...fullTruth(entry), plugins: undefined };
      assertEquals<unknown>({ ...readFull(await full(entry)), plugins: undefined }, truth);
      assert(truth.software.endsWith("(MC"), where(entry));
    });
  });

  await t.step("queryFull: what it cannot read", async () => {
    // It looks for one of nine keys behind each `hostname`: behind beta19's second one is none.
    // It waits for the NUL of a token. The rest does not answer.
    const silent = servers("beta19", "unterminated", "fullLost", "tokensOnly");
    await noneIsRead(silent, full, OFFLINE);
    // Nukkit's raw token is no number to it; where it begins with a digit, a wrong one.
    await noneIsRead(servers("nukkit"), full, /^Server (sent an invalid challenge|is offline)/);
    // What it has not read of an answer, it sends with its next question: gophertunnel's fill.
    await rightOrNotRead(servers("dragonfly"), OFFLINE);
    // It writes tokens with a sign.
    await rightOrNotRead(servers("unsigned"), /out of range/);
  });

  await t.step("queryBasic: every basic stat", async () => {
    const kinds = ["vanilla", "paper", "velocity", "bungeecord", "glowstone", "fullLost"];
    await askAll(servers(...kinds), async (entry) => {
      assertEquals<unknown>(readBasic(await basic(entry)), basicTruth(entry), where(entry));
    });
  });

  await t.step("queryBasic: what it reads wrong or not at all", async () => {
    // These answer 11 bytes with a full stat, which it takes for a basic one.
    await askAll(servers("waterdog", "geyser2020"), async (entry) => {
      const { motd, map } = await basic(entry);
      const { header } = entry.truth.query.facts;
      assertEquals([motd.clean, map], [header, "hostname"], where(entry));
    });
    // A NUL in the MOTD shifts its fields.
    await askAll(servers("vanillaNul"), async (entry) => {
      const { gameType, map } = await basic(entry);
      assertEquals([gameType, map], ["B", "SMP"], where(entry));
    });
    // As real PocketMine does, ours never answers 11 bytes.
    await noneIsRead(servers("pocketmine", "tokensOnly"), basic, OFFLINE);
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

/** Each server of these is read right or not at all, as its token happens to be. */
async function rightOrNotRead(entries: readonly ManifestEntry[], why: RegExp): Promise<void> {
  await Promise.all(entries.map(async (entry) => {
    let stat: UtilFull;
    try {
      stat = await full(entry, { enableSRV: false, timeout: 2000 });
    } catch (error) {
      assert(error instanceof Error);
      assertMatch(error.message, why, where(entry));
      return;
    }
    assertEquals<unknown>(readFull(stat), fullTruth(entry), where(entry));
  }));
}

/** What it leaves of a text: it removes every section sign with what follows, known or not. */
function withoutCodes(text: string): string {
  return text.replace(/§.?/gsu, "");
}

const EDITIONS: Record<string, string> = { MCPE: "bedrock", MCEE: "education" };

/** A pong as it reads it, under our names. */
function readStatus({ motd, version, players, ...status }: UtilStatus) {
  const [name, level] = motd.clean.split("\n");
  return {
    edition: EDITIONS[status.edition],
    motd_plain: name,
    level: level ?? null,
    version: version.name || null,
    protocol_version: version.protocol,
    players_online: players.online,
    players_max: players.max,
    guid: BigInt.asUintN(64, status.serverGUID).toString(),
    server_id: status.serverID,
    gamemode: status.gameMode,
    port_v4: status.portIPv4,
    port_v6: status.portIPv6,
  };
}

/** The same from the manifest. */
function statusTruth({ truth: { raknet: { columns, facts } } }: ManifestEntry) {
  return {
    edition: columns.edition,
    motd_plain: columns.motd_plain,
    level: facts.level,
    version: columns.version,
    protocol_version: columns.protocol_version,
    players_online: columns.players_online,
    players_max: columns.players_max,
    guid: columns.guid,
    server_id: facts.server_id,
    gamemode: columns.gamemode,
    port_v4: columns.port_v4,
    port_v6: columns.port_v6,
  };
}

/** A full stat as it reads it. */
function readFull({ motd, players, ...stat }: UtilFull) {
  return {
    motd: motd.clean,
    map: stat.map,
    online: players.online,
    max: players.max,
    port: stat.hostPort,
    ip: stat.hostIP,
    version: stat.version,
    software: stat.software,
    plugins: stat.plugins,
    players: players.list,
  };
}

/** The same from the manifest. */
function fullTruth(entry: ManifestEntry) {
  const { query } = entry.truth;
  const plugins = pluginsOf(query);
  return {
    ...statTruth(entry),
    version: query.columns.version,
    software: plugins.split(": ")[0],
    // Of an empty list it makes a plugin without a name.
    plugins: plugins === "" ? [] : plugins.split(": ")[1].split("; "),
    players: query.columns.players,
  };
}

/** A basic stat as it reads it. */
function readBasic({ motd, players, ...stat }: UtilBasic) {
  return {
    motd: motd.clean,
    map: stat.map,
    online: players.online,
    max: players.max,
    port: stat.hostPort,
    ip: stat.hostIP,
    gamemode: stat.gameType,
  };
}

/** The same from the manifest. */
function basicTruth(entry: ManifestEntry) {
  return { ...statTruth(entry), gamemode: entry.truth.query.columns.gamemode };
}

/** What both stats report. */
function statTruth(entry: ManifestEntry) {
  const { query, query: { columns } } = entry.truth;
  return {
    // Whatever the server wrote, it takes every byte of Query for one character.
    motd: withoutCodes(decodeLatin1(bytesOf(entry, columns.motd!))),
    map: columns.map,
    online: columns.players_online,
    max: columns.players_max,
    port: columns.port_v4,
    ip: valuesOf(query).hostip,
  };
}
