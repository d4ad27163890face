/**
 * Waiting for late answers, no longer than somebody may still send one.
 *
 * @module
 */
import { Endpoints } from "../core/endpoints.ts";
import { type Clock, sleep } from "../net/clock.ts";
import type { TargetSpace } from "../targets/space.ts";
import type { Mark } from "./trail.ts";

/** Targets that are drawn at once. */
const DRAWN = 256;
/** How often it is looked whether somebody is left, milliseconds. */
const LOOK_MS = 20;

/** A pass as it was sent. */
export interface SentPass {
  /** Its targets, in order. */
  readonly space: TargetSpace;
  /** Whether nobody waits for a target's answer: it came, or the target was not asked. */
  readonly settled: (targets: Endpoints, i: number) => boolean;
}

/**
 * Walks over the positions that were sent last, and stops at each target that has not answered.
 * Nothing was remembered of them: the order tells who they are. All looks together pass each once.
 */
export class Outstanding {
  #pass: number;
  #position: number;
  readonly #targets = new Endpoints(DRAWN);
  #drawn = -1;
  #sent: SentPass | undefined;

  /**
   * Has looked at nobody yet.
   *
   * @param from Who stands before it had the time to answer.
   * @param to Who stands from it on was not asked.
   * @param open What a pass, from 1, sent.
   */
  constructor(
    from: Mark,
    private readonly to: Mark,
    private readonly open: (pass: number) => SentPass,
  ) {
    this.#pass = from.pass;
    this.#position = from.position;
  }

  /** Whether an answer may come. */
  get some(): boolean {
    while (this.#pass < this.to.pass || this.#pass === this.to.pass && this.to.position > 0) {
      this.#sent ??= this.open(this.#pass);
      const { size } = this.#sent.space;
      const end = this.#pass < this.to.pass ? size : Math.min(size, this.to.position);
      for (; this.#position < end; this.#position++) {
        if (!this.#isSettled(this.#sent)) return true;
      }
      if (this.#pass === this.to.pass) return false;
      this.#pass++;
      this.#position = 0;
      this.#drawn = -1;
      this.#sent = undefined;
    }
    return false;
  }

  #isSettled({ space, settled }: SentPass): boolean {
    const first = this.#position - this.#position % DRAWN;
    if (first !== this.#drawn) {
      space.fill(first, Math.min(DRAWN, space.size - first), this.#targets);
      this.#drawn = first;
    }
    return settled(this.#targets, this.#position - first);
  }
}

/**
 * Waits for late answers, until a time, or until none is outstanding.
 *
 * @param until When the last ones may come, milliseconds of the clock; it may change meanwhile.
 */
export async function cooldown(
  clock: Clock,
  until: () => number,
  outstanding: Outstanding,
): Promise<void> {
  for (;;) {
    const rest = until() - clock.now();
    if (!(rest > 0) || !outstanding.some) return;
    await sleep(clock, Math.min(rest, LOOK_MS));
  }
}
