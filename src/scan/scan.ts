/**
 * A scan: stages that are joined by queues. A full queue slows down the stages before it.
 *
 *     passes ──> sweep ──> sightings ──> interviews ──> rows ──> outputs
 *
 * The plan and the tables are created first and passed to the stages. A stage passes work to the next
 * stage only through a queue. The queue of rows is a part of {@linkcode WriteStage}.
 *
 * @module
 */
import { isLoopback } from "../core/address.ts";
import { Demultiplexer, Throttle } from "../net/mod.ts";
import {
  FoundPorts,
  type PortReceiver,
  ProbeWindow,
  type ReceiverOptions,
  ReplyReceiver,
} from "../sweep/mod.ts";
import { PROTOCOLS } from "../protocols/list.ts";
import { familiesOf } from "../targets/compose.ts";
import type { AdaptiveSweep } from "./adaptive/adaptive_sweep.ts";
import { type Marks, START } from "./setup/low_water_mark.ts";
import { eachSecond } from "./checkpoint/save_timer.ts";
import { EarlyStop, endReason } from "./tables/early_stop.ts";
import { Aliases } from "./rows/aliases.ts";
import { InspectStage } from "./inspect_stage/inspect_stage.ts";
import { KnownServerStage } from "./inspect_stage/known_server_stage.ts";
import { PortQueries } from "./inspect_stage/port_queries.ts";
import { SightingAdmission } from "./inspect_stage/sighting_admission.ts";
import { SightingQueue } from "./inspect_stage/sighting_queue.ts";
import { OptOutRecorder } from "./tables/opt_out_recorder.ts";
import { countPositions, type PassPlan, planScanPasses } from "./plan/pass_plan.ts";
import { seedOf } from "./setup/random_numbers.ts";
import { RowMaker } from "./rows/row_maker.ts";
import { ThreadStart } from "./rows/thread_start.ts";
import { ScanConnections } from "./tables/scan_connections.ts";
import type { GivenSetup, ScanEnd, ScanLimits, ScanSetup } from "./setup/scan_setup.ts";
import { refusedTransports } from "./setup/scan_state.ts";
import { makeTables, type ScanTables } from "./tables/scan_tables.ts";
import { LossAndRate } from "./tables/loss_and_rate.ts";
import { ScanPorts } from "./sweep_stage/scan_ports.ts";
import { SkippedTargets } from "./sweep_stage/skipped_targets.ts";
import { SocketCounts } from "./tables/socket_counts.ts";
import { TcpSweep } from "./sweep_stage/tcp_sweep.ts";
import { UdpSweep } from "./sweep_stage/udp_sweep.ts";
import { WriteStage } from "./rows/write_stage.ts";

/** Runs a scan to its end: passes, interviews, rows. */
export async function runSetup(given: GivenSetup): Promise<ScanEnd> {
  const { allProtocols = PROTOCOLS } = given.targets;
  const options: ScanSetup = { ...given, targets: { ...given.targets, allProtocols } };
  const { targets, limits, hooks, io } = options;
  const { state } = io;
  const stop = new EarlyStop(options.signal, io.clock, limits.maxRuntimeMs, options.abandon);
  // an earlier run of the scan wrote enough rows
  if (state.written >= (limits.maxResults ?? Infinity)) stop.stop("max-results");
  const throttle = io.throttle ?? throttleOf(limits);
  const sockets = familiesOf(targets.addresses).flatMap((bits) => io.openSockets(bits));
  await using demultiplexer = new Demultiplexer(sockets, throttle, io.clock);
  stop.interviewSignal.addEventListener("abort", () => demultiplexer.cancel(), { once: true });
  const plan = planScanPasses(options);
  countPositions(plan, options);
  const tables = makeTables(options, demultiplexer, stop);
  await using ports = new ScanPorts(options, plan, tables);
  const adaptive = options.adaptive && await import("./adaptive/adaptive_sweep.ts");
  const stages = makeStages(options, plan, tables, { demultiplexer, ports, throttle, adaptive });
  using _write = stages.write;
  const { optedOut, signals, uninspected } = tables;
  hooks?.onStart?.({
    optOut: (address) => stages.optOuts.recordFromOutside(address),
    optOutRanges: (ranges) =>
      optedOut.addRanges(ranges, [...signals.addresses, ...uninspected.addresses]),
  });
  const running = runStages(tables, stages, demultiplexer, ports);
  const endSaving = saveEachSecond(options, tables, stages);
  const marks = marksAtEnd(await running, options);
  stop.end();
  await endSaving();
  await stop.guard(async () => await hooks?.checkOutputs?.(), undefined);
  stages.socketCounts.end();
  const end = stop.error === undefined ? tables.lowWater.note(marks) : tables.lowWater.marks;
  state.ended = endReason(stop.reason, end, stages.udp.isCut || stages.known.hasUnfinished, state);
  return { reason: state.ended, marks: end, error: stop.error };
}

/** The throttle of scans with given limits, which they may share. */
export function throttleOf(
  { rates, capLoopback }: Pick<ScanLimits, "rates" | "capLoopback">,
): Throttle {
  return new Throttle(rates, capLoopback ? undefined : isLoopback);
}

/**
 * The marks of a scan after its passes. If the system refused every probe or connection over a
 * transport, its mark is the start, and a resumed scan probes all targets again.
 */
function marksAtEnd(marks: Marks, { order: { from }, io: { state } }: ScanSetup): Marks {
  const refused = refusedTransports(state);
  const markOf = (transport: "udp" | "tcp") =>
    (refused.includes(transport) ? from : marks)[transport];
  return { udp: markOf("udp"), tcp: markOf("tcp") };
}

interface Stages {
  readonly receiver: ReplyReceiver;
  readonly portReceiver: PortReceiver;
  readonly queries: PortQueries;
  readonly sightings: SightingQueue;
  readonly optOuts: OptOutRecorder;
  readonly udp: UdpSweep;
  readonly tcp: TcpSweep;
  /** Plans and runs the passes of `udp` and `tcp`, if the scan is adaptive. */
  readonly adaptive: AdaptiveSweep | undefined;
  readonly known: KnownServerStage;
  readonly inspect: InspectStage;
  readonly write: WriteStage;
  readonly socketCounts: SocketCounts;
}

/** Creates the queues and the stages. */
function makeStages(
  options: ScanSetup,
  plan: PassPlan,
  tables: ScanTables,
  { demultiplexer, ports, throttle, adaptive: code }: {
    readonly demultiplexer: Demultiplexer;
    readonly ports: ScanPorts;
    readonly throttle: Throttle;
    readonly adaptive: typeof import("./adaptive/adaptive_sweep.ts") | undefined;
  },
): Stages {
  const { io } = options;
  const { sockets } = demultiplexer;
  const write = makeWriteStage(options, tables);
  const optOuts = new OptOutRecorder(options, tables);
  const sightings = new SightingQueue(tables, write, io.state);
  const { adaptive } = options;
  const found = adaptive && code &&
    new code.DiscoveredServers(adaptive.protocols, adaptive.earlier, tables.filter);
  const admission = new SightingAdmission(sightings, tables, io.state, optOuts, found);
  const window = new ProbeWindow(sockets);
  const lossAndRate = new LossAndRate(options, tables, {
    sockets: [...sockets, ...ports.sockets],
    throttle,
    kinds: [...plan.kinds, ...plan.tcpKinds],
  });
  const skipped = new SkippedTargets(tables, plan.kinds, found);
  const connections = new ScanConnections(options, tables, throttle);
  const probing = { sockets, throttle, window, skipped, sightings, lossAndRate };
  const seed = seedOf(io.random);
  const foundPorts = new FoundPorts(
    plan.tcpKinds.map(({ protocol }) => protocol),
    seed,
    tables.filter,
  );
  const queries = new PortQueries(options, tables, {
    ...{ connections, foundPorts, admission, optOuts },
    isPending: (peer) => ports.isPending(peer),
  });
  const connecting = {
    sockets: ports.sockets,
    throttle,
    window: new ProbeWindow(ports.sockets),
    skipped: new SkippedTargets(tables, [], found),
    ...{ foundPorts, queries, sightings, lossAndRate },
  };
  const rows = write;
  const interviewing = { demultiplexer, connections, queries, sightings, optOuts };
  const inspect = new InspectStage(options, tables, { ...interviewing, rows, lossAndRate, found });
  tables.network.lastTo = (address) => throttle.lastTo(address);
  tables.network.query = (witness) => inspect.query(witness);
  const udp = new UdpSweep(options, plan, tables, probing);
  const tcp = new TcpSweep(options, plan, tables, connecting);
  return {
    receiver: makeReceiver(options, plan, tables, {
      canaries: lossAndRate.canaries,
      window,
      sightings: admission,
      optOuts,
    }),
    portReceiver: ports.receiver({ foundPorts, queries, lossAndRate, window: connecting.window }),
    queries,
    sightings,
    optOuts,
    udp,
    tcp,
    adaptive: found &&
      new code!.AdaptiveSweep(adaptive!, options, tables, { udp, tcp, sightings, found }),
    known: new KnownServerStage(options, tables, sightings),
    inspect,
    write,
    socketCounts: new SocketCounts(options, sockets, ports.sockets),
  };
}

function makeWriteStage(
  { targets: { allProtocols }, interviews: { players, attach }, io }: ScanSetup,
  { stop }: ScanTables,
): WriteStage {
  const { startRowThread, clock, state: { scanId } } = io;
  const key = io.random(8);
  const options = { scanId, allProtocols, players, attach };
  const maker = new RowMaker(options, new Aliases(key, allProtocols));
  if (startRowThread === undefined || attach || allProtocols !== PROTOCOLS) {
    return new WriteStage(io, stop, maker);
  }
  const start = () => startRowThread({ scanId, players, key });
  return new WriteStage(io, stop, maker, new ThreadStart(clock, start));
}

function makeReceiver(
  { io, interviews: { follow, verify, mayOptOut } }: ScanSetup,
  { allKinds: kinds }: PassPlan,
  { tokens, responders, floods, probed, suppression, known }: ScanTables,
  publishing: Pick<ReceiverOptions, "canaries" | "window" | "sightings" | "optOuts">,
): ReplyReceiver {
  return new ReplyReceiver({
    kinds,
    tokens,
    responders,
    floods,
    targets: probed,
    clock: io.clock,
    counts: io.state.replies,
    notes: suppression,
    defers: verify || mayOptOut === undefined
      ? undefined
      : (datagram, from) =>
        !(follow && known.protocolsFor(from).length > 1) && !mayOptOut(datagram),
    ...publishing,
  });
}

/** Saves the progress of the scan each second. Returns a function that stops the saving. */
function saveEachSecond(
  { hooks, io: { clock, checkpoint, state } }: ScanSetup,
  { stop, lowWater }: ScanTables,
  { udp, tcp, socketCounts }: Stages,
): () => Promise<void> {
  return eachSecond(clock, hooks?.onClockJump, async () => {
    const marks = lowWater.note({ udp: udp.mark, tcp: tcp.mark });
    socketCounts.update();
    await stop.guard(async () => await hooks?.checkOutputs?.(), undefined);
    if (stop.error === undefined) await checkpoint?.save(marks, state);
  });
}

/** Runs the planned passes over UDP and TCP at the same time. Returns the marks after them. */
async function runPasses(
  stop: EarlyStop,
  udp: UdpSweep,
  tcp: TcpSweep,
): Promise<Marks> {
  const [udpMark, tcpMark] = await Promise.all([
    stop.guard(() => udp.run(), udp.mark),
    stop.guard(() => tcp.run(), tcp.mark),
  ]);
  return { udp: udpMark, tcp: tcpMark };
}

/** Runs the stages until they end, in their order. Returns the marks after the passes. */
async function runStages(
  { stop, floods, network }: ScanTables,
  { receiver, portReceiver, queries, sightings, optOuts, udp, tcp, adaptive, ...others }: Stages,
  demultiplexer: Demultiplexer,
  ports: ScanPorts,
): Promise<Marks> {
  let isOver = false;
  let isEnded = false;
  demultiplexer.listen(
    (datagram, from, socket) => {
      if (!isOver) receiver.receive(datagram, from, socket);
      else if (!isEnded) receiver.receiveLate(datagram, from);
    },
    () => sightings.whenReadable,
    (from) => floods.surplus(from),
  ).catch((error) => stop.fail(error));
  ports.listen(portReceiver, () => queries.whenReadable ?? sightings.whenReadable)
    .catch((error) => stop.fail(error));
  const { known, inspect, write, socketCounts } = others;
  const inspecting = inspect.run();
  const sweeping = Promise.all([
    adaptive === undefined ? runPasses(stop, udp, tcp) : stop.guard(() => adaptive.run(), START),
    stop.guard(() => known.run(), undefined),
  ]);
  socketCounts.start();
  network.start();
  const [marks] = await sweeping;
  await Promise.all([demultiplexer.drained(), ports.drained()]);
  isOver = true; // the cooldown is over
  ports.end();
  await queries.idle();
  await inspect.drain();
  await inspecting;
  network.end();
  await write.idle();
  isEnded = true; // nothing more is sent, so replies need not be searched for opt-outs
  await stop.guard(() => optOuts.saved(), undefined);
  return marks;
}
