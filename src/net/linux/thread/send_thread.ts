/**
 * A sender thread, which writes and sends datagrams. The main thread computes targets meanwhile.
 *
 * @module
 */
import { type SendJob, type SendJobOutcome, SharedJobQueue } from "./shared_job_queue.ts";
import type { SendWorkerOptions } from "./send_worker.ts";

/** A sender thread for sockets. It ends with the last of its sockets. */
export class SendThread {
  readonly #jobs = new SharedJobQueue();
  #sockets = 0;
  #isDead = false;

  private constructor(private readonly worker: Worker, start: Omit<SendWorkerOptions, "memory">) {
    worker.postMessage({ ...start, memory: this.#jobs.memory });
  }

  /**
   * Starts a sender thread.
   *
   * @param start Its parameters for frames. Default: it sends plain datagrams.
   * @throws Error with the missing part.
   */
  static async start(start: Omit<SendWorkerOptions, "memory"> = {}): Promise<SendThread> {
    const worker = new Worker(new URL("./send_worker.ts", import.meta.url), { type: "module" });
    const thread = new SendThread(worker, start);
    try {
      await thread.#waitForMessage("ready");
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
  #waitForMessage(word: string): Promise<void> {
    return new Promise((resolve, reject) => {
      this.worker.onmessage = ({ data }) => data === word && resolve();
      this.worker.onerror = (event) => {
        event.preventDefault();
        reject(new Error(event.message));
      };
    });
  }

  /** Sends the targets of a job: see {@linkcode SharedJobQueue.send}. */
  send(
    job: SendJob,
    from: number,
    refuse: (errno: number, times: number) => void,
  ): Promise<SendJobOutcome> {
    return this.#jobs.send(job, from, refuse);
  }

  /** Registers a socket that sends through it. */
  hold(): void {
    this.#sockets++;
  }

  /** Unregisters a socket; the thread ends with the last one. */
  async release(): Promise<void> {
    if (--this.#sockets > 0) return;
    if (!this.#isDead) {
      const ended = this.#waitForMessage("ended");
      this.#jobs.close();
      await ended.catch(() => {}); // the senders got the error
    }
    this.worker.terminate();
  }
}
