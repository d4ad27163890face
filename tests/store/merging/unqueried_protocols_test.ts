/**
 * Covers src/store/merging/kept_columns.ts and src/store/merging/merge_records.ts: which columns a row
 * keeps when a scan or a poll queries the server in some of its protocols only.
 */
import { assertEquals } from "@std/assert";
import type { ServerRecord } from "../../../src/core/record.ts";
import { mergeReplies } from "../../../src/inspect/merge.ts";
import type { Statement } from "../../../src/protocols/protocol.ts";
import type { Database } from "../../../src/store/database/database.ts";
import { identityOf } from "../../../src/store/rows/identity.ts";
import { Store } from "../../../src/store/store.ts";
import { all, onEngines, storedServers } from "../databases.ts";
import { writePolled } from "../polls.ts";
import { scanId, watchId } from "../records.ts";
import { PROTOCOLS } from "../../../src/protocols/list.ts";

const BOTH = ["slp", "query"];
const HOUR = 3_600_000;

/** What a Java server publishes in both protocols, in different texts. */
const STATEMENTS: Readonly<Record<string, Statement>> = {
  slp: {
    columns: {
      ...{ motd: "§aWelcome", motd_plain: "Welcome", name: "Welcome", favicon_hash: "ab" },
      ...{ edition: "java", software: "Paper", version: "1.21.4", protocol_version: 769 },
      ...{ players_online: 2, players_max: 20, players: ["Ann"] },
    },
    flags: ["badFavicon"],
    facts: { form: "status", version_name: "Paper 1.21.4" },
  },
  query: {
    columns: {
      ...{ motd: "A Server", motd_plain: "A Server", name: "A Server", map: "world" },
      ...{ software: "CraftBukkit on Bukkit 1.21.4-R0.1", version: "1.21", gamemode: "SMP" },
      ...{ players_online: 2, players_max: 50, players: ["Ann", "Bob"], plugins: [] },
    },
    flags: ["noPlayerSection"],
    facts: {
      ...{ form: "full", header: "splitnum", brand: "CraftBukkit on Bukkit 1.21.4-R0.1" },
      values: { game_id: "MINECRAFT" },
    },
  },
};

/** The record of a server's replies in some protocols, some hours after the first. */
function replyIn(
  protocols: readonly string[],
  hours: number,
  scan: string,
  statements: Readonly<Record<string, Statement>> = STATEMENTS,
): ServerRecord {
  const endpoint = { address: 0x7f000001, port: 25565 };
  const replies = protocols.map((protocol) => ({ protocol, statement: statements[protocol] }));
  const seenAt = 1_700_000_000_000 + hours * HOUR;
  const context = { endpoint, seenAt, latencyMs: 1, scanId: scan, requestedAs: null };
  return mergeReplies(replies, context);
}

/** Writes the reply to a scan or a poll that queries the server in these protocols only. */
type Write = (
  database: Database,
  protocols: readonly string[],
  hours: number,
  statements?: Readonly<Record<string, Statement>>,
) => Promise<void>;

const WRITERS: Readonly<Record<string, Write>> = {
  scans: async (database, protocols, hours, statements) => {
    const scope = { allProtocols: PROTOCOLS, protocols, follow: true, verify: false, downAfter: 3 };
    const store = new Store(database, () => Promise.resolve(), scope);
    await store.write([replyIn(protocols, hours, scanId(hours), statements)]);
  },
  rescans: async (database, protocols, hours, statements) => {
    const scope = {
      allProtocols: PROTOCOLS,
      protocols: ["slp", "query"],
      follow: true,
      verify: false,
    };
    const store = new Store(database, () => Promise.resolve(), {
      ...scope,
      protocolsFor: () => protocols,
    });
    await store.write([replyIn(protocols, hours, scanId(hours), statements)]);
  },
  polls: async (database, queried, hours, statements) => {
    const reply = replyIn(queried, hours, watchId(1), statements);
    const identity = identityOf(reply)!;
    await writePolled(database, [{ identity, at: reply.seen_at, record: reply, queried }]);
  },
};

/** Columns of a server's row that a reply in one protocol must not change. */
async function lastingColumns(database: Database) {
  const [row] = await storedServers(database);
  const { protocols, edition, software, software_confidence, proxy, motd, name } = row;
  const { version, protocol_version, map, gamemode, players_max, plugins, favicon_hash } = row;
  const flags = row.flags.filter((flag) => !/Differs?$/.test(flag));
  const computed = { edition, software, software_confidence, proxy };
  const own = { motd, name, version, protocol_version, map, gamemode, players_max, plugins };
  return { protocols, ...computed, ...own, favicon_hash, flags, extras: row.extras };
}

for (const [what, write] of Object.entries(WRITERS)) {
  onEngines(
    `${what} limited to one protocol keep the columns of the other one, and report no change`,
    async (db) => {
      await write(db, BOTH, 0);
      const first = await lastingColumns(db);
      assertEquals([first.motd, first.version, first.players_max, first.software], [
        ...["§aWelcome", "1.21.4", 50, "CraftBukkit"],
      ]);
      for (const [i, protocols] of [["query"], ["slp"], BOTH, ["query"], BOTH].entries()) {
        await write(db, protocols, i + 1);
        assertEquals(await lastingColumns(db), first, `${i}: ${protocols}`);
      }
      assertEquals(
        await all(db, "select kind, data from events where kind not in ('online', 'new')"),
        [],
      );
    },
  );

  onEngines(`${what} limited to one protocol report what changes in it`, async (db) => {
    const { slp, query: { columns, flags, facts } } = STATEMENTS;
    const unnamed = { ...slp, facts: { form: "status", version_name: "1.21.4" } };
    await write(db, BOTH, 0, { ...STATEMENTS, slp: unnamed });
    const changed = { columns: { ...columns, map: "nether", gamemode: "UHC" }, flags, facts };
    await write(db, ["query"], 1, { query: changed });
    const brand = "Purpur on 1.21.4";
    const renamed = { ...changed, facts: { ...facts, brand } };
    await write(db, ["query"], 2, { query: renamed });
    const events = await all(db, "select data from events where kind = 'changed' order by seq");
    assertEquals(events.map(({ data }) => JSON.parse(String(data)).changes), [
      { map: ["world", "nether"], gamemode: ["SMP", "UHC"] },
      { software: ["CraftBukkit", "Purpur"] },
    ]);
  });
}
