/**
 * The thread of {@linkcode SendThread}: it does nothing but write datagrams and send them, and sleeps
 * while there are none.
 *
 * @module
 */
import { FrameBatch } from "../batch/frame_batch.ts";
import type { FrameEnds } from "../batch/ethernet_frames.ts";
import {
  type ArrivedSendJob,
  type SendMethod,
  type SendWork,
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
import { AddressesBehind } from "../netlink/routing_table.ts";
import { readTargets } from "../batch/target_batch.ts";
import { sendAll } from "./blocking_send.ts";
import { MOST_IN_BATCH } from "../../socket.ts";
import { type XdpPlace, XdpRing } from "../xdp/xdp_ring.ts";

/** What it is told at first. */
export interface SendStart {
  /** Where jobs come. */
  readonly memory: SharedArrayBuffer;
  /** What frames begin with, where it is to write frames. */
  readonly ends?: FrameEnds;
  /** The rings of the XDP socket whose frames it sends, if there is one. */
  readonly rings?: XdpPlace;
}

/** What a worker has besides. */
interface WorkerScope {
  onmessage: (event: MessageEvent<SendStart>) => void;
  postMessage(word: string): void;
}

const scope = globalThis as unknown as WorkerScope;
/** Who gets a frame was found out before. */
const EVERYBODY = new AddressesBehind([{ start: 0, end: 2 ** 32 }]);

scope.onmessage = ({ data }) => {
  using libc = new Libc();
  const work = worker(libc, data);
  scope.postMessage("ready");
  serveJobs(data.memory, work);
  scope.postMessage("ended");
};

/** What the thread does with its jobs. */
function worker(libc: Libc, { memory, ends, rings }: SendStart): SendWork {
  const words = new Int32Array(memory);
  const messages = sendMessages(libc);
  const ring = rings === undefined ? undefined : new XdpRing(libc, rings);
  let id = 0;
  const frames: Transmit = (load, from) => ring!.transmit(load, from, id);
  const batches = new Map<string, MessageBatch | FrameBatch>();
  const empty = (way: SendMethod, number: number) => {
    const key = `${way} ${number}`;
    let batch = batches.get(key);
    if (batch === undefined) {
      const template = templateAt(memory, number);
      batch = isFramed(way)
        ? new FrameBatch(ends!, EVERYBODY, template, MOST_IN_BATCH)
        : new MessageBatch(template, MOST_IN_BATCH, way === "ipv4" ? 4 : 6);
      batches.set(key, batch);
    }
    batch.clear();
    return batch;
  };
  return (job, report) => {
    const { way, count } = job;
    id = job.id;
    const batch = empty(way, job.template);
    readTargets(words, job.at, count, way === "ipv6" ? 6 : 4, job.waited, batch);
    return sendAll(libc, way === "xdp" ? frames : messages, loadOf(job, batch), report);
  };
}

function isFramed(way: SendMethod): boolean {
  return way === "packet" || way === "xdp";
}

function loadOf(
  { socket, way, port }: ArrivedSendJob,
  batch: MessageBatch | FrameBatch,
): PreparedBatch {
  if (batch instanceof MessageBatch) {
    return preparedMessages(socket, batch.messages.base, batch.length);
  }
  batch.frames.finish(batch.framedCount, port);
  if (way === "xdp") return batch.frameLoad(socket);
  return preparedMessages(socket, batch.framed.base, batch.framedCount, true);
}
