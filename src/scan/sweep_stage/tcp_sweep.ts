/**
 * The half of a scan that goes over TCP: passes of connections beside those of the probes. What
 * opens is asked on that very connection.
 *
 * @module
 */
import { type Endpoint, family } from "../../core/address.ts";
import { EndpointSet } from "../../core/endpoint_set.ts";
import { queryWithRetries } from "../../inspect/retry.ts";
import type { Shortage } from "../../net/file_descriptors.ts";
import { ConnectionSlots } from "../../net/connection_slots.ts";
import type { Link, Stream } from "../../net/socket.ts";
import { dial, STREAM_LIMITS, StreamLink, type StreamLinkOptions } from "../../net/stream_link.ts";
import type { Throttle } from "../../net/throttle.ts";
import type { Protocol } from "../../protocols/protocol.ts";
import type { Outcome, Sighting } from "../../core/record.ts";
import type { Mark } from "../../sweep/trail.ts";
import {
  type ConnectionPass,
  connectionSpace,
  runConnectionPasses,
} from "../../sweep/connection_passes.ts";
import { segmentsOf } from "../../targets/compose.ts";
import { requestedNameOf } from "../requested_names.ts";
import type { ScanOptions } from "../scan_options.ts";
import type { EarlyStop } from "../early_stop.ts";

/** Connections to one address at once: a client opens one, and a fallback or a follow-up another. */
const MOST_OF_HOST = 4;

/** What the other half of the scan offers. */
export interface TcpSweepParts {
  /** When connections may be opened and questions leave. */
  readonly throttle: Throttle;
  /** Ends it early. */
  readonly stop: EarlyStop;
  /** What is known of a shortage of descriptors. */
  readonly shortage: Shortage;
  /** 32 bits that nobody can guess. */
  readonly seed: number;
  /** 63 bits that nobody can guess. */
  readonly nonce: () => bigint;
  /** Targets that are left out. */
  readonly skip: (target: Endpoint, protocol: string) => boolean;
  /** Whether too many wait for their inspection. */
  readonly backlogged: () => boolean;
  /** Gets each server that answered, with its status. */
  readonly onSighting: (sighting: Sighting) => void;
  /** Told when numbers changed. */
  readonly onProgress: () => void;
}

/** Connects, asks, and counts. */
export class TcpSweep {
  readonly #options: ScanOptions;
  readonly #around: TcpSweepParts;
  readonly #slots: ConnectionSlots;
  readonly #protocols: readonly Protocol[];
  readonly #link: StreamLinkOptions;
  /** Open endpoints that speak something else, or do not speak: once is enough. */
  readonly #others: EndpointSet;
  #stand: () => Mark = () => this.from;
  /** Targets that no descriptor could be had for yet, and where the sweep stood at the first. */
  readonly #unprobed: EndpointSet;
  #held: Mark | undefined;

  /** Plans nothing yet. */
  constructor(options: ScanOptions, around: TcpSweepParts) {
    this.#options = options;
    this.#around = around;
    this.#others = new EndpointSet(around.seed);
    this.#unprobed = new EndpointSet(around.seed);
    this.#slots = new ConnectionSlots(options.limits.connections, MOST_OF_HOST);
    this.#protocols = options.targets.protocols.filter(({ transport }) => transport === "tcp");
    this.#link = {
      dialer: options.io.dialer,
      throttle: around.throttle,
      clock: options.io.clock,
      limits: options.limits.streamLimits ?? STREAM_LIMITS,
      signal: around.stop.hard,
      onShortage: () => this.#slots.reduceLimit(), // fewer connections are made from now on
      shortage: around.shortage,
    };
  }

  /** Where it starts. */
  get from(): Mark {
    return this.#options.order.from.tcp;
  }

  /** Where it stands: everything before it was visited to its end, and in some pass probed. */
  get mark(): Mark {
    return this.#held ?? this.#stand();
  }

  /** Runs the passes; returns where they stand. */
  async run(gapMs: number): Promise<Mark> {
    const { io: { clock, state }, order } = this.#options;
    const { throttle, stop, skip, backlogged, onProgress } = this.#around;
    const passes = this.#plan();
    const end = await runConnectionPasses({
      passes,
      order,
      from: this.from,
      clock,
      gapMs,
      slots: this.#slots,
      throttle,
      signal: stop.soft,
      skip: (target, protocol) => skip(target, protocol) || this.#others.has(target),
      backlogged,
      visit: (protocol, target) => this.#visit(this.#named(protocol), target),
      onTour: (stand) => this.#stand = stand,
      onPass: (pass, size) => {
        if (size > 0) state.firstProbeAt ??= clock.wall();
        state.tcp.pass = pass;
        state.tcp.size = size;
        state.tcp.position = pass === this.from.pass ? this.from.position : 0;
        this.#options.hooks?.onPass?.("tcp");
      },
      onProgress: (visited, sent) => {
        state.tcp.position += visited;
        state.visited += visited;
        state.tcp.sent += sent;
        onProgress();
      },
    });
    return this.#held ?? end;
  }

  #named(name: string): Protocol {
    return this.#protocols.find((protocol) => protocol.name === name)!;
  }

  #plan(): ConnectionPass[] {
    const { targets: { addresses, ports }, order, limits: { retries }, io: { state } } =
      this.#options;
    const passes = this.#protocols.flatMap(({ name }) => {
      const segments = segmentsOf(addresses, (bits) => ports(name, bits));
      return Array.from({ length: retries + 1 }, () => ({ protocol: name, segments }));
    });
    const sizes = passes.map((pass, i) => connectionSpace(pass, i + 1, order).size);
    state.tcp.passes = passes.length;
    state.total += sizes.reduce((sum, size) => sum + size, 0);
    const behind = sizes.slice(0, this.from.pass - 1).reduce((sum, size) => sum + size, 0);
    state.visited += behind + this.from.position;
    if (this.from.pass > passes.length) {
      const size = sizes.at(-1) ?? 0;
      Object.assign(state.tcp, { pass: passes.length, size, position: size });
    }
    return passes;
  }

  /** Connects to a target and asks it; false when it was cut off. */
  async #visit(protocol: Protocol, target: Endpoint): Promise<boolean> {
    const { counts } = this.#options.io.state.tcp;
    const stream = await dial(target, this.#link);
    if (stream === "cancelled") return false;
    this.#note(target, stream !== "exhausted");
    if (typeof stream === "string") {
      counts[stream === "exhausted" ? "failed" : stream]++;
      return true;
    }
    counts.open++;
    const outcome = await this.#ask(protocol, target, stream);
    this.#judge(protocol, target, outcome);
    return outcome.kind !== "cancelled";
  }

  /** Notes whether a target was probed: the mark stays before those that never were. */
  #note(target: Endpoint, probed: boolean): void {
    if (probed) this.#unprobed.delete(target);
    else this.#unprobed.add(target);
    this.#held = this.#unprobed.size === 0 ? undefined : this.#held ?? this.#stand();
    this.#options.io.state.tcp.unprobed = this.#unprobed.size;
  }

  #ask(protocol: Protocol, target: Endpoint, stream: Stream): Promise<Outcome<unknown>> {
    const { clock } = this.#options.io;
    return queryWithRetries(protocol, {
      endpoint: target,
      link: () => new StreamLink(target, this.#link, stream),
      exclusive: true,
      requestedAs: requestedNameOf(this.#options.targets, target),
      statusOnly: true,
      timeoutMs: Infinity, // the link bounds it
      leavesMute: true,
    }, { retries: 0, clock, signal: this.#link.signal, nonce: this.#around.nonce });
  }

  #judge(protocol: Protocol, target: Endpoint, outcome: Outcome<unknown>): void {
    const { clock, state: { tcp: { counts } } } = this.#options.io;
    switch (outcome.kind) {
      case "answered":
        counts.valid++;
        this.#around.onSighting({
          endpoint: target,
          protocol: protocol.name,
          status: outcome.status,
          raw: outcome.raw,
          latencyMs: outcome.latencyMs,
          verified: true,
          at: clock.now(),
          socket: -1,
        });
        break;
      case "malformed":
        counts.invalid++;
        this.#others.add(target);
        break;
      case "silent":
        counts.unresponsive++;
        // TCP repeats what is lost: who said nothing in all that time will not the next time.
        if (outcome.why === "slow") this.#others.add(target);
    }
  }

  /**
   * A conversation with a server that has answered in another protocol.
   *
   * @param followUpMs How long the connection may take to open where nothing makes us expect that the
   * server listens on TCP too; `undefined`: as usual.
   */
  async link(peer: Endpoint, protocol: string, followUpMs: number | undefined): Promise<Link> {
    const { ports } = this.#options.targets;
    const { limits } = this.#link;
    const expected = ports(protocol, family(peer.address)).includes(peer.port);
    const connectMs = expected ? limits.connectMs : followUpMs ?? limits.connectMs;
    const onClose = await this.#slots.acquire(peer.address);
    return new StreamLink(peer, { ...this.#link, limits: { ...limits, connectMs }, onClose });
  }
}
