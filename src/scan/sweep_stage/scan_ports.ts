/**
 * The sockets of a scan that send SYN packets, and the receiver of the replies.
 *
 * @module
 */
import { type Endpoint, family } from "../../core/address.ts";
import {
  DialedPorts,
  type PortSocket,
  type PortSocketOptions,
  type ReceiverCapacity,
  SWEEP_WAIT_MS,
} from "../../net/mod.ts";
import { type FoundPorts, PortReceiver, type ProbeWindow, ReplyWait } from "../../sweep/mod.ts";
import { familiesOf, type Targets } from "../../targets/compose.ts";
import type { PortQueries } from "../inspect_stage/port_queries.ts";
import type { PassPlan } from "../plan/pass_plan.ts";
import type { ScanSetup } from "../setup/scan_setup.ts";
import type { ScanTables } from "../tables/scan_tables.ts";
import type { LossAndRate } from "../tables/loss_and_rate.ts";

/** The parts of the scan that get the replies. */
export interface PortReplyDependencies {
  readonly foundPorts: FoundPorts;
  readonly queries: PortQueries;
  readonly lossAndRate: LossAndRate;
  readonly window: ProbeWindow;
}

/** The sockets of a scan over TCP; none if it has no protocol over TCP. */
export class ScanPorts implements AsyncDisposable {
  readonly sockets: readonly PortSocket[];
  readonly #options: ScanSetup;
  readonly #plan: PassPlan;
  readonly #tables: ScanTables;
  readonly #wait: ReplyWait;
  #isOver = false;

  /** Opens the sockets. */
  constructor(options: ScanSetup, plan: PassPlan, tables: ScanTables) {
    this.#options = options;
    this.#plan = plan;
    this.#tables = tables;
    const { targets: { addresses }, limits, io } = options;
    const wait = this.#wait = new ReplyWait(Math.min(SWEEP_WAIT_MS, limits.portWaitMs ?? Infinity));
    const { pendingProbes = limits.connections } = limits;
    const { clock, gate, dialer, openPorts } = io;
    const { shortage } = tables;
    const families = plan.tcpKinds.length === 0 ? [] : familiesOf(addresses);
    this.sockets = families.flatMap((bits) => {
      const atOnce = Math.max(1, Math.ceil(pendingProbes * shareOf(bits, addresses)));
      const shared: PortSocketOptions = { clock, wait, atOnce, gate, shortage };
      return openPorts?.(bits, shared) ?? new DialedPorts(bits, dialer, shared);
    });
  }

  /** Makes the receiver of the replies. */
  receiver({ foundPorts, queries, lossAndRate, window }: PortReplyDependencies): PortReceiver {
    const { io: { clock, state } } = this.#options;
    const { tokens, probed, optedOut } = this.#tables;
    return new PortReceiver({
      kinds: this.#plan.tcpKinds,
      tokens,
      targets: probed,
      optedOut,
      foundPorts,
      clock,
      counts: state.tcp.counts,
      canaries: lossAndRate.portCanaries,
      window,
      onRoundTrip: this.#wait.add,
      onOpen: (port, sentAt) => {
        if (sentAt !== undefined) lossAndRate.portPasses.add(port.protocol, sentAt);
        queries.add(port);
      },
    });
  }

  /**
   * Passes replies to a receiver.
   *
   * @param capacity Whether replies may be read.
   * @returns Resolves when all sockets are closed; rejects when one fails.
   */
  async listen(receiver: PortReceiver, capacity: ReceiverCapacity): Promise<void> {
    await Promise.all(this.sockets.map((socket) =>
      socket.listen((reply, from) => {
        if (this.#isOver) reply.stream?.[Symbol.dispose]();
        else return receiver.receive(reply, from);
      }, capacity)
    ));
  }

  /** Whether a socket knows that a probe of an endpoint waits for a reply. */
  isPending(endpoint: Endpoint): boolean {
    return this.sockets.some((socket) => socket.hasPending?.(endpoint));
  }

  /** Resolves when every reply that has arrived so far was delivered. */
  async drained(): Promise<void> {
    await Promise.all(this.sockets.map((socket) => socket.drained()));
  }

  /** Ends the reception: connections that open later are closed. */
  end(): void {
    this.#isOver = true;
  }

  /** Closes the sockets. */
  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.sockets.map((socket) => socket[Symbol.asyncDispose]()));
  }
}

/** The share of the targets that are in a family, 0 to 1. */
function shareOf(bits: 4 | 6, { groups, size }: Targets): number {
  const of = groups.filter(({ addresses: [{ start }] }) => family(start) === bits)
    .flatMap(({ addresses }) => [...addresses])
    .reduce((sum, { start, end }) => sum + Number(end) - Number(start), 0);
  return Math.min(1, of / Number(size));
}
