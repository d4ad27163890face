/**
 * The worker of {@linkcode SendThread}. It writes and sends datagrams, and sleeps while it has no
 * job.
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
import { MAX_IN_BATCH } from "../../socket.ts";
import { type XdpMemoryMap, XdpRing } from "../xdp/xdp_ring.ts";

/** The parameters of the worker, in its first message. */
export interface SendWorkerOptions {
  /** The memory of the job queue. */
  readonly memory: SharedArrayBuffer;
  /** The addresses of frames. Default: it sends plain datagrams. */
  readonly addresses?: FrameAddresses;
  /** The rings of the XDP socket that sends its frames. Default: none. */
  readonly rings?: XdpMemoryMap;
}

/** The message functions of a worker's global scope. */
interface WorkerScope {
  onmessage: (event: MessageEvent<SendWorkerOptions>) => void;
  postMessage(word: string): void;
}

const scope = globalThis as unknown as WorkerScope;
/** All IPv4 addresses: the main thread has already chosen the targets of frames. */
const ALL_ADDRESSES = new AddressesBehindGateway([{ start: 0, end: 2 ** 32 }]);

scope.onmessage = ({ data }) => {
  using libc = new Libc();
  const runJob = jobRunner(libc, data);
  scope.postMessage("ready");
  serveJobs(data.memory, runJob);
  scope.postMessage("ended");
};

/** Returns the function that runs a job. */
function jobRunner(libc: Libc, { memory, addresses, rings }: SendWorkerOptions): SendJobHandler {
  const words = new Int32Array(memory);
  const messages = sendMessages(libc);
  const ring = rings === undefined ? undefined : new XdpRing(libc, rings);
  let id = 0;
  const frames: Transmit = (batch, from) => ring!.transmit(batch, from, id);
  const batches = new Map<string, MessageBatch | FrameBatch>();
  const emptyBatch = (method: SendMethod, number: number) => {
    const key = `${method} ${number}`;
    let batch = batches.get(key);
    if (batch === undefined) {
      const template = templateAt(memory, number);
      batch = methodIsFramed(method)
        ? new FrameBatch(addresses!, ALL_ADDRESSES, template, MAX_IN_BATCH)
        : new MessageBatch(template, MAX_IN_BATCH, method === "ipv4" ? 4 : 6);
      batches.set(key, batch);
    }
    batch.clear();
    return batch;
  };
  return (job, report) => {
    const { method, count } = job;
    id = job.id;
    const batch = emptyBatch(method, job.template);
    readTargets(words, job.at, count, method === "ipv6" ? 6 : 4, job.waited, batch);
    return sendAll(libc, method === "xdp" ? frames : messages, preparedBatchOf(job, batch), report);
  };
}

function methodIsFramed(method: SendMethod): boolean {
  return method === "packet" || method === "xdp";
}

function preparedBatchOf(
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
