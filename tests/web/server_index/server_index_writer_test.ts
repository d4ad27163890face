import { assertEquals } from "@std/assert";
import { CachedServerIndex } from "../../../src/web/server_index/cached_server_index.ts";
import { DatabaseIndex } from "../../../src/web/server_index/update_from_database.ts";
import { writeScanRecords } from "../../../src/store/writers/scan_writer.ts";
import { onEngines } from "../../store/databases.ts";
import { record, scanId } from "../../store/records.ts";

const NOWHERE = { country: null, asn: null, operator: null };

onEngines("a server that is written again keeps its state meanwhile", async (database) => {
  const servers = [1, 2, 3].map((port) =>
    record(port, { scan_id: scanId(1), players_online: 3, players_max: 20 })
  );
  await writeScanRecords(database, servers);
  const seen: (readonly number[])[] = [];
  let isWatched = false;
  const serverIndex = await DatabaseIndex.of(database, () => {
    // Called while the row of a server is written: another thread may read then.
    if (isWatched) {
      const reader = new CachedServerIndex(serverIndex.memory);
      seen.push(reader.matchIndex({ online: true, minPlayers: 1, full: false }).ids());
    }
    return NOWHERE;
  }, "test");
  isWatched = true;
  await serverIndex.readAll(database);
  assertEquals(seen, [[1, 2, 3], [1, 2, 3], [1, 2, 3]]);
});
