/** The hourly computation of uptime, while a transaction of another program runs. */
import { assertEquals } from "@std/assert";
import { keepRolledUp, untilNextHour } from "../../src/app/databases/roll_up_databases.ts";
import { systemClock } from "../../src/net/clock.ts";
import { parseDatabaseLocation } from "../../src/store/database_location.ts";
import { createTables } from "../../src/store/schema/create_tables.ts";
import { connect, postgresTest } from "../store/databases.ts";

postgresTest(
  "rollups that wait for a transaction are tried again each minute, and reported once",
  async (url) => {
    await using database = await connect(url);
    await createTables(database);
    await using other = await connect(url);
    await other.script("begin; select pg_current_xact_id()");
    const ended = new AbortController();
    const [waits, lines]: [number[], string[]] = [[], []];
    const wall = () => 59 * 60_000; // the next hour is computed 7 minutes later
    const sleeping = async (ms: number, callback: () => void) => {
      await Promise.resolve(); // as a timer: never within the call
      waits.push(ms);
      if (waits.length === 4) await other.script("commit");
      if (waits.length === 5) ended.abort();
      callback();
    };
    const after = (ms: number, callback: () => void) => {
      void sleeping(ms, callback);
      return () => {};
    };
    const place = parseDatabaseLocation(url)!;
    const environment = { resolve: String, password: () => Promise.resolve(undefined) };
    const report = (line: string) => lines.push(line);
    const clock = { ...systemClock, after, wall };
    await keepRolledUp([place], environment, ended.signal, report, clock);
    assertEquals(waits, [30_000, 60_000, 60_000, 60_000, untilNextHour(wall())]);
    assertEquals(lines, [
      `the uptime in ${place.path} is not computed yet: a transaction that began earlier is ` +
      'running in the database (docs/database.md, "Long transactions in PostgreSQL")',
    ]);
  },
);
