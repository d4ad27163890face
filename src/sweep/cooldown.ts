/**
 * Waits for late replies, as long as a probed endpoint may still reply.
 *
 * @module
 */
import { Endpoints } from "../core/endpoints.ts";
import { type Clock, sleep } from "../net/clock.ts";
import type { ProbeSpace } from "../targets/space.ts";
import type { Mark } from "./mark_history.ts";

/** Number of targets that are computed at a time. */
const COMPUTED_AT_ONCE = 256;
/** Interval of the check for outstanding replies, milliseconds. */
const CHECK_MS = 20;

/** The targets of a pass, and whether a reply of each is outstanding. */
export interface SentPass {
  /** The targets in the order of the pass. */
  readonly space: ProbeSpace;
  /**
   * Whether no reply of a target is outstanding, because the target has replied or was not probed.
   */
  readonly settled: (targets: Endpoints, i: number) => boolean;
}

/**
 * Iterates over the positions that were sent last, and stops at each target without a reply.
 * Targets are not stored, but computed from the order of the pass. All checks together visit each
 * position once.
 */
export class Outstanding {
  #pass: number;
  #position: number;
  readonly #targets = new Endpoints(COMPUTED_AT_ONCE);
  #computedFrom = -1;
  #sent: SentPass | undefined;

  /**
   * Creates the search. It starts at the mark `from`.
   *
   * @param from Endpoints before this mark had enough time to reply.
   * @param to Endpoints from this mark on were not probed.
   * @param open Returns the targets of a pass by its number, from 1.
   */
  constructor(
    from: Mark,
    private readonly to: Mark,
    private readonly open: (pass: number) => SentPass,
  ) {
    this.#pass = from.pass;
    this.#position = from.position;
  }

  /** Whether a reply is outstanding. */
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
      this.#computedFrom = -1;
      this.#sent = undefined;
    }
    return false;
  }

  #isSettled({ space, settled }: SentPass): boolean {
    const first = this.#position - this.#position % COMPUTED_AT_ONCE;
    if (first !== this.#computedFrom) {
      space.fill(first, Math.min(COMPUTED_AT_ONCE, space.size - first), this.#targets);
      this.#computedFrom = first;
    }
    return settled(this.#targets, this.#position - first);
  }
}

/**
 * Waits for late replies until a deadline, or until no reply is outstanding.
 *
 * @param until Returns the deadline, milliseconds of the clock. The deadline may change meanwhile.
 */
export async function cooldown(
  clock: Clock,
  until: () => number,
  outstanding: Pick<Outstanding, "some">,
): Promise<void> {
  for (;;) {
    const rest = until() - clock.now();
    if (!(rest > 0) || !outstanding.some) return;
    await sleep(clock, Math.min(rest, CHECK_MS));
  }
}
