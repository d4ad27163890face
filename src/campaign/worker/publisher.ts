/**
 * Publishes the results of a part that this worker holds, each until the server has stored it.
 *
 * @module
 */
import type { ServerRecord } from "../../core/record.ts";
import { type Clock, sleep } from "../../net/clock.ts";
import { type SendGate, untilOpen } from "../../net/mod.ts";
import type { Sink } from "../../sinks/sink.ts";
import { resultSubject } from "../names.ts";
import type { Broker } from "../nats/connection.ts";
import { brokerError, isFullStream } from "../nats/errors.ts";
import { formatPartEnd, MAX_ROWS_BYTES, type PartEnd, rowMessages } from "../results.ts";

/** Timeout of the server's confirmation, milliseconds. */
const ACK_MS = 5000;
/** The first pause after a failure, and the longest one, milliseconds. */
const PAUSE_MS = 100;
const MAX_PAUSE_MS = 5000;
/** Rows are gathered for this time, milliseconds, unless there are many. */
const GATHER_MS = 100;
const MANY_ROWS = 128;
/** Size of a message besides its rows, bytes: subject and headers. */
const HEAD_BYTES = 1024;

/** The parts of a {@linkcode Publisher}. */
export interface PublisherOptions {
  readonly broker: Pick<Broker, "js" | "connection" | "urls">;
  readonly campaign: string;
  readonly part: number;
  /** The vantage of the rows. Default: the campaign has one view per part. */
  readonly vantage?: string;
  /** The identity of this hold of the part, which begins the identities of its messages. */
  readonly hold: string;
  /** Nothing is published while it is closed. */
  readonly gate: SendGate;
  /** Aborted when nothing more may be published. */
  readonly signal: AbortSignal;
  readonly clock: Clock;
  /**
   * Called with the reason why publishing fails, and with `undefined` when it works again.
   *
   * @param isFull Whether the stream has reached its limit.
   */
  readonly onBlocked: (why: string | undefined, isFull: boolean) => void;
}

/** Publishes the results of one part. */
export class Publisher {
  #sequence = 0;
  #isBlocked = false;

  /** Whether the last attempt to publish failed. */
  get isBlocked(): boolean {
    return this.#isBlocked;
  }

  /** Publishes nothing yet. */
  constructor(private readonly options: PublisherOptions) {}

  /**
   * Publishes rows. Resolves when the server has stored all of them.
   *
   * @throws The reason of the signal.
   */
  async rows(records: readonly ServerRecord[]): Promise<void> {
    const { max_payload: most = Infinity } = this.options.broker.connection.info ?? {};
    for (const { bytes } of rowMessages(records, Math.min(MAX_ROWS_BYTES, most - HEAD_BYTES))) {
      await this.#publish("rows", bytes, String(++this.#sequence));
    }
  }

  /** Publishes the end of the part, as {@linkcode rows} publishes rows. */
  async end(kind: "done" | "poisoned" | "cancelled", end: PartEnd): Promise<void> {
    await this.#publish(kind, formatPartEnd(end), kind);
  }

  async #publish(
    kind: Parameters<typeof resultSubject>[2],
    payload: Uint8Array | string,
    name: string,
  ): Promise<void> {
    const { broker, campaign, part, vantage, hold, gate, signal, clock, onBlocked } = this.options;
    const subject = resultSubject(campaign, part, kind, kind === "rows" ? vantage : undefined);
    const msgID = `${hold}:${name}`;
    for (let pause = PAUSE_MS;; pause = Math.min(2 * pause, MAX_PAUSE_MS)) {
      while (!gate.isOpen()) if (!await untilOpen(gate, signal)) throw endOf(signal);
      try {
        await broker.js.publish(subject, payload, { msgID, timeout: ACK_MS });
        if (this.#isBlocked) onBlocked(undefined, false);
        this.#isBlocked = false;
        return;
      } catch (error) {
        if (error instanceof Deno.errors.NotCapable) throw error;
        this.#isBlocked = true;
        onBlocked(brokerError(error, broker.urls).message, isFullStream(error));
      }
      await sleep(clock, pause, signal);
      if (signal.aborted) throw endOf(signal);
    }
  }
}

/** The error of a result that may no longer be published. */
function endOf({ reason }: AbortSignal): Error {
  return new Error("the worker no longer holds the part", { cause: reason });
}

/** Publishes the rows of a scan. A row is written when the server has stored it. */
export class ResultSink implements Sink {
  #gathersUntil = -Infinity;

  /** Takes the publisher of the part. */
  constructor(
    private readonly publisher: Publisher,
    private readonly clock: Clock,
    private readonly signal: AbortSignal,
  ) {}

  async write(records: readonly ServerRecord[]): Promise<void> {
    const wait = this.#gathersUntil - this.clock.now();
    // Rows that arrive meanwhile are written together.
    if (wait > 0 && records.length < MANY_ROWS) await sleep(this.clock, wait, this.signal);
    await this.publisher.rows(records);
    this.#gathersUntil = this.clock.now() + GATHER_MS;
  }

  flush(): Promise<void> {
    return Promise.resolve();
  }

  position(): number {
    return 0;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return Promise.resolve();
  }
}
