/**
 * The module of the thread that makes the picture of a database, and keeps it up to date.
 *
 * @module
 */
import { nodeThreads } from "../../../core/node_modules.ts";
import { systemClock } from "../../../net/clock.ts";
import { DatabaseAccess, type DatabasePlace } from "../database_access.ts";
import { keepPicture } from "./keep_picture.ts";
import { UNKNOWN_PLACE } from "../listed_servers.ts";

await keepPicture({
  access: new DatabaseAccess(nodeThreads().workerData as DatabasePlace),
  places: () => UNKNOWN_PLACE,
  clock: systemClock,
  publish: (memory) => nodeThreads().parentPort!.postMessage(memory),
});
