/**
 * Writes probes: targets in the order of a pass, each with its token and the time.
 *
 * @module
 */
import { Endpoints } from "../core/endpoints.ts";
import type { Clock } from "../net/clock.ts";
import type { ThreadPass } from "../net/mod.ts";
import type { HostFilter } from "../targets/host_filter.ts";
import type { ProbeSpace } from "../targets/space.ts";
import type { Tokens } from "../targets/token.ts";
import type { BatchInFlight } from "./batches_in_flight.ts";
import { type ProbeKind, stampClock } from "./probe_kind.ts";

/** Number of targets that are computed at a time. */
export const COMPUTED_AT_ONCE = 256;

/** Options of {@linkcode ProbeWriter}. */
export interface ProbeWriterOptions {
  /** The token generator of the scan. */
  readonly tokens: Tokens;
  /** The clock of stamps and pauses. */
  readonly clock: Clock;
  /** Whether a target is skipped: it has replied, has opted out, or suppresses the protocol. */
  readonly skip: (targets: Endpoints, i: number, protocol: string) => boolean;
  /**
   * The addresses of all targets for which `skip` may return `true`. Default: it may do so for any
   * target, and sender threads do not compute targets.
   */
  readonly filter?: HostFilter;
}

export class ProbeWriter {
  /** The stamp of the next probes, microseconds. */
  stamp = 0;
  readonly #kind: ProbeKind;
  readonly #options: ProbeWriterOptions;
  readonly #targets = new Endpoints(COMPUTED_AT_ONCE);
  /** The tokens of these targets. */
  readonly #tokens = new Int32Array(COMPUTED_AT_ONCE);
  /** Indexes of the selected targets, and behind them the number of positions. */
  readonly #selected = new Uint16Array(COMPUTED_AT_ONCE + 1);
  /** The space of the blocks of threads. */
  #space: ProbeSpace | undefined;

  constructor(kind: ProbeKind, options: ProbeWriterOptions) {
    this.#kind = kind;
    this.#options = options;
  }

  /** Writes a probe to `targets[i]`. */
  write(flight: BatchInFlight, targets: Endpoints, i: number): void {
    const { kind, probe: { macMask } } = this.#kind;
    this.writeWith(this.#options.tokens.at(kind, targets, i) & macMask, flight, targets, i);
  }

  /** Writes a probe with a given token. */
  writeWith(mac: number, flight: BatchInFlight, targets: Endpoints, i: number): void {
    const batch = (targets.family(i) === 4 ? flight.ipv4 : flight.ipv6)!;
    batch.add(targets, i, mac, this.stamp);
  }

  /**
   * Selects the targets at consecutive positions, apart from those that are skipped.
   *
   * @param count Number of positions, at most {@linkcode COMPUTED_AT_ONCE}.
   * @returns Number of selected targets.
   */
  select(space: ProbeSpace, from: number, count: number): number {
    const { skip, filter, tokens } = this.#options;
    const { protocol, kind, probe: { macMask } } = this.#kind;
    const targets = this.#targets;
    const selected = this.#selected;
    space.fill(from, count, targets);
    tokens.fill(kind, macMask, targets, count, this.#tokens);
    let length = 0;
    for (let i = 0; i < count; i++) {
      const mayBeSkipped = filter === undefined || filter.mayHaveAt(targets, i);
      if (!mayBeSkipped || !skip(targets, i, protocol)) selected[length++] = i;
    }
    selected[length] = count;
    return length;
  }

  /**
   * Writes probes to the first of the selected targets.
   *
   * @returns Number of positions before the next selected target; all, if there is none.
   */
  writeSelected(count: number, flight: BatchInFlight): number {
    const selected = this.#selected;
    const tokens = this.#tokens;
    for (let k = 0; k < count; k++) {
      const i = selected[k];
      this.writeWith(tokens[i], flight, this.#targets, i);
    }
    return selected[count];
  }

  /** Describes the pass over a space for sender threads. */
  threadPass(space: ProbeSpace, batchSize: number): ThreadPass {
    const { tokens, filter } = this.#options;
    const { kind, probe } = this.#kind;
    const { template, tokenAt, tokenText, clockAt, transport, macMask } = probe;
    this.#space = space;
    return {
      space: space.data!,
      template: { template, tokenAt, tokenText, clockAt, transport },
      key: tokens.key,
      kind,
      macMask,
      filter: filter!.memory,
      batchSize,
    };
  }

  /**
   * Writes probes to targets that a thread left out of its block, apart from those that are skipped.
   *
   * @param left The positions that were left out, counted from the start of the block.
   * @param from Index of the first one to write.
   * @param most Maximum number of probes.
   * @returns Index of the next one to write: only as many are written as a batch has space for.
   */
  addLeft(flight: BatchInFlight, left: ArrayLike<number>, from: number, most: number): number {
    const { skip, clock } = this.#options;
    this.stamp = stampClock(clock.now());
    const end = Math.min(left.length, from + most);
    for (let at = from; at < end; at++) {
      this.#space!.fill(flight.from + left[at], 1, this.#targets);
      if (!skip(this.#targets, 0, this.#kind.protocol)) this.write(flight, this.#targets, 0);
    }
    return end;
  }
}
