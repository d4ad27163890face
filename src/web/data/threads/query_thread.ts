/**
 * The module of a thread that answers questions.
 *
 * @module
 */
import { nodeThreads } from "../../../core/node_modules.ts";
import { Answerer, READY, type ThreadMessage } from "./answers.ts";
import { DatabaseAccess, type DatabasePlace } from "../database_access.ts";
import { UNKNOWN_PLACE } from "../listed_servers.ts";

const access = new DatabaseAccess(nodeThreads().workerData as DatabasePlace);
const answerer = new Answerer(access, () => UNKNOWN_PLACE);
nodeThreads().parentPort!.on("message", async (message: ThreadMessage) => {
  if ("picture" in message) answerer.usePicture(message.picture);
  else nodeThreads().parentPort!.postMessage(await answerer.answer(message.question));
});
nodeThreads().parentPort!.postMessage(READY);
