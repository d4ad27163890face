/**
 * The thread of {@linkcode SendThread}: it does nothing but write datagrams and send them, and sleeps
 * while there are none.
 *
 * @module
 */
import { FrameBatch } from "../batch/frame_batch.ts";
import type { FrameAddresses } from "../batch/ethernet_frames.ts";
import {
  type ArrivedSendJob,
  type SendJobHandler,
  type SendMethod,
  serveJobs,
  templateAt,
} from "./shared_job_queue.ts";
import { Libc } from "../ffi/libc.ts";
import {
  type PreparedBatch,
  preparedMessages,
  sendMessages,
  type Transmit,
} from "../batch/transmit.ts";
import { MessageBatch } from "../batch/message_batch.ts";
import { AddressesBehindGateway } from "../netlink/routing_table.ts";
import { readTargets } from "../batch/target_batch.ts";
import { sendAll } from "./blocking_send.ts";
import { MOST_IN_BATCH } from "../../socket.ts";
import { type XdpMemoryMap, XdpRing } from "../xdp/xdp_ring.ts";

/** What it is told at first. */
export interface SendWorkerOptions {
  /** Where jobs come. */
  readonly memory: SharedArrayBuffer;
  /** What frames begin with, where it is to write frames. */
  readonly addresses?: FrameAddresses;
  /** The rings of the XDP socket whose frames it sends, if there is one. */
  readonly rings?: XdpMemoryMap;
}

/** What a worker has besides. */
interface WorkerScope {
  onmessage: (event: MessageEvent<SendWorkerOptions>) => void;
  postMessage(word: string): void;
}

const scope = globalThis as unknown as WorkerScope;
/** Who gets a frame was found out before. */
const ALL_ADDRESSES = new AddressesBehindGateway([{ start: 0, end: 2 ** 32 }]);

scope.onmessage = ({ data }) => {
  using libc = new Libc();
  const work = worker(libc, data);
  scope.postMessage("ready");
  serveJobs(data.memory, work);
  scope.postMessage("ended");
};

/** What the thread does with its jobs. */
function worker(libc: Libc, { memory, addresses, rings }: SendWorkerOptions): SendJobHandler {
  const words = new Int32Array(memory);
  const messages = sendMessages(libc);
  const ring = rings === undefined ? undefined : new XdpRing(libc, rings);
  let id = 0;
  const frames: Transmit = (load, from) => ring!.transmit(load, from, id);
  const batches = new Map<string, MessageBatch | FrameBatch>();
  const empty = (method: SendMethod, number: number) => {
    const key = `${method} ${number}`;
    let batch = batches.get(key);
    if (batch === undefined) {
      const template = templateAt(memory, number);
      batch = isFramed(method)
        ? new FrameBatch(addresses!, ALL_ADDRESSES, template, MOST_IN_BATCH)
        : new MessageBatch(template, MOST_IN_BATCH, method === "ipv4" ? 4 : 6);
      batches.set(key, batch);
    }
    batch.clear();
    return batch;
  };
  return (job, report) => {
    const { method, count } = job;
    id = job.id;
    const batch = empty(method, job.template);
    readTargets(words, job.at, count, method === "ipv6" ? 6 : 4, job.waited, batch);
    return sendAll(libc, method === "xdp" ? frames : messages, loadOf(job, batch), report);
  };
}

function isFramed(way: SendMethod): boolean {
  return way === "packet" || way === "xdp";
}

function loadOf(
  { socket, method, port }: ArrivedSendJob,
  batch: MessageBatch | FrameBatch,
): PreparedBatch {
  if (batch instanceof MessageBatch) {
    return preparedMessages(socket, batch.messages.base, batch.length);
  }
  batch.frames.finish(batch.framedCount, port);
  if (method === "xdp") return batch.frameLoad(socket);
  return preparedMessages(socket, batch.framed.base, batch.framedCount, true);
}
