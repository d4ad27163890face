/**
 * Covers src/store/merging/kept_columns.ts: the row of a server that a scan finds in a sibling of its
 * protocol.
 */
import { assertEquals } from "@std/assert";
import type { ServerRecord } from "../../../src/core/record.ts";
import { PROTOCOLS } from "../../../src/protocols/list.ts";
import type { Database } from "../../../src/store/database/database.ts";
import { Store } from "../../../src/store/store.ts";
import { all, onEngines, storedServers } from "../databases.ts";
import { record, scanId } from "../records.ts";
import { couriered } from "../../watch/courier_protocol.ts";

const allProtocols = couriered(PROTOCOLS);
const HOUR = 3_600_000;

/** Writes the reply to the scan of an hour. `follow`: whether the scan has follow-ups. */
async function write(
  database: Database,
  hour: number,
  over: Partial<ServerRecord>,
  follow = true,
): Promise<void> {
  const protocols = allProtocols.map(({ name }) => name);
  const scope = { allProtocols, protocols, follow, verify: false, downAfter: 3 };
  const reply = record(19132, {
    ...{ edition: "bedrock", motd: "A", version: "1.26.40", scan_id: scanId(hour) },
    ...{ seen_at: 1_700_000_000_000 + hour * HOUR, ...over },
  });
  await new Store(database, () => Promise.resolve(), scope).write([reply]);
}

const RAKNET = { protocol: "raknet", protocols: ["raknet", "query"], guid: "77", port_v4: 19132 };
const COURIER = { protocol: "courier", protocols: ["courier"] };

/** The only row: columns that a change of transport concerns. */
async function theRow(database: Database) {
  const [{ protocol, protocols, guid, port_v4, mtu, motd }, ...others] = await storedServers(
    database,
  );
  assertEquals(others, []);
  return { protocol, protocols, guid, port_v4, mtu, motd };
}

onEngines(
  "a scan that finds a server in a sibling replaces its protocol at once",
  async (database) => {
    await write(database, 1, { ...RAKNET, mtu: 1400 });
    await write(database, 2, { ...COURIER, motd: "B" });
    // The GUID stays: if the server changes back, it shows whether the server has restarted.
    const replaced = { ...COURIER, guid: "77", port_v4: null, mtu: null, motd: "B" };
    assertEquals(await theRow(database), replaced);
    await write(database, 3, { ...COURIER, motd: "B" });
    assertEquals(await theRow(database), replaced);
    await write(database, 4, { ...RAKNET, protocols: ["raknet"], guid: "78" });
    assertEquals(await theRow(database), {
      ...{ protocol: "raknet", protocols: ["raknet"], guid: "78", port_v4: 19132, mtu: null },
      motd: "A",
    });
    const [{ first_seen }] = await all(database, "select first_seen from servers");
    assertEquals(Number(first_seen), 1_700_000_000_000 + HOUR);
    const events = await all(database, "select kind, data from events order by at, kind desc");
    assertEquals(events.map(({ kind }) => kind), ["new", "changed", "restarted", "changed"]);
    assertEquals(JSON.parse(String(events[1].data)).changes, {
      protocol: ["raknet", "courier"],
      protocols: [["raknet", "query"], ["courier"]],
      motd: ["A", "B"],
      port_v4: [19132, null],
    });
  },
);

onEngines(
  "a server of two siblings keeps the values of the one whose reply was lost",
  async (database) => {
    await write(database, 1, { ...RAKNET, protocols: ["raknet", "courier"] });
    await write(database, 2, COURIER);
    const { protocol, protocols, guid } = await theRow(database);
    assertEquals([protocol, protocols, guid], ["raknet", ["raknet", "courier"], "77"]);
  },
);

onEngines(
  "a protocol in which a scan may not have queried the server is not replaced",
  async (database) => {
    await write(database, 1, { ...RAKNET, protocols: ["raknet"] });
    await write(database, 2, COURIER, false);
    const { protocol, protocols, guid } = await theRow(database);
    assertEquals([protocol, protocols, guid], ["raknet", ["raknet", "courier"], "77"]);
  },
);
