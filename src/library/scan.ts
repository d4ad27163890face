/**
 * Finds servers from a program.
 *
 * @module
 */
import { chooseEngine, type Engine } from "../app/engines/choose_engine.ts";
import { conditionsOf } from "../app/engines/load_engines.ts";
import {
  type Capacity,
  capacityFor,
  closeSockets,
  openScanSockets,
  requireDescriptors,
  type Sockets,
} from "../app/engines/scan_sockets.ts";
import { scanSelectionOf } from "../app/settings/scan_selection.ts";
import { type ScanSettings } from "../app/settings/scan_settings.ts";
import { interviewsOf, limitsOf } from "../app/settings/scan_limits.ts";
import { fastest, speedFor } from "../app/settings/speed.ts";
import { composeTargets, findTargets } from "../app/targets/find_targets.ts";
import { haveService } from "../app/targets/name_lookup.ts";
import { planScan } from "../app/targets/scan_plan.ts";
import { requirePermission } from "../app/targets/require_permission.ts";
import type { ServerRecord } from "../core/record.ts";
import { anyAddress, type Network } from "../net/network.ts";
import { requirePorts } from "../scan/require_ports.ts";
import { runScan } from "../scan/scan.ts";
import type { ScanIo, ScanSetup } from "../scan/scan_setup.ts";
import { newState } from "../scan/scan_state.ts";
import type { Sink } from "../sinks/sink.ts";
import type { Targets } from "../targets/compose.ts";
import { networkOf, noteOf, signalOf } from "./common_options.ts";
import { type ScanOptions, settingsOf } from "./scan_options.ts";
import { iterateTask, type Results } from "./iterate_task.ts";
import { newScanId, randomBytes } from "../app/system_random.ts";

/**
 * Scans targets, and yields a record of each server as soon as the server is found. When the loop is
 * left, the scan ends and its sockets are closed.
 *
 * The rules of the command line apply. Public addresses, and more than 1,048,576 private addresses,
 * need `iHavePermission`. Reserved addresses and those in the opt-out file are not probed. Names that
 * are not local must not resolve to private addresses. Rate and caps apply, except on loopback. Needs
 * `--allow-net`, `--allow-env` and `--allow-read` (`--allow-write` to record opt-outs), and
 * `"unstable": ["net"]` in deno.json.
 *
 * @param targets Addresses, ranges (`10.0.0.0/24`, `10.0.0.1-10.0.0.99`) and names, each optionally
 * with a port.
 * @throws InputError for targets or options that cannot be used; ShortageError when no file
 * descriptor is free.
 *
 * @example Servers in a range
 * ```ts
 * import { scan } from "blocksweep";
 * import { SimulatedNetwork } from "blocksweep/testing";
 * import { assertEquals } from "@std/assert";
 *
 * const network = new SimulatedNetwork(); // in place of the network of this machine
 * network.addServer({ host: "10.0.0.7", software: "bds", status: { name: "Lobby" } });
 *
 * const found: string[] = [];
 * const search = async () => {
 *   for await (const server of scan(["10.0.0.0/24"], { network })) {
 *     found.push(`${server.host}:${server.port} ${server.name}`);
 *   }
 * };
 * await network.run(search());
 * assertEquals(found, ["10.0.0.7:19132 Lobby"]);
 * ```
 */
export function scan(
  targets: readonly string[],
  options: ScanOptions = {},
): AsyncGenerator<ServerRecord, void, undefined> {
  return iterateTask((results) => run(targets, options, results));
}

async function run(
  words: readonly string[],
  options: ScanOptions,
  results: Results<ServerRecord>,
): Promise<void> {
  const chosen = settingsOf(options);
  const network = networkOf(options, options.optOutFile);
  const pipeline = await plan(words, options, chosen, network);
  if (options.signal?.aborted) return;
  const io = await openIo(pipeline.targets.addresses, options, chosen, network);
  const { error } = await runScan({
    ...pipeline,
    limits: { ...pipeline.limits, ...io.capacity },
    io: { ...io, sinks: [sinkOf(results)] },
    hooks: { onOptOut: (address) => network.optOuts.note(address) },
    signal: AbortSignal.any([signalOf(options), results.left]),
    abandon: results.left,
  });
  if (error !== undefined) throw error;
}

/**
 * Resolves the targets, and checks that they may be scanned.
 *
 * @throws InputError for the first target that cannot be used.
 */
async function plan(
  words: readonly string[],
  options: ScanOptions,
  chosen: ScanSettings,
  network: Network,
): Promise<Omit<ScanSetup, "io" | "signal">> {
  const { exclude = [], iHavePermission = false, allowPrivate } = options;
  const { protocols, concurrency } = chosen;
  const usesServices = options.ports === undefined && haveService(protocols);
  const found = await findTargets(
    { words, files: [], exclude, excludeFiles: [] },
    {
      resolve: network.resolve,
      findService: usesServices ? network.findService : undefined,
      note: noteOf(options),
      allowPrivate,
    },
  );
  const named = composeTargets(found, await network.optOuts.read());
  const addresses = named.targets;
  if (options.ports === undefined) {
    requirePorts(addresses, protocols, chosen.ports, "name ports with the option ports");
  }
  const speed = speedFor(addresses, chosen);
  const selection = scanSelectionOf(chosen, named);
  const limits = { retries: chosen.retries, rates: fastest(speed) };
  const planned = planScan({ ...selection, limits });
  requirePermission(addresses, planned, iHavePermission, "the option iHavePermission");
  return {
    ...selection,
    limits: limitsOf(chosen, speed, { connections: concurrency }),
    interviews: interviewsOf(chosen),
  };
}

/** The sockets and other resources that a scan opens. */
type Opened = Omit<ScanIo, "sinks"> & { readonly capacity: Capacity };

/** Opens the sockets, and divides the remaining descriptors among connections and interviews. */
async function openIo(
  targets: Targets,
  options: ScanOptions,
  chosen: ScanSettings,
  network: Network,
): Promise<Opened> {
  const { clock, dialer, openSocket } = network;
  const engine = await engineFor(targets, options, chosen, network);
  const sockets = await openScanSockets(targets, chosen, engine);
  const scanId = newScanId(clock.wall());
  return {
    openSockets: (family) => sockets[family],
    openExclusive: (family) => openSocket({ address: anyAddress(family), port: 0 }),
    dialer,
    clock,
    random: randomBytes,
    state: { ...newState(scanId, clock.now()), engine: engine.name },
    capacity: await capacityOf(targets, options, chosen, sockets),
  };
}

/** The engine in the options. A network that the caller gave opens its own sockets. */
async function engineFor(
  targets: Targets,
  options: ScanOptions,
  chosen: ScanSettings,
  { openSocket }: Network,
): Promise<Engine> {
  if (options.network !== undefined) return { name: "portable", open: openSocket };
  return await chooseEngine(chosen.engine, conditionsOf(targets, chosen, false), noteOf(options));
}

/**
 * Maximum numbers of sockets and connections that may be open at once, in addition to those of the
 * sweep.
 */
async function capacityOf(
  targets: Targets,
  options: ScanOptions,
  chosen: ScanSettings,
  sockets: Sockets,
): Promise<Capacity> {
  if (options.network !== undefined) {
    return { connections: chosen.concurrency, exclusiveSockets: Infinity };
  }
  try {
    await requireDescriptors(targets, chosen, LEAST_DESCRIPTORS);
    return await capacityFor(targets, chosen, LEAST_DESCRIPTORS, noteOf(options));
  } catch (error) {
    await closeSockets(sockets);
    throw error;
  }
}

/**
 * Number of descriptors that a scan needs in addition to its sockets: for some interviews, and for
 * files of the program.
 */
const LEAST_DESCRIPTORS = 10;

/**
 * A sink that passes records to the loop, one by one. The scan waits until each record is taken.
 */
function sinkOf({ add }: Results<ServerRecord>): Sink {
  let taken = 0;
  return {
    async write(records) {
      for (const record of records) {
        await add(record);
        taken++;
      }
    },
    flush: () => Promise.resolve(),
    position: () => taken,
    [Symbol.asyncDispose]: () => Promise.resolve(),
  };
}
