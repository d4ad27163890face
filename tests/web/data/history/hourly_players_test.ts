import { assertEquals } from "@std/assert";
import { HOUR_MS } from "../../../../src/core/quantities.ts";
import { hourlyPlayers } from "../../../../src/web/data/history/hourly_players.ts";
import { writeScanRecords } from "../../../../src/store/writers/scan_writer.ts";
import { onEngines, setClock } from "../../../store/databases.ts";
import { record, scanId } from "../../../store/records.ts";

const NOW = 1000 * HOUR_MS + 5;

onEngines(
  "the last 24 complete hours of players, of servers that were online",
  async (database) => {
    await writeScanRecords(database, [1, 2, 3].map((i) => record(i, { scan_id: scanId(1) })));
    const at = (hour: number) =>
      database.engine === "postgres" ? `to_timestamp(${hour * 3600})` : String(hour * HOUR_MS);
    const rows = [
      [975, 1, 1, 3600, 3600], // too old
      [976, 1, 1, 7200, 3600], // the first hour: 2 players
      [999, 1, 1, 1800, 1800], // the last hour: half of it watched, 1 player
      [990, 1, 2, 0, 0], // offline
      [1000, 1, 2, 3600, 3600], // not complete
      [976, 24, 3, 3600, 3600], // a day
    ];
    for (const [hour, hours, server, playerS, onlineS] of rows) {
      await database.run(
        "insert into rollups (at, hours, server, player_s, watched_s, online_s) " +
          `values (${at(hour)}, ${hours}, ${server}, ${playerS}, 3600, ${onlineS})`,
      );
    }
    setClock(database, NOW);
    const found = await hourlyPlayers(database, [1, 2, 3]);
    assertEquals([...found.keys()], [1]);
    const hours = found.get(1)!;
    assertEquals([hours.length, hours[0], hours[23]], [24, 2, 1]);
    assertEquals(hours.slice(1, 23), new Array(22).fill(null));
    assertEquals((await hourlyPlayers(database, [])).size, 0);
  },
);
