/**
 * Threads that answer questions. A thread that works far too long on one is ended and replaced.
 *
 * @module
 */
import type { Clock } from "../../../net/clock.ts";
import { type Question, receivedError, type ThreadAnswer, type ThreadMessage } from "./answers.ts";
import type { Publication } from "./publications.ts";
import { DataError } from "../../queries/dashboard_data.ts";
import { SLOW } from "../database_access.ts";

export interface Thread {
  post(message: ThreadMessage): void;
  end(): void;
}

export interface ThreadEvents {
  /** It has answered its question. */
  readonly onAnswer: (answer: ThreadAnswer) => void;
  /** It has ended by itself. */
  readonly onFailure: (error: Error) => void;
}

export type StartThread = (events: ThreadEvents) => Thread;

/** Limits of a pool, milliseconds. */
export const LIMITS = {
  /** A question fails if no thread has begun to work on it within this time. */
  queueMs: 8000,
  /** Maximum number of questions that wait for a thread. Further ones fail at once. */
  queued: 256,
  /** A question is answered, or fails, within this time after a thread has begun to work on it. */
  answerMs: 2000,
  /**
   * A thread that works longer on a question is ended. One that takes less time stays, with the servers that
   * it found: the same question again is answered faster.
   */
  workMs: 8000,
  /** If a question waits longer for a thread, a further thread starts. */
  waitMs: 250,
  /** An ended thread counts for this time: the query of SQLite in which it was ends later. */
  endingMs: 20_000,
  /** Maximum number of threads, ended ones included. */
  threads: 3,
} as const;

/** A question that has not been answered. */
interface Pending {
  readonly question: Question;
  readonly resolve: (result: unknown) => void;
  readonly reject: (error: Error) => void;
  cancelTimers: () => void;
  /** Monotonic time at which a thread began to work on it, milliseconds. */
  begun?: number;
}

export class ThreadPool implements Disposable {
  /** The threads, each with the question that it is answering. */
  readonly #threads = new Map<Thread, Pending | undefined>();
  readonly #ending = new Set<() => void>();
  readonly #waiting: Pending[] = [];
  #published: Publication = {};
  #asked = 0;
  #isClosed = false;

  constructor(private readonly start: StartThread, private readonly clock: Clock) {
    this.#start();
  }

  ask(method: Question["method"], values: readonly unknown[]): Promise<unknown> {
    const { promise, resolve, reject } = Promise.withResolvers<unknown>();
    const question = { id: ++this.#asked, method, values };
    const timers = [
      this.clock.after(LIMITS.queueMs, () => this.#expire(pending)),
      this.clock.after(LIMITS.waitMs, () => this.#waiting.includes(pending) && this.#start()),
    ];
    const pending: Pending = {
      question,
      resolve,
      reject,
      cancelTimers: () => timers.forEach((cancel) => cancel()),
    };
    if (this.#isClosed) this.#settle(pending, () => reject(new Error("The database is closed")));
    else if (this.#waiting.length >= LIMITS.queued) this.#expire(pending);
    else this.#waiting.push(pending);
    this.#assign();
    return promise;
  }

  /** Gives all threads a server index or groups, and those that start later. */
  publish(publication: Publication): void {
    this.#published = { ...this.#published, ...publication };
    for (const thread of this.#threads.keys()) thread.post(publication);
  }

  [Symbol.dispose](): void {
    this.#isClosed = true;
    for (const cancel of this.#ending) cancel();
    const open = [...this.#waiting.splice(0), ...this.#threads.values()];
    for (const thread of this.#threads.keys()) thread.end();
    this.#threads.clear();
    for (const pending of open) {
      if (pending) this.#settle(pending, () => pending.reject(new Error("The database is closed")));
    }
  }

  /** Starts a thread, if there are not too many. */
  #start(): void {
    if (this.#isClosed || this.#threads.size + this.#ending.size >= LIMITS.threads) return;
    const thread: Thread = this.start({
      onAnswer: (answer) => this.#onAnswer(thread, answer),
      onFailure: (error) => this.#onFailure(thread, error),
    });
    this.#threads.set(thread, undefined);
    thread.post(this.#published);
    this.#assign();
  }

  /** Gives waiting questions to free threads. */
  #assign(): void {
    if (this.#waiting.length > 0 && this.#threads.size === 0) this.#start();
    for (const [thread, current] of this.#threads) {
      if (current !== undefined) continue;
      const next = this.#waiting.shift();
      if (next === undefined) return;
      this.#threads.set(thread, next);
      next.begun = this.clock.now();
      next.cancelTimers();
      next.cancelTimers = this.clock.after(LIMITS.answerMs, () => this.#expire(next));
      thread.post({ question: next.question });
    }
  }

  #settle(pending: Pending, settle: () => void): void {
    pending.cancelTimers();
    settle();
  }

  #onAnswer(thread: Thread, answer: ThreadAnswer): void {
    const pending = this.#threads.get(thread);
    if (pending?.question.id !== answer.id) return; // of a thread that was ended
    this.#threads.set(thread, undefined);
    this.#settle(pending, () => {
      if ("error" in answer) pending.reject(receivedError(answer.error));
      else pending.resolve(answer.result);
    });
    this.#assign();
  }

  #onFailure(thread: Thread, error: Error): void {
    const pending = this.#threads.get(thread);
    this.#threads.delete(thread);
    if (pending !== undefined) this.#settle(pending, () => pending.reject(error));
    if (!this.#isClosed) this.#assign();
  }

  /** Rejects a question that was not answered in time. */
  #expire(pending: Pending): void {
    const index = this.#waiting.indexOf(pending);
    if (index >= 0) this.#waiting.splice(index, 1);
    this.#settle(pending, () => pending.reject(new DataError("slow", SLOW)));
    for (const [thread, current] of this.#threads) {
      if (current === pending) this.#endAfter(thread, pending);
    }
    this.#assign();
  }

  /** Ends a thread when it has worked too long on a question that failed. */
  #endAfter(thread: Thread, pending: Pending): void {
    const leftMs = pending.begun! + LIMITS.workMs - this.clock.now();
    pending.cancelTimers = this.clock.after(leftMs, () => {
      this.#end(thread);
      this.#assign();
    });
  }

  #end(thread: Thread): void {
    this.#threads.delete(thread);
    thread.end();
    const cancel = this.clock.after(LIMITS.endingMs, () => {
      this.#ending.delete(cancel);
      this.#assign();
    });
    this.#ending.add(cancel);
  }
}
