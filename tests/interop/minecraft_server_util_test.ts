/** minecraft-server-util queries the fleet. Its results must agree with the manifest. */
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
  bytesOf,
  hasInnerSemicolon,
  pluginsOf,
  queryAll,
  serversOf,
  startFleet,
  valuesOf,
  where,
} from "./fleet.ts";

const PATIENT: UtilOptions = { enableSRV: false };
/** Options for servers without a reply. */
const BRIEF: UtilOptions = { enableSRV: false, timeout: 500 };

const ping = ({ host, port }: ManifestEntry, options = PATIENT) =>
  util.statusBedrock(host, port, options);
const basic = ({ host, port }: ManifestEntry, options = PATIENT) =>
  util.queryBasic(host, port, options);
const full = ({ host, port }: ManifestEntry, options = PATIENT) =>
  util.queryFull(host, port, options);

const OFFLINE = /^Server is offline/;

Deno.test("minecraft-server-util reads the values of the manifest from the fleet", async (t) => {
  const { fleet, entries } = await startFleet();
  await using _fleet = fleet;
  const servers = (...software: readonly string[]) => serversOf(entries, ...software);
  const bedrock = servers(...ADVERTISERS, "raknetNode");

  await t.step("statusBedrock: every pong", async () => {
    await queryAll(bedrock.filter((entry) => !hasInnerSemicolon(entry)), async (entry) => {
      assertEquals<unknown>(readStatus(await ping(entry)), statusTruth(entry), where(entry));
    });
  });

  // It splits at every `;`, also at escaped ones. All later fields are therefore shifted by one.
  await t.step("statusBedrock: a `;` in the MOTD shifts its fields", async () => {
    await queryAll(bedrock.filter(hasInnerSemicolon), async (entry) => {
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

  await t.step("statusBedrock: old and missing advertisements", async () => {
    await queryAll(servers("pocket2012"), async (entry) => {
      const { edition, motd } = await ping(entry);
      // It does not support the order of 2012, in which the name is the third field.
      assertEquals([edition, motd.clean], ["MCCPP", "Demo"], where(entry));
    });
    await noneIsRead(servers("banned"), ping, /received 23$/);
    // It waits for a length field. In the text of another game, it reads the first letters as a
    // length.
    await noneIsRead(servers("mute", "otherGame"), ping, OFFLINE);
  });

  await t.step("queryFull: every full stat", async () => {
    const kinds = [
      ...["vanilla", "vanillaNul", "paper", "velocity", "bungeecord"],
      ...["waterdog", "pocketmine", "geyser2020"],
    ];
    await queryAll(servers(...kinds), async (entry) => {
      assertEquals<unknown>(readFull(await full(entry)), fullTruth(entry), where(entry));
    });
    // It ends the software name at the first colon. Glowstone's name contains one: `(MC: 1.12.2)`.
    await queryAll(servers("glowstone"), async (entry) => {
      const truth = { ...fullTruth(entry), plugins: undefined };
      assertEquals<unknown>({ ...readFull(await full(entry)), plugins: undefined }, truth);
      assert(truth.software.endsWith("(MC"), where(entry));
    });
  });

  await t.step("queryFull: stats that it cannot read", async () => {
    // After each `hostname` it searches for one of nine keys; beta19 has none after the second one.
    // It waits for the NUL of a token. The other servers do not reply.
    const unresponsive = servers("beta19", "unterminated", "fullLost", "tokensOnly");
    await noneIsRead(unresponsive, full, OFFLINE);
    // It does not accept the raw token of Nukkit, or reads a wrong number if the token begins with
    // a digit.
    await noneIsRead(servers("nukkit"), full, /^Server (sent an invalid challenge|is offline)/);
    // It sends the unread bytes of a reply, here the padding of gophertunnel, with its next
    // request.
    await rightOrNotRead(servers("dragonfly"), OFFLINE);
    // It writes tokens as signed numbers.
    await rightOrNotRead(servers("unsigned"), /out of range/);
  });

  await t.step("queryBasic: every basic stat", async () => {
    const kinds = ["vanilla", "paper", "velocity", "bungeecord", "glowstone", "fullLost"];
    await queryAll(servers(...kinds), async (entry) => {
      assertEquals<unknown>(readBasic(await basic(entry)), basicTruth(entry), where(entry));
    });
  });

  await t.step("queryBasic: stats that it reads incorrectly or not at all", async () => {
    // These servers reply to 11 bytes with a full stat, which it reads as a basic stat.
    await queryAll(servers("waterdog", "geyser2020"), async (entry) => {
      const { motd, map } = await basic(entry);
      const { header } = entry.truth.query.facts;
      assertEquals([motd.clean, map], [header, "hostname"], where(entry));
    });
    // A NUL in the MOTD shifts the fields.
    await queryAll(servers("vanillaNul"), async (entry) => {
      const { gameType, map } = await basic(entry);
      assertEquals([gameType, map], ["B", "SMP"], where(entry));
    });
    // Like real PocketMine-MP, the simulated one never replies to 11 bytes.
    await noneIsRead(servers("pocketmine", "tokensOnly"), basic, OFFLINE);
  });
});

/** Checks that it gets no result from these servers. */
async function noneIsRead(
  entries: readonly ManifestEntry[],
  sendQuery: (entry: ManifestEntry, options: UtilOptions) => Promise<unknown>,
  why: RegExp,
): Promise<void> {
  await Promise.all(entries.map(async (entry) => {
    const { message } = await assertRejects(() => sendQuery(entry, BRIEF), Error, "", where(entry));
    assertMatch(message, why, where(entry));
  }));
}

/** Checks that the result of each server is correct or missing, depending on its token. */
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

/** A text without its section signs and the letter after each, as the client removes them. */
function withoutCodes(text: string): string {
  return text.replace(/§.?/gsu, "");
}

const EDITIONS: Record<string, string> = { MCPE: "bedrock", MCEE: "education" };

/** A pong in the result of the client, with the names of this test. */
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

/** A full stat in the result of the client. */
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
    // It reads an empty list as one plugin without a name.
    plugins: plugins === "" ? [] : plugins.split(": ")[1].split("; "),
    players: query.columns.players,
  };
}

/** A basic stat in the result of the client. */
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

/** The values that both stats contain. */
function statTruth(entry: ManifestEntry) {
  const { query, query: { columns } } = entry.truth;
  return {
    // It reads every byte of a Query text as one character, whatever the encoding is.
    motd: withoutCodes(decodeLatin1(bytesOf(entry, columns.motd!))),
    map: columns.map,
    online: columns.players_online,
    max: columns.players_max,
    port: columns.port_v4,
    ip: valuesOf(query).hostip,
  };
}
