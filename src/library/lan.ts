/**
 * Discovery on the local networks from a program.
 *
 * @module
 */
import { newScanId } from "../app/mod.ts";
import { discoverServers, prepareLanDiscovery } from "../app/lan/mod.ts";
import { shortageLine } from "../app/engines/mod.ts";
import { readOptions, timeType } from "../app/options/mod.ts";
import { DEFAULTS } from "../app/settings/mod.ts";
import { FoundServers } from "../scan/lan/mod.ts";
import { countOf } from "../core/quantities.ts";
import type { ServerRecord } from "../core/record.ts";
import { Shortage } from "../net/file_descriptors.ts";
import { callContext, type CommonOptions, signalOf } from "./common_options.ts";
import { givenOptions, wrongType } from "./given_options.ts";
import { iterateTask, type Results } from "./iterate_task.ts";

/** Options of a discovery. They have the names and defaults of the options of `blocksweep lan`. */
export interface LanOptions extends CommonOptions {
  /**
   * How long to listen and to sweep, milliseconds; `Infinity`: until the loop is left. Default: until the
   * sweep ends, at least 3000.
   */
  readonly onceMs?: number;
  /**
   * UDP ports to which probes are broadcast, at most 64, for example `19132,19133`. Default: the
   * usual ports.
   */
  readonly ports?: string;
  /**
   * Whether the sweep for dedicated servers is omitted. Default: networks of /22 and smaller
   * are swept.
   */
  readonly noSweep?: boolean;
  /** Whether records contain no names of players. Default: records contain them. */
  readonly noPlayers?: boolean;
  /** The opt-out file. Default: `blocksweep/opt-out.txt` in the user's configuration folder. */
  readonly optOutFile?: string;
}

/**
 * Discovers the servers on the networks of this machine, and yields a record of each server as soon as
 * the server is found. When the loop is left, the sockets are closed.
 *
 * RakNet servers reply to a broadcast, Java worlds announce themselves, and dedicated servers are
 * found by a sweep of the private networks. Needs `--allow-net`, `--allow-sys=networkInterfaces`,
 * `--allow-env` and `--allow-read`, and `"unstable": ["net"]` in deno.json.
 *
 * @throws InputError when the machine has no network, or an option cannot be used.
 *
 * @example Servers of the next three seconds
 * ```ts
 * import { lan } from "blocksweep";
 * import { SimulatedNetwork } from "blocksweep/testing";
 * import { assertEquals } from "@std/assert";
 *
 * const network = new SimulatedNetwork({ local: "192.168.1.2/24" });
 * network.addServer({ host: "192.168.1.9", software: "bds", status: { name: "Living room" } });
 * const servers = await network.run(Array.fromAsync(lan({ network })));
 * assertEquals(servers.map(({ name }) => name), ["Living room"]);
 * ```
 */
export function lan(options: LanOptions = {}): AsyncGenerator<ServerRecord, void, undefined> {
  return iterateTask((results) => run(options, results));
}

async function run(options: LanOptions, { add, left }: Results<ServerRecord>): Promise<void> {
  const given = givenOptions("lan", [], options, ["onceMs"]);
  const listenMs = listenMsOf(options);
  const context = callContext("lan", options);
  const { note } = context;
  const signal = AbortSignal.any([signalOf(options), left]);
  const prepared = await prepareLanDiscovery(readOptions("lan", given, context), context);
  const { clock } = prepared.network;
  const { refusals, unswept } = await discoverServers(prepared, {
    listenMs,
    continuous: listenMs === Infinity,
    sweepMs: options.onceMs === undefined ? Infinity : listenMs,
    servers: new FoundServers(),
    counts: { sent: 0, replies: 0 },
    scanId: newScanId(clock.wall()),
    shortage: new Shortage(clock, (code) => note(shortageLine("queries", code))),
    signal,
    onServer: (record) => void add(record),
  });
  refusals.forEach((code) => note(`the system refused to send or to listen: ${code}`));
  if (unswept === 0 || signal.aborted) return;
  note(`${countOf(unswept, "connection")} of the sweep not made: the time of onceMs was over`);
}

const LISTEN_TIME = timeType({ ms: 1, text: "1 ms" });

/** How long to listen, milliseconds. */
function listenMsOf({ onceMs }: LanOptions): number {
  if (onceMs === undefined) return 1000 * DEFAULTS.lan.once;
  if (onceMs === Infinity) return Infinity;
  if (typeof onceMs !== "number") throw wrongType("onceMs", onceMs, "a number");
  return LISTEN_TIME.parse(`${onceMs}ms`, { option: "onceMs", allProtocols: [] });
}
