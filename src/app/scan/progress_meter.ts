/**
 * Computes the speeds of a scan and the time left from its state. Pure: the clock is an argument.
 *
 * @module
 */
import { type Marks, type ScanState, sumOf } from "../../scan/mod.ts";
import type { AdaptivePlan, Passes } from "../targets/scan_plan.ts";

/** The work of a scan, and how long it waits. */
export interface ScanWork {
  /** Number of positions of each pass over UDP and TCP, detecting passes included. */
  readonly sizes: { readonly udp: readonly number[]; readonly tcp: readonly number[] };
  /** Number of positions that earlier runs of the scan have visited. */
  readonly start: { readonly udp: number; readonly tcp: number };
  /** How long the scan waits for late replies after the last probe, seconds. */
  readonly cooldown: number;
  /** How long the last connections may take, seconds. */
  readonly connect: number;
  /** When the scan ends in any case, seconds after its start. */
  readonly maxRuntime: number;
}

export interface PlannedPositions {
  /** Number of positions of each pass. */
  readonly passes: Readonly<Record<"udp" | "tcp", Pick<Passes, "sizes">>>;
  /** Positions that are visited before the passes. */
  readonly detectionPasses: readonly { readonly size: number }[];
}

export function scanWork(
  { passes: { udp, tcp }, detectionPasses }: PlannedPositions,
  from: Marks,
  times: Pick<ScanWork, "cooldown" | "connect" | "maxRuntime">,
): ScanWork {
  const behind = (sizes: readonly number[], { pass, position }: Marks["udp"]) =>
    sumOf(sizes.slice(0, pass - 1)) + position;
  return {
    ...times,
    sizes: { udp: [...detectionPasses.map(({ size }) => size), ...udp.sizes], tcp: tcp.sizes },
    start: { udp: behind(udp.sizes, from.udp), tcp: behind(tcp.sizes, from.tcp) },
  };
}

/** The work of an adaptive scan: its budget, for both transports together. */
export function adaptiveWork(
  { budget }: Pick<AdaptivePlan, "budget">,
  times: Pick<ScanWork, "cooldown" | "connect" | "maxRuntime">,
): ScanWork {
  return { ...times, sizes: { udp: [budget], tcp: [] }, start: { udp: 0, tcp: 0 } };
}

/** The progress of a scan at one moment. */
export interface ScanProgress {
  /** Seconds since this run of the scan started. */
  readonly elapsed: number;
  /** Seconds until the scan ends; `Infinity`: unknown. */
  readonly left: number;
  /** Share of the positions that were visited, 0 to 1. */
  readonly share: number;
  /** Packets and connections a second. */
  readonly rate: number;
  /** Valid replies a second. */
  readonly replyRate: number;
  /** Valid replies per probe; `undefined` before the first probe. */
  readonly hitRate: number | undefined;
}

/** The counters of a state that the status line needs. */
interface Reading {
  readonly at: number;
  readonly sent: number;
  readonly found: number;
  readonly udp: number;
  readonly tcp: number;
  /** Interviews that have not ended. */
  readonly interviews: number;
  /** Whether the passes over UDP pause. */
  readonly pausing: boolean;
}

/** The pause between two passes, seconds. */
const PASS_GAP = 1;
/** Period of averages of speeds, seconds; the time left uses a longer period. */
const SHORT = 5;
const LONG = 30;

/** Computes speeds and the time left from readings of a scan's state. */
export class ProgressMeter {
  #readings: Reading[];
  #udpDone = Infinity;
  #tcpDone = Infinity;
  readonly #started: number;

  /** Starts with the state before the first probe of this run, at a time in seconds. */
  constructor(private readonly work: ScanWork, state: ScanState, at: number) {
    this.#started = at;
    this.#readings = [readState(state, work, at)];
  }

  /** Computes the progress from the state at a time, in seconds. */
  read(state: ScanState, at: number): ScanProgress {
    const { sizes } = this.work;
    const now = readState(state, this.work, at);
    // The last reading is kept even if it is old, because the machine was suspended meanwhile.
    const last = this.#readings.at(-1)!;
    this.#readings = this.#readings.filter((one) => one === last || at - one.at <= LONG);
    this.#readings.push(now);
    const total = { udp: sumOf(sizes.udp), tcp: sumOf(sizes.tcp) };
    if (now.udp >= total.udp) this.#udpDone = Math.min(this.#udpDone, at);
    if (now.tcp >= total.tcp) this.#tcpDone = Math.min(this.#tcpDone, at);
    const recent = this.#since(SHORT);
    const span = Math.max(at - recent.at, Number.MIN_VALUE);
    const elapsed = at - this.#started;
    const all = total.udp + total.tcp;
    return {
      elapsed,
      left: Math.max(0, Math.min(this.#left(now, total), this.work.maxRuntime - elapsed)),
      share: all === 0 ? 1 : Math.min(1, (now.udp + now.tcp) / all),
      rate: (now.sent - recent.sent) / span,
      replyRate: (now.found - recent.found) / span,
      hitRate: now.sent === 0 ? undefined : now.found / now.sent,
    };
  }

  /** The oldest reading of the last seconds; at least the one before the latest. */
  #since(seconds: number): Reading {
    const readings = this.#readings;
    const { at } = readings.at(-1)!;
    return readings.find((one) => at - one.at <= seconds && one.at < at) ?? readings.at(-2)!;
  }

  /**
   * Seconds until the passes over UDP and TCP and the interviews have ended; `Infinity`: unknown.
   */
  #left(now: Reading, total: { readonly udp: number; readonly tcp: number }): number {
    const left = Math.max(
      this.#udpLeft(now, total),
      this.#tcpLeft(now, total.tcp),
      this.#interviewsLeft(now, total),
    );
    return left > 0 ? left : Infinity;
  }

  /** Seconds until the interviews have ended, at their average speed so far. */
  #interviewsLeft(now: Reading, total: { readonly udp: number; readonly tcp: number }): number {
    const { at, interviews } = now;
    const isSent = ({ udp, tcp }: Reading) => udp >= total.udp && tcp >= total.tcp;
    if (interviews === 0 || !isSent(now)) return 0;
    const before = this.#readings.find(isSent)!;
    const ended = before.interviews - interviews;
    return ended > 0 ? interviews * (at - before.at) / ended : Infinity;
  }

  #tcpLeft({ at, tcp }: Reading, total: number): number {
    const { connect, start } = this.work;
    if (tcp < total) return (total - tcp) / this.#speed("tcp") + connect;
    return total > start.tcp ? this.#tcpDone + connect - at : 0;
  }

  #udpLeft(now: Reading, total: { readonly udp: number; readonly tcp: number }): number {
    const { cooldown, start } = this.work;
    const [udp, tcp] = [total.udp - now.udp, total.tcp - now.tcp];
    if (udp <= 0) return total.udp > start.udp ? this.#udpDone + cooldown - now.at : 0;
    const speed = { udp: this.#speed("udp"), tcp: this.#speed("tcp") };
    const udpSeconds = udp / speed.udp;
    // UDP and TCP share the rate: when TCP has ended, UDP gets all of it.
    const sending = tcp > 0 && udpSeconds > tcp / speed.tcp
      ? (udp + tcp) / (speed.udp + speed.tcp)
      : udpSeconds;
    return sending + this.#pauses(now) + cooldown;
  }

  /** Positions per second while passes of a transport ran; the pauses of UDP do not count. */
  #speed(half: "udp" | "tcp"): number {
    let [positions, seconds] = [0, 0];
    for (const [i, one] of this.#readings.slice(1).entries()) {
      const before = this.#readings[i];
      const idle = half === "udp" && before.pausing && one.udp === before.udp;
      if (!idle) seconds += one.at - before.at;
      positions += one[half] - before[half];
    }
    return seconds === 0 ? 0 : positions / seconds;
  }

  /** Duration of the remaining pauses between UDP passes, seconds. */
  #pauses({ udp }: Reading): number {
    let [end, pauses] = [0, 0];
    for (const size of this.work.sizes.udp.slice(0, -1)) {
      end += size;
      if (size > 0 && end > udp) pauses++;
    }
    return pauses * PASS_GAP;
  }
}

function readState(state: ScanState, { start, sizes }: ScanWork, at: number): Reading {
  const { tcp } = state;
  // `visited` of an adaptive scan counts both transports, which share its budget.
  const tcpVisited = tcp.pass === 0 || state.adaptive !== undefined
    ? start.tcp
    : sumOf(sizes.tcp.slice(0, tcp.pass - 1)) + tcp.position;
  const begun = state.total > 0;
  return {
    at,
    sent: state.sent + tcp.sent,
    found: foundIn(state),
    udp: begun ? state.visited - (tcp.passes > 0 ? tcpVisited : 0) : start.udp,
    tcp: tcpVisited,
    interviews: state.inspecting,
    pausing: state.passes > 0 && state.position >= state.size,
  };
}

/** Number of endpoints that replied, over UDP and TCP. */
export function foundIn({ replies, tcp }: ScanState): number {
  return replies.valid + tcp.counts.valid;
}
