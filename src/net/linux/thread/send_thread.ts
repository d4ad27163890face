/**
 * A thread that writes datagrams and sends them: on ours, whom they go to is found out meanwhile.
 *
 * @module
 */
import { type SendJob, type SendJobOutcome, SharedJobQueue } from "./shared_job_queue.ts";
import type { SendWorkerOptions } from "./send_worker.ts";

/** A thread that sends for sockets. It ends with the last of them. */
export class SendThread {
  readonly #jobs = new SharedJobQueue();
  #sockets = 0;
  #isDead = false;

  private constructor(private readonly worker: Worker, start: Omit<SendWorkerOptions, "memory">) {
    worker.postMessage({ ...start, memory: this.#jobs.memory });
  }

  /**
   * Starts one.
   *
   * @param start What it needs, where it is to write frames. Default: it writes messages.
   * @throws Error with what is missing.
   */
  static async start(start: Omit<SendWorkerOptions, "memory"> = {}): Promise<SendThread> {
    const worker = new Worker(new URL("./send_worker.ts", import.meta.url), { type: "module" });
    const thread = new SendThread(worker, start);
    try {
      await thread.#said("ready");
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

  /** Waits for a word of the thread. */
  #said(word: string): Promise<void> {
    return new Promise((resolve, reject) => {
      this.worker.onmessage = ({ data }) => data === word && resolve();
      this.worker.onerror = (event) => {
        event.preventDefault();
        reject(new Error(event.message));
      };
    });
  }

  /** Has rows sent: see {@linkcode SharedJobQueue.send}. */
  send(
    job: SendJob,
    from: number,
    refuse: (errno: number, times: number) => void,
  ): Promise<SendJobOutcome> {
    return this.#jobs.send(job, from, refuse);
  }

  /** Notes one more socket that it sends for. */
  hold(): void {
    this.#sockets++;
  }

  /** Notes that a socket is closed; ends with the last one. */
  async release(): Promise<void> {
    if (--this.#sockets > 0) return;
    if (!this.#isDead) {
      const ended = this.#said("ended");
      this.#jobs.close();
      await ended.catch(() => {}); // whoever sent was told
    }
    this.worker.terminate();
  }
}
