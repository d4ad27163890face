/** gamedig queries the fleet. Its results must agree with the manifest. */
import { assert, assertEquals, assertNotEquals, assertRejects } from "@std/assert";
import type { ManifestEntry } from "../../src/fleet/manifest.ts";
import { encodeLatin1 } from "../../src/core/text.ts";
import { type DigAnswer, DigClient } from "./clients.ts";
import {
  advertisementOf,
  ADVERTISERS,
  encodingOf,
  hasInnerSemicolon,
  pluginsOf,
  queryAll,
  serversOf,
  startFleet,
  valuesOf,
  where,
} from "./fleet.ts";

const PATIENT = 5000;
/** Timeout for servers without a reply, milliseconds. */
const BRIEF = 500;

Deno.test("gamedig reads the values of the manifest from the fleet", async (t) => {
  const { fleet, entries } = await startFleet();
  await using _fleet = fleet;
  using dig = new DigClient();
  const servers = (...software: readonly string[]) => serversOf(entries, ...software);

  const sendQuery = (type: string, { host, port }: ManifestEntry, socketTimeout: number) =>
    dig.query({ type, host, port, socketTimeout });
  const ping = (entry: ManifestEntry, timeout = PATIENT) =>
    sendQuery("protocol-minecraftbedrock", entry, timeout);
  // It does not detect the encoding of texts, so the encoding is an option.
  const stat = (entry: ManifestEntry, socketTimeout = PATIENT) => {
    const { host, port } = entry;
    const encoding = encodingOf(entry);
    return dig.query({ type: "protocol-gamespy3", host, port, socketTimeout, encoding });
  };

  const bedrock = servers(...ADVERTISERS);
  await ping(bedrock[0]); // opens the socket; many concurrent first queries would open many

  await t.step("minecraftbedrock: every pong", async () => {
    await queryAll(bedrock.filter((entry) => !hasInnerSemicolon(entry)), async (entry) => {
      assertEquals<unknown>(readPong(await ping(entry)), pongTruth(entry), where(entry));
    });
  });

  // It splits at every `;`, also at escaped ones. All later fields are therefore shifted by one.
  await t.step("minecraftbedrock: a `;` in the MOTD shifts its fields", async () => {
    await queryAll(bedrock.filter(hasInnerSemicolon), async (entry) => {
      const { name, version, numplayers, maxplayers, raw } = await ping(entry);
      const split = advertisementOf(entry).split(";");
      assertEquals(
        [name, version, numplayers, maxplayers, raw.serverId],
        [split[1], split[3], parseInt(split[4]), parseInt(split[5]), split[6]],
        where(entry),
      );
      assertNotEquals(maxplayers, entry.truth.raknet.columns.players_max);
    });
  });

  await t.step("minecraftbedrock: messages that it does not accept as pongs", async () => {
    // It requires the time of its ping, and six fields.
    const others = servers("raknetNode", "mute", "otherGame", "banned", "pocket2012");
    await noneIsRead(others, ping);
  });

  await t.step("gamespy3: every full stat", async () => {
    const kinds = [
      ...["vanilla", "paper", "velocity", "bungeecord", "glowstone", "unterminated"],
      ...["pocketmine", "waterdog", "dragonfly", "geyser2020"],
    ];
    await queryAll(servers(...kinds), async (entry) => {
      assertEquals<unknown>(readStat(await stat(entry)), statTruth(entry), where(entry));
    });
  });

  await t.step("gamespy3: unsigned tokens lead to correct results or to none", async () => {
    await queryAll(servers("unsigned"), async (entry) => {
      let reply: DigAnswer;
      try {
        reply = await stat(entry);
      } catch (error) {
        // It writes tokens as signed numbers, and half of the unsigned tokens are too large.
        assert(error instanceof Error && error.stack?.includes("out of range"), where(entry));
        return;
      }
      assertEquals<unknown>(readStat(reply), statTruth(entry), where(entry));
    });
  });

  await t.step("gamespy3: texts that it reads incorrectly", async () => {
    // Of two equal keys it keeps the later one, whose value is an address.
    await queryAll(servers("beta19"), async (entry) => {
      const truth = { ...statTruth(entry), name: "127.0.0.1", ip: undefined };
      assertEquals<unknown>(readStat(await stat(entry)), truth, where(entry));
    });
    // After a NUL in the MOTD, it reads values as keys.
    await queryAll(servers("vanillaNul"), async (entry) => {
      const { raw, maxplayers } = await stat(entry);
      assertEquals([raw.B, raw.SMP, maxplayers], ["gametype", "game_id", 0], where(entry));
    });
  });

  await t.step("gamespy3: servers of which it gets no stat", async () => {
    // It does not accept the raw token of Nukkit. The other servers send no full stat.
    await noneIsRead(servers("nukkit", "fullLost", "tokensOnly"), stat);
  });

  await t.step("mbe: pong and stat of one server in one result", async () => {
    const whole = servers("pocketmine").filter((entry) => !hasInnerSemicolon(entry));
    await queryAll(whole, async (entry) => {
      const { raknet: { columns, facts }, query } = entry.truth;
      const reply = await sendQuery("mbe", entry, PATIENT);
      assertEquals(
        [reply.name, reply.map, reply.version, reply.numplayers, reply.maxplayers],
        [
          ...[columns.motd_plain, facts.level, columns.version],
          ...[columns.players_online, columns.players_max],
        ],
        where(entry),
      );
      assertEquals<unknown>(namesIn(reply), query.columns.players, where(entry));
    });
  });

  await t.step("minecraft: reads Java's Latin-1 as UTF-8", async () => {
    // For each server it waits for a pong that does not arrive.
    await queryAll(servers("vanilla").slice(0, 16), async (entry) => {
      const { columns } = entry.truth.query;
      const { name, numplayers, maxplayers } = await sendQuery("minecraft", entry, 2000);
      const garbled = new TextDecoder().decode(encodeLatin1(columns.motd!));
      assertEquals(
        [name, numplayers, maxplayers],
        [garbled, columns.players_online, columns.players_max],
        where(entry),
      );
    });
  });
});

/** Checks that it gets no result from these servers. */
async function noneIsRead(
  entries: readonly ManifestEntry[],
  sendQuery: (entry: ManifestEntry, timeout: number) => Promise<unknown>,
): Promise<void> {
  await Promise.all(
    entries.map((entry) =>
      assertRejects(() => sendQuery(entry, BRIEF), Error, "Failed all", where(entry))
    ),
  );
}

const EDITIONS: Record<string, string> = { MCPE: "bedrock", MCEE: "education" };

/** A pong in gamedig's result, with the names of this test. */
function readPong({ raw, ...reply }: DigAnswer) {
  return {
    edition: EDITIONS[raw.edition as string],
    motd: reply.name,
    level: reply.map,
    version: reply.version,
    protocol: Number(raw.protocolVersion),
    online: reply.numplayers,
    max: reply.maxplayers,
    serverId: raw.serverId,
    gamemode: raw.gameMode,
    v4: raw.ipv4Port,
    v6: raw.ipv6Port,
  };
}

/** The expected pong from the manifest. Missing values are empty, and ports are texts. */
function pongTruth({ truth: { raknet: { columns, facts } } }: ManifestEntry) {
  return {
    edition: columns.edition,
    motd: columns.motd,
    level: facts.level ?? "",
    version: columns.version ?? "",
    protocol: columns.protocol_version,
    online: columns.players_online,
    max: columns.players_max,
    serverId: facts.server_id,
    gamemode: columns.gamemode,
    v4: columns.port_v4?.toString(),
    v6: columns.port_v6?.toString(),
  };
}

/** The names of players in a result. They are in a class of gamedig. */
function namesIn({ players }: DigAnswer): string[] {
  return Array.from(players, ({ name }) => name);
}

/** A stat in gamedig's result, with the names of this test. */
function readStat(reply: DigAnswer) {
  const { raw } = reply;
  return {
    name: reply.name,
    online: reply.numplayers,
    max: reply.maxplayers,
    players: namesIn(reply),
    gamemode: raw.gametype,
    gameId: raw.game_id,
    version: raw.version,
    map: raw.map,
    plugins: raw.plugins,
    engine: raw.server_engine,
    whitelist: raw.whitelist,
    port: raw.hostport,
    ip: raw.hostip,
  };
}

/** The expected stat from the manifest. */
function statTruth({ truth: { query } }: ManifestEntry) {
  const { columns } = query;
  const values = valuesOf(query);
  return {
    name: columns.motd,
    online: columns.players_online,
    max: columns.players_max,
    players: columns.players,
    gamemode: columns.gamemode,
    gameId: values.game_id,
    version: columns.version,
    map: columns.map,
    plugins: pluginsOf(query),
    engine: values.server_engine,
    whitelist: values.whitelist,
    port: values.hostport,
    ip: values.hostip,
  };
}
