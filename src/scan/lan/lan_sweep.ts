/**
 * Finds dedicated servers on the local networks that reply over TCP: one sweep for each protocol.
 *
 * @module
 */
import type { Address, Endpoint } from "../../core/address.ts";
import { queryWithRetries } from "../../inspect/mod.ts";
import {
  ConnectionSlots,
  dial,
  HOST_RATE,
  type StreamLimits,
  StreamLink,
  type StreamLinkOptions,
  Throttle,
} from "../../net/mod.ts";
import {
  CONNECTION_ORDERS,
  type Pass,
  type PassOptions,
  type PassProgress,
  runPasses,
  spaceOf,
} from "../../sweep/mod.ts";
import { sleep } from "../../net/clock.ts";
import type { Protocol } from "../../protocols/protocol.ts";
import type { Sighting } from "../../core/record.ts";
import { ConnectionVisitor } from "./connection_passes.ts";
import { sumOf } from "../plan/pass_plan.ts";
import { RangeSet } from "../../targets/ranges.ts";
import type { AddressSignals } from "../tables/address_signals.ts";
import {
  broadcastOf,
  type DiscoverySetup,
  type LanSweepOptions,
  type LocalNetwork,
} from "./discovery_setup.ts";

/** Maximum number of concurrent connections. */
const MAX_PENDING = 128;
/** Rate limit of a /24, packets per second. */
const NET_RATE = 200;
/**
 * Limits of connections. A local host replies in milliseconds, but the system resends a lost SYN
 * packet only after a second.
 */
const LIMITS: StreamLimits = {
  connectMs: 1500,
  firstByteMs: 3000,
  totalMs: 5000,
  maxBytes: 2 * 1024 * 1024,
};

/** Sweeps the networks once, and later queries the servers that the sweep found. */
export class LanSweep {
  /** Number of connections that were not made within the time limit. */
  unswept = 0;
  /** Number of connections for which no file descriptor was free. */
  short = 0;
  readonly #slots = new ConnectionSlots(MAX_PENDING, 1);
  readonly #link: StreamLinkOptions;

  /**
   * @param protocols The protocols to sweep, over TCP.
   * @param optOuts The addresses that opted out, and the signals that cancel exchanges with them.
   * @param onSighting Called for each server that replied.
   */
  constructor(
    private readonly options: DiscoverySetup,
    private readonly sweepOptions: LanSweepOptions,
    private readonly protocols: readonly Protocol[],
    private readonly optOuts: {
      readonly signals: AddressSignals;
      isOptedOut(address: Address): boolean;
    },
    private readonly onSighting: (sighting: Omit<Sighting, "socket">) => void,
  ) {
    const { clock, signal } = options;
    const throttle = new Throttle({ rate: undefined, netRate: NET_RATE, hostRate: HOST_RATE });
    this.#link = {
      dialer: sweepOptions.dialer,
      throttle,
      clock,
      limits: LIMITS,
      signal,
      shortage: options.shortage,
      // from now on, fewer connections are open at once
      onShortage: () => this.#slots.reduceLimit(),
    };
  }

  /** Connects to every address of the networks once per port, until the time limit `maxMs`. */
  async run(): Promise<void> {
    const { clock, signal } = this.options;
    const { maxMs, seed } = this.sweepOptions;
    const late = new AbortController();
    const cancel = clock.after(maxMs, () => late.abort());
    const ending = AbortSignal.any([signal, late.signal]);
    const progress: PassProgress = {
      begin: () => {},
      note: (visited) => void (this.unswept -= visited),
    };
    const passes = this.#passes();
    this.unswept = sumOf(passes.map((pass) => spaceOf(pass, { seed }).size));
    const shared = { clock, signal: ending, progress };
    const passing = { order: { seed }, from: { pass: 1, position: 0 }, gapMs: 0 };
    try {
      await runPasses({ passes, ...passing, ...shared }, this.#visitor(shared));
    } finally {
      cancel();
    }
  }

  /** The passes over all host addresses of the networks, one for each protocol. */
  #passes(): Pass[] {
    const addresses = RangeSet.of<Address>(this.sweepOptions.networks.map((network) => ({
      start: firstOf(network) + 1,
      end: broadcastOf(network)!,
    })));
    return this.protocols.map(({ name, ports }, i) => ({
      protocol: name,
      segments: [{ addresses, ports: ports[4] }],
      number: CONNECTION_ORDERS + 1 + i,
    }));
  }

  #visitor(shared: Pick<PassOptions, "clock" | "signal" | "progress">): ConnectionVisitor {
    const { networks } = this.sweepOptions;
    const edges = new Set(networks.flatMap((network) => [firstOf(network), broadcastOf(network)!]));
    return new ConnectionVisitor({
      ...shared,
      slots: this.#slots,
      throttle: this.#link.throttle,
      skip: ({ address }) => edges.has(Number(address)) || this.optOuts.isOptedOut(address),
      backlogged: () => false,
      visit: async (protocol, target) => {
        const end = await this.#visit(this.#named(protocol), target, shared.signal);
        if (end === "exhausted") this.short++;
        if (end !== "cancelled" || this.optOuts.isOptedOut(target.address)) return true;
        this.unswept++;
        return false;
      },
    });
  }

  #named(name: string): Protocol {
    return this.protocols.find((protocol) => protocol.name === name)!;
  }

  /** Queries again a server that the sweep has found, in its protocol. */
  async refresh(protocol: string, target: Endpoint): Promise<void> {
    const release = await this.#slots.acquire(target.address);
    try {
      const { throttle, clock, signal } = this.#link;
      const now = clock.now();
      const dueAt = throttle.reserve(target.address, now);
      await sleep(clock, dueAt - now, signal);
      throttle.sent(target.address, dueAt, clock.now());
      if (signal.aborted || this.optOuts.isOptedOut(target.address)) return;
      await this.#visit(this.#named(protocol), target, signal);
    } finally {
      release();
    }
  }

  /**
   * Connects to an address and queries the server there.
   *
   * @param ending Cancels the wait for the connection.
   * @returns `done` after a connection or a failure to connect, `exhausted` if no descriptor was free.
   */
  #visit(
    protocol: Protocol,
    target: Endpoint,
    ending: AbortSignal,
  ): Promise<"done" | "cancelled" | "exhausted"> {
    return this.optOuts.signals.run(
      target.address,
      (signal) => this.#query(protocol, target, signal, AbortSignal.any([signal, ending])),
    );
  }

  async #query(
    protocol: Protocol,
    target: Endpoint,
    signal: AbortSignal,
    ending: AbortSignal,
  ): Promise<"done" | "cancelled" | "exhausted"> {
    const { options } = this;
    const stream = await dial(target, { ...this.#link, signal: ending });
    const isStarted = !["unreachable", "exhausted", "cancelled"].includes(stream as string);
    if (isStarted) options.counts.sent++;
    if (stream === "cancelled" || stream === "exhausted") return stream;
    if (typeof stream === "string") return "done";
    const outcome = await queryWithRetries(protocol, {
      endpoint: target,
      open: () => Promise.resolve(new StreamLink(target, { ...this.#link, signal }, stream)),
      exclusive: true,
      statusOnly: true,
      timeoutMs: Infinity, // the link has its own time limits
      stopsWithoutFirstReply: true,
    }, { ...options, signal, retries: 0 });
    if (outcome.kind !== "replied" || protocol.isWeak?.(outcome.status)) return "done";
    const { status, raw, latencyMs } = outcome;
    this.onSighting({
      endpoint: target,
      protocol: protocol.name,
      status,
      raw,
      latencyMs,
      verified: true,
      at: options.clock.now(),
    });
    return "done";
  }
}

/** The first address of a network, which is the address of the network itself. */
function firstOf({ address, netmask }: LocalNetwork): number {
  return (address & netmask) >>> 0;
}
