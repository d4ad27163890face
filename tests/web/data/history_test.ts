import { assertEquals } from "@std/assert";
import { DAY_MS, HOUR_MS } from "../../../src/store/uptime/hours.ts";
import { readHistory } from "../../../src/web/data/history.ts";
import { timeParameter } from "../../../src/store/database/database.ts";
import { Store } from "../../../src/store/store.ts";
import { onEngines } from "../../store/databases.ts";
import { record } from "../../store/records.ts";

onEngines(
  "a history has a point for each observation, or steps of at least a length",
  async (db) => {
    const store = new Store(db, () => Promise.resolve());
    await store.write([record(1, { seen_at: 1000 })]);
    const [{ id }] = await db.rows("select id from servers");
    const [{ id: scan }] = await db.rows("select id from scans");
    await db.run("delete from observations");
    const start = 100 * DAY_MS;
    const players = [1, 5, 3, 10];
    for (const [i, online] of players.entries()) {
      await db.run(
        "insert into observations (server, scan, at, online, players_online, players_max, latency_ms) " +
          `values (?, ?, ${timeParameter(db)}, true, ?, 20, 8)`,
        [id, scan, start + i * 40 * 60_000, online],
      );
    }
    const read = (step?: number) => readHistory(db, Number(id), start, start + 3 * HOUR_MS, step);
    const raw = await read();
    assertEquals([raw.step, raw.points.map((point) => point.players)], [0, players]);
    const steps = await read(20 * 60_000);
    assertEquals(steps.step, 30 * 60_000);
    assertEquals(steps.points.map(({ at }) => (at - start) / 60_000), [0, 30, 60, 120]);
    const hours = await read(HOUR_MS);
    assertEquals(hours.step, HOUR_MS);
    assertEquals(
      hours.points.map(({ players, playersMost, slots, latencyMs }) => [
        ...[players, playersMost, slots, latencyMs],
      ]),
      [[3, 5, 20, 8], [3, 3, 20, 8], [10, 10, 20, 8]],
    );
    assertEquals(hours.peak, { players: 10, at: start + 2 * HOUR_MS });
    assertEquals(hours.unwatched, [{ from: start, to: start + 3 * HOUR_MS }]);
  },
);
