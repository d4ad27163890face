/** Covers src/web/data/threads/keep_server_index.ts and src/web/data/threads/publications.ts. */
import { assertEquals } from "@std/assert";
import { createTables } from "../../../../src/store/schema/create_tables.ts";
import { openSqlite } from "../../../../src/store/database/sqlite.ts";
import { Store } from "../../../../src/store/store.ts";
import { DatabaseAccess } from "../../../../src/web/data/database_access.ts";
import {
  ALL_MS,
  CHANGES_MS,
  GROUPS_MS,
  keepServerIndex,
  STATES_MS,
} from "../../../../src/web/data/threads/keep_server_index.ts";
import { UNKNOWN_GEOIP } from "../../../../src/app/geoip/geoip_lookup.ts";
import { CachedServerIndex } from "../../../../src/web/server_index/cached_server_index.ts";
import { type Publication, receivedGroups } from "../../../../src/web/data/threads/publications.ts";
import { fillGrouped } from "../../../store/groups/grouped_servers.ts";
import { record } from "../../../store/records.ts";
import { ManualClock } from "../../../fakes/manual_clock.ts";

/** A clock for tests: each pause lasts until the test ends it. */
class PausingClock extends ManualClock {
  #paused = Promise.withResolvers<void>();

  override after = (ms: number, callback: () => void) => {
    const cancel = this.timer(ms, callback);
    this.#paused.resolve();
    return cancel;
  };

  /**
   * Waits for the next pause, and moves the time on until it has passed and the one after has
   * begun.
   */
  async pass(ms: number): Promise<void> {
    await this.#paused.promise;
    this.#paused = Promise.withResolvers();
    this.move(ms);
    await this.#paused.promise;
  }
}

Deno.test("a server index is kept up to date, and made anew when the file was replaced", async () => {
  const folder = await Deno.makeTempDir();
  const file = `${folder}/servers.db`;
  const make = async (ports: readonly number[], path = file) => {
    await using database = openSqlite(path);
    await createTables(database);
    const store = new Store(database, () => Promise.resolve());
    await store.write(ports.map((port) => record(port)));
    await database.run("update servers set changed_at = port * 1000000"); // far apart
  };
  const change = async (sql: string) => {
    await using database = openSqlite(file);
    await database.run(sql);
  };
  const ending = new AbortController();
  const clock = new PausingClock();
  const published: (CachedServerIndex | undefined)[] = [];
  const publish = ({ serverIndex: memory, groups }: Publication) =>
    void (groups ?? published.push(memory && new CachedServerIndex(memory)));
  try {
    await using access = new DatabaseAccess({ name: "test", file });
    const geoipOf = () => UNKNOWN_GEOIP;
    const kept = keepServerIndex({
      access,
      geoipOf: geoipOf,
      clock,
      publish,
      signal: ending.signal,
    });
    const online = () => published.at(-1)?.counts({ online: true }).servers;
    await clock.pass(CHANGES_MS); // the file does not exist yet
    assertEquals(published, []);
    await make([1, 2]);
    await clock.pass(CHANGES_MS);
    assertEquals(online(), 2);
    await make([3]);
    await clock.pass(CHANGES_MS);
    assertEquals(online(), 3);
    await change("update server_state set online = 0 where server = 1");
    await clock.pass(CHANGES_MS);
    assertEquals(online(), 3);
    await clock.pass(STATES_MS);
    assertEquals(online(), 2);
    await change("update servers set port = 7, changed_at = 0 where id = 2");
    await clock.pass(STATES_MS);
    assertEquals(published[0]!.counts({ port: [7] }).servers, 0);
    await clock.pass(ALL_MS);
    assertEquals(published[0]!.counts({ port: [7] }).servers, 1);
    await make([1], `${folder}/other.db`);
    await Deno.rename(`${folder}/other.db`, file);
    for (const end of ["-wal", "-shm"]) await Deno.remove(file + end).catch(() => {});
    await clock.pass(CHANGES_MS);
    assertEquals([published.length, published[1], online()], [3, undefined, 1]);
    await Deno.copyFile(file, `${folder}/backup.db`);
    await change("update servers set port = 9");
    await clock.pass(CHANGES_MS);
    await Deno.rename(`${folder}/backup.db`, file); // it has the same salt
    for (const end of ["-wal", "-shm"]) await Deno.remove(file + end).catch(() => {});
    const ports = () => [1, 9].map((port) => published.at(-1)?.counts({ port: [port] }).servers);
    await clock.pass(CHANGES_MS);
    assertEquals([published.length, published[3], ports()], [5, undefined, [1, 0]]);
    ending.abort();
    await kept;
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

Deno.test("groups are read at once and again, and published if they have changed", async () => {
  const file = await Deno.makeTempFile();
  const ending = new AbortController();
  const clock = new PausingClock();
  const published: Publication[] = [];
  try {
    await using database = openSqlite(file);
    await createTables(database);
    await fillGrouped(database);
    await using access = new DatabaseAccess({ name: "test", file });
    const geoipOf = () => UNKNOWN_GEOIP;
    const publish = (publication: Publication) => void published.push(publication);
    const kept = keepServerIndex({ access, geoipOf, clock, publish, signal: ending.signal });
    const sizes = () =>
      published.flatMap(({ groups }) =>
        groups === undefined ? [] : new Set(receivedGroups(groups).values()).size
      );
    await clock.pass(0);
    assertEquals(sizes(), [1]);
    await clock.pass(GROUPS_MS);
    assertEquals(sizes(), [1]); // they have not changed
    await database.run("delete from servers where hostname is not null");
    await clock.pass(GROUPS_MS);
    assertEquals(sizes(), [1, 1]);
    await database.run("delete from servers where port = 19132");
    await clock.pass(GROUPS_MS);
    assertEquals(sizes(), [1, 1, 0]);
    const { identity } = published[0].serverIndex!;
    assertEquals(published.at(-1)?.groups?.identity, identity);
    ending.abort();
    await kept;
  } finally {
    for (const end of ["", "-wal", "-shm"]) {
      await Deno.remove(file + end).catch((error) => {
        if (!(error instanceof Deno.errors.NotFound)) throw error;
      });
    }
  }
});
