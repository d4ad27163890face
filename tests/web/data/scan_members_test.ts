/** Covers src/web/data/scan_members.ts and src/store/members/scan_members.ts. */
import { assert, assertEquals, assertRejects } from "@std/assert";
import type { Database } from "../../../src/store/database/database.ts";
import { BLOCK } from "../../../src/store/members/server_sets.ts";
import {
  MEMBER_BITS,
  MEMBER_KINDS,
  type MemberKind,
  noteMembers,
  packMembers,
  readMembers,
} from "../../../src/store/members/members.ts";
import { lastMembersOf } from "../../../src/store/members/scan_members.ts";
import { Store } from "../../../src/store/store.ts";
import { dashboardDataOf } from "../../../src/web/data/database_reader.ts";
import { DataError } from "../../../src/web/queries/dashboard_data.ts";
import { onEngines } from "../../store/databases.ts";
import { record, scanId } from "../../store/records.ts";
import { indexedData } from "./indexed_data.ts";

const HOUR = 3_600_000;

/** Runs a scan of 127.0.0.0/24, or of another network, that gets replies of ports. */
async function scan(
  database: Database,
  hour: number,
  ports: readonly number[],
  network = 0x7f000000,
): Promise<void> {
  const [store, id, at] = [new Store(database, () => Promise.resolve()), scanId(hour), hour * HOUR];
  const requested = [{ start: network, end: network + 256 }];
  await store.begin({ id, at, config: '{"retries":"2"}', addresses: { requested, excluded: [] } });
  await store.write(ports.map((port) => record(port, { seen_at: at + 1, scan_id: id })));
  const coverage = { ranges: requested, includes: (_: unknown, port: number) => port !== 9 };
  await store.end({
    ...{ id, since: at, at: at + 1000, state: "finished", downAfter: 2, coverage },
    ...{ probesSent: 1, replies: 1, found: ports.length, packetLoss: 0.25 },
  });
}

onEngines(
  "a scan's servers are listed by what it saw of them, not by the last writer",
  async (database) => {
    await scan(database, 1, [1, 2, 3, 9]);
    await scan(database, 2, [1], 0x7f000100 - 512); // another network
    await scan(database, 3, [1, 2, 4]);
    const { data } = await indexedData(database);
    const last = await data.servers({ filters: { saw: "lost" }, sort: "address", limit: 9 });
    assertEquals(last.servers.map(({ port }) => port), [3]);
    const ports = async (hour: number, saw?: MemberKind, port?: number[]) => {
      const filters = { scan: scanId(hour), saw, port };
      const page = await data.servers({ filters, sort: "address", limit: 9 });
      assertEquals(page.total, page.servers.length);
      assertEquals((await data.facets(filters)).servers, page.servers.length);
      return page.servers.map(({ port }) => port);
    };
    assertEquals(await ports(1), [1, 2, 3, 9]); // all have been written by others since, or missed
    assertEquals(await ports(1, "new"), [1, 2, 3, 9]);
    assertEquals([await ports(3), await ports(3, "new")], [[1, 2, 4], [4]]);
    assertEquals([await ports(3, "missed"), await ports(3, "lost")], [[3], [3]]); // 9 was not asked
    assertEquals([await ports(3, "found", [2, 3]), await ports(3, "back")], [[2], []]);
    assertEquals(await ports(7), []);
    const { counts, servers } = await data.members(scanId(3), ["found", "lost", "back"], 2);
    assertEquals(counts, { found: 3, new: 1, back: 0, changed: 0, missed: 1, lost: 1 });
    const shown = Object.entries(servers).map(([kind, list]) => [
      kind,
      list.map((one) => one.port),
    ]);
    assertEquals(shown, [["found", [4, 2]], ["lost", [3]]]);
    const stored = (await data.scan(scanId(3)))!;
    assertEquals([stored.members, stored.retries, stored.packet_loss], [counts, 2, 0.25]);
    assertEquals((await data.scanBefore(scanId(3)))?.scan_id, scanId(1)); // the same targets
    assertEquals(await data.scanBefore(scanId(1)), undefined);
    assertEquals(await data.scanBefore("none"), undefined);
    const counting = dashboardDataOf(database).servers({
      ...{ filters: { scan: scanId(1) }, sort: "address", limit: 9 },
    });
    await assertRejects(() => counting, DataError, "being counted");
  },
);

onEngines("the last servers of a scan are those with the highest numbers", async (database) => {
  await new Store(database, () => Promise.resolve()).begin({ id: scanId(1), at: 1, config: "{}" });
  const data = dashboardDataOf(database);
  const servers = [1, 2, 5, BLOCK, BLOCK + 7, 9 * BLOCK, 9 * BLOCK + 1, 20 * BLOCK];
  const whats = [1, 16, 1 + 16, 1 + 2, 16 + 32, 1 + 4, 16, 1 + 8];
  assert(MEMBER_BITS.found === 1 && MEMBER_BITS.missed === 16);
  const check = async () => {
    for (const kind of MEMBER_KINDS) {
      const all = (await readMembers(database, 1, kind)).toReversed();
      for (const limit of [1, 2, 3, 9]) {
        assertEquals(await lastMembersOf(database, scanId(1), kind, limit), all.slice(0, limit));
      }
    }
  };
  await database.transaction(() =>
    noteMembers(database, 1, servers.map((server, i) => ({ server, what: whats[i] })))
  );
  await check();
  await packMembers(database, 1);
  await check();
  // Later rows beside packed ones: a server that was missed replies.
  await database.transaction(() =>
    noteMembers(database, 1, [{ server: 2, what: 1 }, { server: 30 * BLOCK, what: 1 }])
  );
  await check();
  assertEquals((await data.members(scanId(1), [], 1)).counts.found, 7);
});
