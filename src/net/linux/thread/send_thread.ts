/**
 * A sender thread, which writes and sends datagrams. It computes the targets of blocks itself. The
 * main thread receives meanwhile.
 *
 * @module
 */
import type { SendJob } from "./job_memory.ts";
import { SharedJobQueue } from "./shared_job_queue.ts";
import type { ThreadSocket } from "./block_writer.ts";
import type { SendWorkerStart } from "./send_worker.ts";
import type { SentBlock, SocketErrors, TargetThread, ThreadPass } from "../../socket.ts";

/** A socket of a sender thread, as the main thread uses it. */
export interface HeldSocket extends ThreadSocket {
  /** `"tcp"`: it sends SYN packets. Default: datagrams. */
  readonly transport?: "tcp";
  /** Delivers arrived datagrams after the thread got a number of datagrams to send. */
  receiveBetweenBatches(sent: number): void;
}

/** A sender thread for sockets. It ends with the last of its sockets. */
export class SendThread implements TargetThread {
  readonly #jobs = new SharedJobQueue();
  readonly #held = new Set<HeldSocket>();
  /** File descriptor of the packet or XDP socket that sends frames. */
  #framesSocket: number | undefined;
  #users = 0;
  #isDead = false;

  private constructor(private readonly worker: Worker, start: Omit<SendWorkerStart, "memory">) {
    worker.postMessage({ ...start, memory: this.#jobs.memory });
  }

  /**
   * Starts a sender thread.
   *
   * @param start Its parameters for frames. Default: it sends plain datagrams.
   * @throws Error with the missing part.
   */
  static async start(start: Omit<SendWorkerStart, "memory"> = {}): Promise<SendThread> {
    const worker = new Worker(new URL("./send_worker.ts", import.meta.url), { type: "module" });
    const thread = new SendThread(worker, start);
    try {
      await thread.#waitForMessage((data) => {
        if (typeof data === "number") thread.#jobs.setClock(data);
        return typeof data === "number";
      });
    } catch (error) {
      worker.terminate();
      throw error;
    }
    worker.onerror = (event) => {
      event.preventDefault();
      thread.#isDead = true;
      thread.#jobs.fail(new Error(`Cannot send any longer: ${event.message}`));
    };
    return thread;
  }

  /** Waits for a message of the thread. */
  #waitForMessage(isAwaited: (data: unknown) => boolean): Promise<void> {
    return new Promise((resolve, reject) => {
      this.worker.onmessage = ({ data }) => isAwaited(data) && resolve();
      this.worker.onerror = (event) => {
        event.preventDefault();
        reject(new Error(event.message));
      };
    });
  }

  get pending(): number {
    return this.#jobs.pending;
  }

  begin(pass: ThreadPass): void {
    const sockets = [...this.#held]
      .filter(({ transport }) => transport === pass.template.transport)
      .map(({ family, socket, port }) => ({ family, socket, port }));
    this.worker.postMessage({ pass, sockets, framesSocket: this.#framesSocket });
    this.#jobs.interrupt();
  }

  sendBlock(
    from: number,
    count: number,
    stamp: number,
    errors: SocketErrors,
    signal?: AbortSignal,
  ): Promise<SentBlock> {
    const sent = this.#jobs.sendBlock({ from, count, stamp }, errors, signal);
    for (const socket of this.#held) socket.receiveBetweenBatches(count);
    return sent;
  }

  /** Sends the targets of a job: see {@linkcode SharedJobQueue.send}. */
  send(job: SendJob, errors: SocketErrors, signal?: AbortSignal): Promise<number> {
    return this.#jobs.send(job, errors, signal);
  }

  /** Ends the waits of all jobs for an interface that is down, and blocks. */
  cancelWaits(): void {
    this.#jobs.cancelWaits();
  }

  /** Resolves when no job is pending, so that no descriptor of a socket is in use. */
  idle(): Promise<void> {
    return this.#jobs.idle();
  }

  /**
   * Registers a user of the thread.
   *
   * @param socket The user, if it is a socket that sends through the thread.
   */
  hold(socket?: HeldSocket): void {
    this.#users++;
    if (socket !== undefined) this.#held.add(socket);
  }

  /** Registers the socket that sends its frames. */
  holdFrames(socket: number): void {
    this.#users++;
    this.#framesSocket = socket;
  }

  /** Unregisters a user; the thread ends with the last one. */
  async release(socket?: HeldSocket): Promise<void> {
    if (socket !== undefined) this.#held.delete(socket);
    if (--this.#users > 0) return;
    if (!this.#isDead) {
      const ended = this.#waitForMessage((data) => data === "ended");
      this.#jobs.close();
      await ended.catch(() => {}); // the senders got the error
    }
    this.worker.terminate();
  }
}
