/**
 * The thread of {@linkcode SendThread}: it does nothing but send, and sleeps while there is nothing.
 *
 * @module
 */
import { Libc } from "./libc.ts";
import { sendMessages, type Transmit } from "./load.ts";
import { sendAll } from "./send_all.ts";
import { serveJobs } from "./send_jobs.ts";
import { type XdpPlace, XdpRing } from "./xdp_ring.ts";

/** What it is told at first. */
interface Start {
  readonly memory: SharedArrayBuffer;
  readonly rings?: XdpPlace;
}

/** What a worker has besides. */
interface WorkerScope {
  onmessage: (event: MessageEvent<Start>) => void;
  postMessage(word: string): void;
}

const scope = globalThis as unknown as WorkerScope;

scope.onmessage = ({ data: { memory, rings } }) => {
  using libc = new Libc();
  const messages = sendMessages(libc);
  const ring = rings === undefined ? undefined : new XdpRing(libc, rings);
  const frames: Transmit = (load, from) => ring!.transmit(load, from);
  scope.postMessage("ready");
  serveJobs(memory, (load, report) => {
    return sendAll(libc, load.socket === rings?.socket ? frames : messages, load, report);
  });
  scope.postMessage("ended");
};
