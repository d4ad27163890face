/**
 * The module of a thread that answers questions.
 *
 * @module
 */
import { nodeThreads } from "../../../core/node_modules.ts";
import { readGeoipLookup } from "../../../app/geoip/mod.ts";
import { Answerer, READY, type ThreadData, type ThreadMessage } from "./answers.ts";
import { DatabaseAccess } from "../database_access.ts";

const { connection, geoip } = nodeThreads().workerData as ThreadData;
const answerer = new Answerer(new DatabaseAccess(connection), await readGeoipLookup(geoip));
nodeThreads().parentPort!.on("message", async (message: ThreadMessage) => {
  if (!("question" in message)) answerer.use(message);
  else nodeThreads().parentPort!.postMessage(await answerer.answer(message.question));
});
nodeThreads().parentPort!.postMessage(READY);
