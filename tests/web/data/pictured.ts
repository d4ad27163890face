/** Databases with their pictures, and cursors, for tests of pages. */
import { assertEquals } from "@std/assert";
import type { Database } from "../../../src/store/database/database.ts";
import type { ServerOrder } from "../../../src/store/queries/orders.ts";
import { readServersCursor, serversCursor } from "../../../src/web/api/cursors.ts";
import type { PageCursor } from "../../../src/store/queries/order_positions.ts";
import { dataOf } from "../../../src/web/data/database_reader.ts";
import { ScannedSpace } from "../../../src/web/data/scanned_space.ts";
import { CountedPicture } from "../../../src/web/picture/counted_picture.ts";
import { DatabasePicture } from "../../../src/web/picture/follow_database.ts";
import { placeOf } from "../oracle.ts";

/** The picture of a database, and the data that uses it. */
export async function pictured(database: Database) {
  const picture = await DatabasePicture.of(database, placeOf, "test");
  const state = { picture: new CountedPicture(picture.memory), space: new ScannedSpace() };
  return { picture, data: dataOf(database, state, placeOf) };
}

/** A cursor after a client has passed it on as text. */
export function passedOn(sort: ServerOrder, cursor: PageCursor): PageCursor {
  const text = serversCursor(sort, cursor);
  assertEquals(readServersCursor(text), { sort, at: cursor });
  return readServersCursor(text)!.at;
}
