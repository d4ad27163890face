/** A database with rows that certainly belong to one server, and with rows that only look so. */
import type { ServerRecord } from "../../../src/core/record.ts";
import type { Database } from "../../../src/store/database/database.ts";
import { Store } from "../../../src/store/store.ts";
import { record } from "../records.ts";

const MINUTE_MS = 60_000;
/** Numbers of players at ten polls. */
const PLAYERS = [1, 2, 3, 4, 3, 2, 5, 6, 7, 8];
const JAVA = {
  ...{ protocol: "slp", protocols: ["slp"], edition: "java", software: "Paper", motd: "§aSky" },
  ...{ motd_plain: "Sky", name: "Sky", players_max: 100 },
};
const GEYSER = {
  ...JAVA,
  ...{ protocol: "raknet", protocols: ["raknet"], edition: "bedrock", proxy: "geyser" },
  software: null,
};

/**
 * Writes the servers: 192.0.2.1 has a Java server, its Geyser, and a row of the same server by name; 192.0.2.2
 * has two customers' servers that look like these, with other players; 192.0.2.3 has a server alone.
 */
export async function fillGrouped(database: Database): Promise<void> {
  const store = new Store(database, () => Promise.resolve());
  const start = Date.UTC(2026, 0, 5);
  for (const [i, players] of PLAYERS.entries()) {
    const at = start + i * 10 * MINUTE_MS;
    const one = (host: string, port: number, rest: Partial<ServerRecord>, online = players) =>
      record(port, { host, seen_at: at, players_online: online, ...rest });
    await store.write([
      one("192.0.2.1", 25565, JAVA),
      one("192.0.2.1", 19132, { ...GEYSER, alias_of: "192.0.2.1:25565" }),
      one("192.0.2.1", 25565, { ...JAVA, requested_as: "play.example.org" }),
      one("192.0.2.2", 25565, JAVA),
      one("192.0.2.2", 19132, { ...GEYSER, alias_of: "192.0.2.2:25565" }, 9 - i),
      one("192.0.2.3", 25565, { ...JAVA, alias_of: "192.0.2.1:25565" }),
    ]);
  }
}
