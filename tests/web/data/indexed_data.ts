/** Databases with their server indexes, and cursors, for tests of pages. */
import { assertEquals } from "@std/assert";
import type { Database } from "../../../src/store/database/database.ts";
import type { ServerOrder } from "../../../src/store/queries/orders.ts";
import { readServersCursor, serversCursor } from "../../../src/web/queries/cursors.ts";
import type { PageCursor } from "../../../src/store/queries/order_positions.ts";
import { dashboardDataOf } from "../../../src/web/data/database_reader.ts";
import { readGroups } from "../../../src/store/groups/read_groups.ts";
import { ScannedSpace } from "../../../src/web/data/scanned_space.ts";
import { CachedServerIndex } from "../../../src/web/server_index/cached_server_index.ts";
import { DatabaseIndex } from "../../../src/web/server_index/update_from_database.ts";
import { placeOf } from "../oracle.ts";

/** The server index of a database, and the data that uses it. */
export async function indexedData(database: Database) {
  const serverIndex = await DatabaseIndex.of(database, placeOf, "test");
  const state = {
    serverIndex: new CachedServerIndex(serverIndex.memory),
    space: new ScannedSpace(),
    groups: await readGroups(database),
  };
  return { serverIndex, data: dashboardDataOf(database, state, placeOf) };
}

/** A cursor after a client has passed it on as text. */
export function passedOn(sort: ServerOrder, cursor: PageCursor): PageCursor {
  const text = serversCursor(sort, cursor);
  assertEquals(readServersCursor(text), { sort, at: cursor });
  return readServersCursor(text)!.at;
}
