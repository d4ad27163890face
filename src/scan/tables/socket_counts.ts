/**
 * Reads the counters of the sweep's sockets into the state of a scan. Sockets and their threads count
 * apart from the scan; every other number of the state is written by its stage when it changes.
 *
 * @module
 */
import type { PortSocket, ProbeSocket, SocketErrors } from "../../net/mod.ts";
import type { ScanSetup } from "../setup/scan_setup.ts";

/** Interval between updates, milliseconds. */
const EVERY_MS = 20;

/**
 * Effect of an error: the system refused to send, or sending has to wait, or a resource for
 * connections is exhausted.
 */
export type SendErrorKind = "refused" | "waits" | "short";

/** Error codes with which the system refuses to send to any target. */
const NO_NETWORK: ReadonlySet<string> = new Set(["ENETUNREACH", "ENETDOWN", "ENODEV", "ENXIO"]);

/** Number of packets that the system refused for lack of a network. */
export function noNetwork(errors: Iterable<readonly [code: string, times: number]>): number {
  let sum = 0;
  for (const [code, times] of errors) if (NO_NETWORK.has(code)) sum += times;
  return sum;
}

/** Number of SYN packets that wait for a reply; `undefined`: a socket does not know. */
export function pendingOf(sockets: readonly Pick<PortSocket, "pending">[]): number | undefined {
  let sum = 0;
  for (const { pending } of sockets) {
    if (pending === undefined) return undefined;
    sum += pending;
  }
  return sum;
}

/** Called when an error first occurs. */
export type SendErrorListener = (code: string, kind: SendErrorKind) => void;

/** Adds up the counters of all sockets, and reports each error code once. */
export class SocketCounts {
  /** Error counters. Several sockets may share one object, which is counted once. */
  readonly #errors: readonly SocketErrors[];
  readonly #reported = new Set<string>();
  /**
   * Number of received datagrams that the system dropped in an earlier run of the scan.
   */
  readonly #dropped: number;
  /** Number of connections that the system had refused before. */
  readonly #unrouted: number;
  #cancel = () => {};

  /**
   * Creates the sum of the counters of sockets.
   *
   * @param ports The sockets that send SYN packets. Default: none.
   */
  constructor(
    private readonly options: Pick<ScanSetup, "io" | "hooks">,
    private readonly sockets: readonly ProbeSocket[],
    private readonly ports: readonly PortSocket[] = [],
  ) {
    const { state, threads = 0 } = options.io;
    state.threads = threads;
    state.receiveBuffer = sockets.reduce((sum, one) => sum + one.receiveBuffer, 0);
    this.#errors = [...new Set([...sockets, ...ports].map(({ errors }) => errors))];
    this.#dropped = state.dropped;
    this.#unrouted = noNetwork(options.io.dialer.errors);
  }

  /** Starts updates at regular intervals. */
  start(): void {
    this.#cancel = this.options.io.clock.after(EVERY_MS, () => {
      this.update();
      this.start();
    });
  }

  /** Updates the state once. */
  update(): void {
    const { state } = this.options.io;
    const all = [...this.sockets, ...this.ports];
    state.dropped = all.reduce((sum, { dropped }) => sum + dropped, this.#dropped);
    state.tcp.unrouted = noNetwork(this.options.io.dialer.errors) - this.#unrouted;
    state.tcp.pending = pendingOf(this.ports) ?? 0;
    state.errors = this.#sum("refused", ({ send }) => send);
    state.waits = this.#sum("waits", ({ waits }) => waits);
  }

  /** Updates the state for the last time, and stops the updates. */
  end(): void {
    this.#cancel();
    this.update();
  }

  #sum(
    kind: "refused" | "waits",
    of: (errors: SocketErrors) => Map<string, number>,
  ): Record<string, number> {
    const sums: Record<string, number> = {};
    for (const errors of this.#errors) {
      for (const [code, times] of of(errors)) sums[code] = (sums[code] ?? 0) + times;
    }
    for (const code of Object.keys(sums)) {
      if (this.#reported.has(`${kind} ${code}`)) continue;
      this.#reported.add(`${kind} ${code}`);
      this.options.hooks?.onTrouble?.(code, kind);
    }
    return sums;
  }
}
