/**
 * The module of the thread that makes the server index of a database and its groups, and keeps them up to date.
 *
 * @module
 */
import { nodeThreads } from "../../../core/node_modules.ts";
import { readGeoipLookup } from "../../../app/geoip/mod.ts";
import { systemClock } from "../../../net/clock.ts";
import { DatabaseAccess } from "../database_access.ts";
import type { ThreadData } from "./answers.ts";
import { keepServerIndex } from "./keep_server_index.ts";

const { connection, geoip } = nodeThreads().workerData as ThreadData;
await keepServerIndex({
  access: new DatabaseAccess(connection),
  geoipOf: await readGeoipLookup(geoip),
  clock: systemClock,
  publish: (publication) => nodeThreads().parentPort!.postMessage(publication),
});
