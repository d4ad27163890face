/** Writers that share connections to PostgreSQL through PgBouncer in transaction mode. */
import { assert, assertEquals } from "@std/assert";
import { allServers } from "../../src/store/server_queries.ts";
import { Store } from "../../src/store/store.ts";
import { createTables } from "../../src/store/schema/create_tables.ts";
import { all, connect } from "../store/databases.ts";
import { writePolled } from "../store/polls.ts";
import { identityOf } from "../../src/store/rows/identity.ts";
import { record, scanId } from "../store/records.ts";
import { hasPgBouncer, startPgBouncer } from "./pgbouncer.ts";
import { startPostgres } from "./server.ts";

/** Connections of PgBouncer to the server. */
const POOL_SIZE = 2;
const WRITERS = 6;

const isInstalled = await hasPgBouncer();

Deno.test({
  name:
    "PgBouncer in transaction mode: more writers than connections write and read at the same time" +
    (isInstalled ? "" : " (skipped: needs Debian's pgbouncer)"),
  ignore: !isInstalled,
  fn: async () => {
    await using server = await startPostgres();
    await using pooler = await startPgBouncer(server, POOL_SIZE);
    const writers = Array.from({ length: WRITERS }, (_, i) => i);
    await Promise.all(writers.map(async (writer) => {
      await using database = await connect(`${pooler.url}postgres`);
      await createTables(database);
      const store = new Store(database, () => Promise.resolve());
      for (let round = 0; round < 5; round++) {
        const seen = (i: number) =>
          record(i, { seen_at: 1000 * round + writer, scan_id: scanId(writer + 1) });
        await store.write(Array.from({ length: 50 }, (_, i) => seen(1 + (i + writer) % 60)));
        const polled = seen(1 + writer);
        await writePolled(database, [
          { identity: identityOf(polled)!, at: 1000 * round + 500, record: polled },
        ]);
        assert((await Array.fromAsync(allServers(database))).length >= 50);
      }
    }));
    await using direct = await connect(`${server.url}postgres`);
    assertEquals(await all(direct, "select count(*) as n from servers"), [{ n: 55 }]);
    const [{ n }] = await all(
      direct,
      "select count(*) as n from pg_stat_activity where backend_type = 'client backend' " +
        "and pid <> pg_backend_pid()",
    );
    assert(Number(n) <= POOL_SIZE, `${n} connections`);
  },
});
