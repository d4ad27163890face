/**
 * The worker of {@linkcode SendThread}. It writes and sends datagrams, and sleeps while it has no
 * job.
 *
 * @module
 */
import { FrameBatch, type FrameRoute } from "../batch/frame_batch.ts";
import { MessageBatch } from "../batch/message_batch.ts";
import { ADDRESS_WORDS, OTHER_WORDS, readTargets } from "../batch/target_batch.ts";
import {
  type PreparedBatch,
  preparedMessages,
  sendMessages,
  type Transmit,
} from "../batch/transmit.ts";
import { Libc } from "../ffi/libc.ts";
import { AddressesBehindGateway } from "../netlink/routing_table.ts";
import { MAX_IN_BATCH, type Template, type ThreadPass } from "../../socket.ts";
import { type XdpMemoryMap, XdpRing } from "../xdp/xdp_ring.ts";
import { type ArrivedTargets, microseconds, type SendMethod, templateAt } from "./job_memory.ts";
import { type JobReport, JobServer } from "./job_server.ts";
import { BlockWriter, type Destination, type ThreadSocket } from "./block_writer.ts";
import { sendOnce } from "./blocking_send.ts";

/** The parameters of the worker, in its first message. */
export interface SendWorkerStart {
  /** The memory of the job queue. */
  readonly memory: SharedArrayBuffer;
  /** The addresses of frames. Default: it sends plain datagrams. */
  readonly route?: FrameRoute;
  /** The rings of the XDP socket that sends its frames. Default: none. */
  readonly rings?: XdpMemoryMap;
}

/** A later message: the pass of the blocks that follow. */
export interface SendWorkerPass {
  readonly pass: ThreadPass;
  /** The sockets that send its datagrams in turn. */
  readonly sockets: readonly ThreadSocket[];
  /** File descriptor of the socket that sends frames. Default: there are no frames. */
  readonly framesSocket?: number;
}

/** The message functions of a worker's global scope. */
interface WorkerScope {
  onmessage: (event: MessageEvent<SendWorkerStart | SendWorkerPass>) => void;
  postMessage(message: string | number): void;
}

const scope = globalThis as unknown as WorkerScope;
/** All IPv4 addresses: the targets of frames are already chosen. */
const ALL_ADDRESSES = new AddressesBehindGateway([{ start: 0, end: 2 ** 32 }]);
let worker: SendWorker | undefined;

scope.onmessage = ({ data }) => {
  if ("memory" in data) {
    worker = new SendWorker(data);
    scope.postMessage(microseconds());
  } else {
    worker!.begin(data);
  }
  if (worker!.run() === "end") {
    worker![Symbol.dispose]();
    scope.postMessage("ended");
  }
};

/** Runs the jobs of the thread. */
class SendWorker implements Disposable {
  readonly #start: SendWorkerStart;
  readonly #libc = new Libc();
  readonly #words: Int32Array;
  readonly #server: JobServer;
  readonly #messages: Transmit;
  readonly #frames: Transmit;
  /** The templates of lists by their number. */
  readonly #templates = new Map<number, Template>();
  readonly #batches = new Map<Template, Map<SendMethod, MessageBatch | FrameBatch>>();
  #blocks: BlockWriter | undefined;

  constructor(start: SendWorkerStart) {
    this.#start = start;
    this.#words = new Int32Array(start.memory);
    this.#server = new JobServer(start.memory);
    this.#messages = sendMessages(this.#libc);
    const ring = start.rings === undefined ? undefined : new XdpRing(this.#libc, start.rings);
    this.#frames = ring === undefined
      ? this.#messages
      : (batch, from) => ring.transmit(batch, from);
  }

  begin({ pass, sockets, framesSocket }: SendWorkerPass): void {
    const { route, rings } = this.#start;
    const method = rings === undefined ? "packet" : "xdp";
    const frames = route && framesSocket !== undefined
      ? { route, socket: framesSocket, method } as const
      : undefined;
    if (this.#blocks !== undefined) this.#batches.delete(this.#blocks.template);
    this.#blocks = new BlockWriter(pass, sockets, frames);
  }

  /** Runs jobs until the thread has to receive a message, or to end. */
  run(): "message" | "end" {
    return this.#server.serve((job, report) => {
      if (job.kind === "targets") return this.#sendTargets(job, report);
      return this.#blocks!.send(
        job,
        report,
        (to, count, add) => this.#send(to, this.#blocks!.template, count, add, report),
      );
    });
  }

  #sendTargets(job: ArrivedTargets, report: JobReport): number {
    const { at, count, method, waited } = job;
    const begun = performance.now();
    const family = method === "ipv6" ? 6 : 4;
    const size = ADDRESS_WORDS[family] + OTHER_WORDS;
    const template = this.#templates.getOrInsertComputed(
      job.template,
      (number) => templateAt(this.#start.memory, number),
    );
    return this.#send(job, template, count, (batch, from) => {
      const since = waited + Math.floor((performance.now() - begun) * 1000);
      readTargets(this.#words, at + from * size, count - from, family, since, batch);
    }, report);
  }

  /**
   * Sends `count` datagrams.
   *
   * @param add Adds the datagrams from an index on to an empty batch.
   * @returns Number of datagrams that were tried.
   */
  #send(
    to: Destination,
    template: Template,
    count: number,
    add: (batch: MessageBatch | FrameBatch, from: number) => void,
    report: JobReport,
  ): number {
    const batch = this.#batchFor(to.method, template);
    const transmit = to.method === "xdp" ? this.#frames : this.#messages;
    for (let from = 0; from < count;) {
      batch.clear();
      add(batch, from);
      const prepared = preparedBatchOf(batch, to);
      const { tried, goesOn } = sendOnce(this.#libc, transmit, prepared, report);
      from += tried;
      if (!goesOn) return from;
    }
    return count;
  }

  #batchFor(method: SendMethod, template: Template): MessageBatch | FrameBatch {
    return this.#batches.getOrInsertComputed(template, () => new Map())
      .getOrInsertComputed(
        method,
        () =>
          method === "packet" || method === "xdp"
            ? new FrameBatch(this.#start.route!, ALL_ADDRESSES, template, MAX_IN_BATCH)
            : new MessageBatch(template, MAX_IN_BATCH, method === "ipv4" ? 4 : 6),
      );
  }

  [Symbol.dispose](): void {
    this.#libc[Symbol.dispose]();
  }
}

function preparedBatchOf(
  batch: MessageBatch | FrameBatch,
  { socket, method, port }: Destination,
): PreparedBatch {
  if (batch instanceof MessageBatch) {
    return preparedMessages(socket, batch.messages.base, batch.length);
  }
  batch.frames.finish(batch.framedCount, port);
  if (method === "xdp") return batch.frameLoad(socket);
  return preparedMessages(socket, batch.framed.base, batch.framedCount, true);
}
