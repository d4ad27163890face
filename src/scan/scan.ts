/**
 * A scan: sweep, inspect, write.
 *
 * @module
 */
import { type Address, type Endpoint, isLoopback } from "../core/address.ts";
import type { Endpoints } from "../core/endpoints.ts";
import { isShortage, Shortage } from "../net/file_descriptors.ts";
import { Demultiplexer } from "../net/demultiplexer.ts";
import { Throttle } from "../net/throttle.ts";
import { FloodingHosts } from "../sweep/flooding_hosts.ts";
import { type ProbeKind, Receiver } from "../sweep/receiver.ts";
import { Responders } from "../sweep/responders.ts";
import { planPasses, spaceOf, sweep } from "../sweep/sweep.ts";
import { Trail } from "../sweep/trail.ts";
import { Tokens } from "../sweep/token.ts";
import { ProbeWindow } from "../sweep/probe_window.ts";
import { familiesOf, segmentsOf } from "../targets/compose.ts";
import {
  echolessOf,
  kindsOf,
  seedOf,
  SuppressionPasses,
} from "./sweep_stage/suppression_passes.ts";
import { InspectStage } from "./inspect_stage/inspect_sightings.ts";
import { KnownServerInterviews } from "./inspect_stage/known_servers.ts";
import { LowWaterMark } from "./checkpoint/low_water_mark.ts";
import { OptedOutAddresses } from "./inspect_stage/opted_out_addresses.ts";
import type { ScanEnd, ScanOptions } from "./scan_options.ts";
import { LossAndRate } from "./sweep_stage/loss_and_rate.ts";
import { ProbedEndpoints } from "./sweep_stage/probed_endpoints.ts";
import { RecordQueue } from "./record_queue.ts";
import { sweepDisturbed } from "./sweep_stage/repeat_disturbed.ts";
import { eachSecond } from "./checkpoint/save_timer.ts";
import { EarlyStop, endReason } from "./early_stop.ts";
import { TcpSweep } from "./sweep_stage/tcp_sweep.ts";
import { SendErrors } from "./sweep_stage/send_errors.ts";

/** How often the sweep has the system asked for what it counts, milliseconds. */
const COUNT_MS = 20;

/** Runs a scan. */
export async function scan(options: ScanOptions): Promise<ScanEnd> {
  const { targets, order, limits, hooks = {}, io: { clock, state, checkpoint } } = options;
  const { checkOutputs = () => Promise.resolve() } = hooks;
  const stop = new EarlyStop(options.signal, clock, limits.maxRuntimeMs, options.abandon);
  if (state.written >= (limits.maxResults ?? Infinity)) stop.stop("max-results"); // by an earlier part
  const throttle = new Throttle(limits.rates, limits.capLoopback ? undefined : isLoopback);
  const sockets = familiesOf(targets.addresses).flatMap((bits) => options.io.openSockets(bits));
  await using board = new Demultiplexer(sockets, throttle, clock);
  const rows = new RecordQueue(options.io.sinks, clock, {
    onAccepted: async (records) => await checkpoint?.accepted(records),
    onFailure: (error) => stop.fail(error),
  }, state.written);
  const run = new ScanRun(options, board, throttle, rows, stop);
  stop.hard.addEventListener("abort", () => board.cancel(), { once: true });
  let over = false;
  board.listen(
    (datagram, from, socket) => {
      if (!over) run.receiver.receive(datagram, from, socket);
    },
    () => rows.room,
    (from) => run.floods.surplus(from),
  ).catch((error) => stop.fail(error));
  const sweepOptions = run.sweepOptions();
  const trail = new Trail(order.from.udp, clock.now(), limits.cooldownMs);
  const saved = eachSecond(clock, hooks.onClockJump, async () => {
    const marks = run.lowWater.note({ udp: trail.settled(clock.now()), tcp: run.tcp.mark });
    run.count();
    await stop.guard(checkOutputs, undefined);
    if (stop.error === undefined) await checkpoint?.save(marks, state);
  });
  let isCut = false;
  const probes = async () => {
    const sweeping = {
      ...sweepOptions,
      ...{ sockets, throttle, clock, order, state },
      ...{ from: order.from.udp, cooldownMs: limits.cooldownMs, retries: limits.retries },
      ...{ threads: options.io.threads, signal: stop.soft, hurried: () => stop.hurried },
    };
    await run.guard.look(
      (looking) => sweep({ ...sweeping, ...looking }),
      (pass, size) => run.begin(0, size, 0, (pass - 1) % (limits.retries + 1) === 0),
    );
    try {
      const mark = await sweep({ ...sweeping, trail });
      if (!stop.soft.aborted) run.floods.end();
      isCut = await sweepDisturbed(sweeping, run.floods);
      return mark;
    } finally {
      run.path.end();
    }
  };
  const [udp, tcp] = await Promise.all([
    sweepOptions.passes.length === 0 ? order.from.udp : stop.guard(probes, order.from.udp),
    stop.guard(() => run.tcp.run(run.guard.gapMs), run.tcp.from),
    stop.guard(() => run.known.interview(run.inspections, stop.soft), undefined),
  ]);
  await board.drained();
  over = true; // what arrives from now on was not waited for
  await run.inspections.idle();
  await rows.idle();
  stop.end();
  await saved();
  await stop.guard(checkOutputs, undefined);
  run.count();
  const { error } = stop;
  const marks = error === undefined ? run.lowWater.note({ udp, tcp }) : run.lowWater.marks;
  state.ended = endReason(stop.reason, marks, isCut || run.known.areLeft, state);
  return { reason: state.ended, marks, error };
}

/** The moving parts of one scan. */
class ScanRun {
  readonly inspections: InspectStage;
  readonly receiver: Receiver;
  readonly guard: SuppressionPasses;
  readonly tcp: TcpSweep;
  readonly lowWater: LowWaterMark;
  readonly path: LossAndRate;
  readonly known: KnownServerInterviews;
  readonly floods: FloodingHosts;
  readonly #responders: Responders;
  readonly #optedOut: OptedOutAddresses;
  readonly #tokens: Tokens;
  readonly #window: ProbeWindow;
  readonly #troubles: SendErrors;
  readonly #kinds: readonly ProbeKind[];
  #counted = -Infinity;
  /**
   * Whether the pass that runs is the first one of its protocol. In it hosts that flood are probed
   * too: the flood may be forged in their name.
   */
  #isFirst = true;
  /** Datagrams that found no room in an earlier part of the scan. */
  readonly #dropped: number;

  constructor(
    private readonly options: ScanOptions,
    private readonly board: Demultiplexer,
    throttle: Throttle,
    private readonly rows: RecordQueue,
    stop: EarlyStop,
  ) {
    const { targets, hooks = {}, io: { random, clock, state } } = options;
    state.threads = options.io.threads ?? 0;
    state.receiveBuffer = board.sockets.reduce((sum, one) => sum + one.receiveBuffer, 0);
    this.#tokens = new Tokens(options.io.key ?? random(8));
    const seed = seedOf(random);
    this.#responders = new Responders(seed);
    this.#optedOut = new OptedOutAddresses(targets.optedOut, seed);
    this.known = new KnownServerInterviews(options, seed);
    const probed = new ProbedEndpoints(options, (...one) => this.known.withholds(...one));
    const onFlood = (address: Address) => board.cancel(address);
    this.floods = new FloodingHosts(seed, state.floods, onFlood, probed.mostProbes);
    this.#window = new ProbeWindow(board.sockets);
    this.#troubles = new SendErrors(board.sockets, hooks.onTrouble ?? (() => {}));
    this.#kinds = kindsOf(targets.protocols, targets.allProtocols);
    this.guard = new SuppressionPasses(options);
    for (const endpoint of targets.answered) this.#responders.add(endpoint);
    this.path = new LossAndRate(options, {
      ...{ sockets: board.sockets, throttle, tokens: this.#tokens, kinds: this.#kinds },
      isLeftAlone: (address) => this.#optedOut.has(address) || this.floods.has(address),
      isAsked: (endpoint) => this.inspections.has(endpoint),
    });
    this.receiver = new Receiver({
      kinds: this.guard.kinds,
      tokens: this.#tokens,
      isTarget: (endpoint, protocol) =>
        probed.has(endpoint, protocol) && !this.#optedOut.has(endpoint.address),
      isTargetHost: (address) => probed.hasHost(address) && !this.#optedOut.has(address),
      ...{ responders: this.#responders, floods: this.floods },
      clock,
      counts: state.replies,
      onAgain: (kind, from, mac) => this.path.canaries.answered(kind, from, mac),
      onSpeaker: (protocol, endpoint, proven) => this.guard.note(protocol, endpoint, proven),
      onStray: this.guard.isActive
        ? (protocol, endpoint) => this.guard.noteStray(protocol, endpoint)
        : undefined,
      onSighting: (sighting) => {
        this.#window.answered(sighting.latencyMs, clock.now());
        this.inspections.sight(sighting);
      },
      onWaiting: (sighting) => {
        this.#window.answered(undefined, clock.now());
        this.inspections.wait(sighting);
      },
    });
    const shortage = new Shortage(clock, (known) => {
      const code = known ?? [...options.io.dialer.errors.keys()].find(isShortage) ?? "EMFILE";
      hooks.onTrouble?.(code, "short");
    });
    this.tcp = new TcpSweep(options, {
      ...{ throttle, stop, shortage, seed },
      nonce: () => this.#nonce(),
      skip: (target, protocol) => this.#skip(target) || this.known.withholds(target, protocol),
      backlogged: () => this.inspections.backlogged,
      onSighting: (sighting) => {
        if (this.#responders.add(sighting.endpoint)) this.inspections.sight(sighting);
        else state.replies.duplicate++;
      },
      onProgress: () => this.count(),
    });
    this.lowWater = new LowWaterMark(options.order.from);
    this.inspections = new InspectStage(options, {
      ...{ board, rows, stop, shortage, probed, known: this.known, guard: this.guard },
      lowWater: this.lowWater,
      ...{ responders: this.#responders, optedOut: this.#optedOut, floods: this.floods },
      streamLink: (peer, name, connectMs) => this.tcp.link(peer, name, connectMs),
      nonce: () => this.#nonce(),
      onServer: (sighting) => this.path.add(sighting),
    });
    this.#dropped = state.dropped;
  }

  #nonce(): bigint {
    return new DataView(this.options.io.random(8).buffer).getBigUint64(0) >> 1n;
  }

  #skip(target: Endpoint): boolean {
    return this.#responders.has(target) || this.#optedOut.has(target.address) ||
      this.inspections.has(target);
  }

  /** The same of a target in a row, for every probe. */
  #skipAt(targets: Endpoints, i: number): boolean {
    return this.#responders.hasAt(targets, i) || this.inspections.hasAt(targets, i) ||
      this.#optedOut.hasAt(targets, i) || !this.#isFirst && this.floods.hasAt(targets, i);
  }

  sweepOptions() {
    const { options } = this;
    const { targets: { addresses, protocols, ports }, order, limits, io: { state } } = options;
    const from = order.from.udp;
    const segments = new Map(protocols.map(({ name }) => [
      name,
      segmentsOf(addresses, (bits) => ports(name, bits)),
    ]));
    const passes = planPasses(this.#kinds, limits.retries, (name) => segments.get(name)!);
    state.passes = passes.length;
    const sizes = passes.map((pass, i) => spaceOf(pass, i + 1, order).size);
    state.total = sizes.reduce((sum, size) => sum + size, this.guard.positions);
    const echoless = echolessOf(this.#kinds);
    const behind = sizes.slice(0, from.pass - 1).reduce((sum, size) => sum + size, 0);
    state.visited = behind + from.position;
    if (from.pass > passes.length) this.#standBehind(sizes);
    return {
      passes,
      tokens: this.#tokens,
      window: this.#window,
      canaries: this.path.canaries,
      gapMs: this.guard.gapMs,
      skip: (targets: Endpoints, i: number, protocol: string) =>
        this.guard.suppressesAt(targets, i, protocol) || this.#skipAt(targets, i) ||
        this.known.withholdsAt(targets, i, protocol, this.guard.isLooking) ||
        echoless.has(protocol) && this.#responders.isQueuedAt(targets, i),
      isBusy: () => this.inspections.load > 0 || state.tcp.passes > 0,
      backlogged: () => this.inspections.backlogged || this.floods.pauses(options.io.clock.now()),
      onProgress: (
        { visited, sent, refused }: { visited: number; sent: number; refused: number },
      ) => {
        state.position += visited;
        state.visited += visited;
        state.sent += sent;
        state.refused += refused;
        this.path.look();
        this.count(COUNT_MS);
      },
      onPass: (pass: number, size: number) => {
        const { protocol } = passes[pass - 1].kind;
        const position = pass === from.pass ? from.position : 0;
        this.floods.begin(protocol, position > 0);
        this.guard.begin(protocol);
        const isFirst = passes.findIndex(({ kind }) => kind.protocol === protocol) === pass - 1;
        this.begin(pass, size, position, isFirst);
      },
    };
  }

  /** Notes that an earlier part of the scan has finished all passes. */
  #standBehind(sizes: readonly number[]): void {
    const size = sizes.at(-1) ?? 0;
    Object.assign(this.options.io.state, { pass: sizes.length, size, position: size });
  }

  /** Notes that a pass begins. */
  begin(pass: number, size: number, position: number, isFirst: boolean): void {
    this.#isFirst = isFirst;
    const { io: { state, clock }, hooks } = this.options;
    if (size > 0) state.firstProbeAt ??= clock.wall();
    Object.assign(state, { pass, size, position });
    hooks?.onPass?.("udp");
  }

  /** Brings the numbers up to date that others count, unless that was done just now. */
  count(everyMs = 0): void {
    const { options: { io: { state, clock } }, board } = this;
    if (clock.now() - this.#counted < everyMs) return;
    this.#counted = clock.now();
    state.dropped = board.sockets.reduce((sum, { dropped }) => sum + dropped, this.#dropped);
    this.#troubles.count(state);
    state.floods.disturbed = this.floods.disturbed;
    state.inspecting = this.inspections.load;
    state.written = this.rows.written;
    state.lost = this.rows.lost;
    state.lastRowAt = this.rows.lastAt ?? state.lastRowAt;
  }
}
