/**
 * The module of the thread that makes the picture of a database, and keeps it up to date.
 *
 * @module
 */
import { nodeThreads } from "../../../core/node_modules.ts";
import { placeLookup } from "../../../app/geoip/places.ts";
import { systemClock } from "../../../net/clock.ts";
import { DatabaseAccess } from "../database_access.ts";
import type { ThreadData } from "./answers.ts";
import { keepPicture } from "./keep_picture.ts";

const { place, geoip } = nodeThreads().workerData as ThreadData;
await keepPicture({
  access: new DatabaseAccess(place),
  places: await placeLookup(geoip),
  clock: systemClock,
  publish: (memory) => nodeThreads().parentPort!.postMessage(memory),
});
