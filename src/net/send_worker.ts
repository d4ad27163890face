/**
 * The thread of {@linkcode SendThread}: it does nothing but send, and sleeps while there is nothing.
 *
 * @module
 */
import { Libc } from "./libc.ts";
import { sendMessages } from "./load.ts";
import { sendAll } from "./send_all.ts";
import { serveJobs } from "./send_jobs.ts";

/** What a worker has besides. */
interface WorkerScope {
  onmessage: (event: MessageEvent<SharedArrayBuffer>) => void;
  postMessage(word: string): void;
}

const scope = globalThis as unknown as WorkerScope;

scope.onmessage = ({ data }) => {
  using libc = new Libc();
  scope.postMessage("ready");
  const transmit = sendMessages(libc);
  serveJobs(data, (load, refuse) => sendAll(libc, transmit, load, refuse), () => libc.errno());
  scope.postMessage("ended");
};
