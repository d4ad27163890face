/** Debian's quakestat queries the fleet. Its results must agree with the manifest. */
import { assertEquals } from "@std/assert";
import type { ManifestEntry } from "../../src/fleet/manifest.ts";
import { serverId } from "../../src/core/record.ts";
import { debianTest, requireProgram } from "./debian.ts";
import { bytesOf, pluginsOf, serversOf, startFleet, valuesOf, where } from "./fleet.ts";
import { run } from "./processes.ts";

const COMMAND = "/usr/bin/quakestat";
/** The separator in its output. No server of the fleet sends this character. */
const MARK = "\x1f";

/** A server in its output. Names are bytes, because quakestat does not decode them. */
interface Read {
  readonly name: string;
  readonly map: string;
  readonly max: number;
  readonly online: number;
  readonly rules: Readonly<Record<string, string>>;
  readonly players: readonly string[];
}

debianTest("quakestat -gs4 reads the values of the manifest from the fleet", async (t) => {
  await requireProgram(COMMAND);
  const { fleet, entries } = await startFleet();
  await using _fleet = fleet;
  const sendQuery = async (...software: readonly string[]) => {
    const servers = serversOf(entries, ...software);
    const found = await quakestat(servers);
    assertEquals(found.size, servers.length);
    return servers.map((entry) => ({ entry, read: found.get(serverId(entry)) }));
  };

  await t.step("every full stat", async () => {
    const kinds = [
      ...["vanilla", "paper", "velocity", "bungeecord", "glowstone", "unsigned", "unterminated"],
      ...["pocketmine", "waterdog"],
    ];
    for (const { entry, read } of await sendQuery(...kinds)) {
      assertEquals(read, truthOf(entry), where(entry));
    }
  });

  await t.step("texts that it reads incorrectly", async () => {
    // Of two equal keys it keeps the later one, whose value is an address.
    for (const { entry, read } of await sendQuery("beta19")) {
      const truth = truthOf(entry);
      const { hostip: _, ...rules } = truth.rules;
      assertEquals(read, { ...truth, name: hex(entry, "127.0.0.1"), rules }, where(entry));
    }
    // After a NUL in the MOTD, it reads values as keys.
    for (const { entry, read } of await sendQuery("vanillaNul")) {
      assertEquals([read?.rules.B, read?.rules.SMP], ["gametype", "game_id"], where(entry));
    }
  });

  await t.step("servers of which it gets no stat", async () => {
    // It requires the header word `splitnum`, a decimal token, and a full stat.
    const kinds = ["dragonfly", "geyser2020", "nukkit", "fullLost", "tokensOnly"];
    for (const { entry, read } of await sendQuery(...kinds)) {
      assertEquals(read, undefined, where(entry));
    }
  });
});

/** Queries servers. The result is `undefined` for a server without a stat. */
async function quakestat(
  entries: readonly ManifestEntry[],
): Promise<Map<string, Read | undefined>> {
  const format = ["-raw", MARK, "-hsn", "-hpn", "-R", "-P"];
  const args = ["-nocfg", ...format, "-default", "gs4", ...entries.map(serverId)];
  const text = await run({ command: COMMAND, args });
  return new Map(text.split("\n\n").filter((block) => block !== "").map(readBlock));
}

/** `GS4 address name map slots players ping retries`, then the rules, then a line per player. */
function readBlock(block: string): [string, Read | undefined] {
  const [head, rules, ...players] = block.split("\n").map((line) => line.split(MARK));
  const [, address, name, map, max, online] = head;
  if (name === "TIMEOUT") return [address, undefined];
  const read = {
    name,
    map,
    max: Number(max),
    online: Number(online),
    rules: Object.fromEntries(rules.map((rule) => rule.split(/=(.*)/s).slice(0, 2))),
    players: players.map(([player]) => player).toReversed(), // it lists players in reverse order
  };
  return [address, read];
}

const hex = (entry: ManifestEntry, text: string) => bytesOf(entry, text).toHex();

/** The expected result. */
function truthOf(entry: ManifestEntry): Read {
  const { query } = entry.truth;
  const { columns } = query;
  const { hostport, ...values } = valuesOf(query);
  const rules = {
    gametype: columns.gamemode!,
    version: columns.version!,
    plugins: pluginsOf(query),
    ...values,
    // It omits the port if the port is the queried one.
    ...(hostport === String(entry.port) ? {} : { hostport }),
  };
  return {
    name: hex(entry, columns.motd!),
    map: hex(entry, columns.map!),
    max: columns.players_max!,
    online: columns.players_online!,
    rules: rules as Record<string, string>,
    players: columns.players!.map((name) => hex(entry, name)),
  };
}
