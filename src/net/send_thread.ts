/**
 * A thread that only sends: batches are filled on ours meanwhile.
 *
 * @module
 */
import type { Load } from "./load.ts";
import { type JobOutcome, SendJobs } from "./send_jobs.ts";
import type { XdpPlace } from "./xdp_ring.ts";

/** A thread that sends for sockets. It ends with the last of them. */
export class SendThread {
  readonly #jobs: SendJobs;
  #sockets = 0;

  private constructor(private readonly worker: Worker, rings?: XdpPlace) {
    this.#jobs = new SendJobs();
    worker.postMessage({ memory: this.#jobs.memory, rings });
  }

  /**
   * Starts one.
   *
   * @param rings Those of an XDP socket whose frames it sends, if there is one.
   * @throws Error with what is missing.
   */
  static async start(rings?: XdpPlace): Promise<SendThread> {
    const worker = new Worker(new URL("./send_worker.ts", import.meta.url), { type: "module" });
    const thread = new SendThread(worker, rings);
    try {
      await thread.#said("ready");
    } catch (error) {
      worker.terminate();
      throw error;
    }
    worker.onerror = (event) => {
      event.preventDefault();
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

  /** Has a load sent: see {@linkcode SendJobs.send}. */
  send(load: Load, refuse: (errno: number, times: number) => void): Promise<JobOutcome> {
    return this.#jobs.send(load, refuse);
  }

  /** Notes one more socket that it sends for. */
  hold(): void {
    this.#sockets++;
  }

  /** Notes that a socket is closed; ends with the last one. */
  async release(): Promise<void> {
    if (--this.#sockets > 0) return;
    const ended = this.#said("ended");
    this.#jobs.close();
    await ended.catch(() => {}); // it is gone already, and whoever sent was told
    this.worker.terminate();
  }
}
