/**
 * Discovery on the local networks from a program.
 *
 * @module
 */
import { broadcastPorts, discoverServers } from "../app/lan/discover_servers.ts";
import { writtenPorts } from "../targets/ports.ts";
import { javaNetworks, localNetworks } from "../app/lan/local_networks.ts";
import { shortageLine } from "../app/engines/send_error_lines.ts";
import { DEFAULTS } from "../app/settings/defaults.ts";
import type { ServerRecord } from "../core/record.ts";
import { Shortage } from "../net/file_descriptors.ts";
import { FoundServers } from "../scan/lan/mod.ts";
import {
  checkedMs,
  type CommonOptions,
  networkOf,
  noteOf,
  protocolChoice,
  signalOf,
} from "./common_options.ts";
import { iterateTask, type Results } from "./iterate_task.ts";

/** Options of a discovery. They have the names and defaults of the options of `blocksweep lan`. */
export interface LanOptions extends CommonOptions {
  /** How long to listen, milliseconds; `Infinity`: until the loop is left. Default: 3000. */
  readonly onceMs?: number;
  /**
   * UDP ports to which probes are broadcast, at most 64, for example `19132,19133`. Default: the
   * usual ports.
   */
  readonly ports?: string;
  /**
   * Whether the sweep for dedicated Java servers is omitted. Default: networks of /22 and smaller
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
 * RakNet servers reply to a broadcast, Java worlds announce themselves, and dedicated Java servers are
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
  const { noSweep = false, noPlayers = false, onceMs } = options;
  const { allProtocols } = protocolChoice(options);
  const isEndless = onceMs === Infinity;
  const listenMs = isEndless
    ? Infinity
    : checkedMs("onceMs", onceMs, 1) ?? 1000 * DEFAULTS.lan.once;
  const ports = broadcastPorts(
    options.ports === undefined ? undefined : writtenPorts(options.ports),
    allProtocols,
  );
  const note = noteOf(options);
  const network = networkOf(options, options.optOutFile);
  const interfaces = network.local.interfaces();
  const optedOut = await network.optOuts.read();
  const java = noSweep ? undefined : javaNetworks(interfaces);
  java?.skipped.forEach((one) => note(`not swept for Java servers: ${one}`));
  const { refusals } = await discoverServers({
    network,
    allProtocols,
    ports,
    listenMs,
    optedOut,
    networks: localNetworks(interfaces),
    continuous: isEndless,
    players: !noPlayers,
    servers: new FoundServers(),
    sweep: java && { networks: java.swept, mostMs: listenMs },
    shortage: new Shortage(network.clock, (code) => note(shortageLine("queries", code))),
    signal: AbortSignal.any([signalOf(options), left]),
    onServer: (record) => void add(record),
  });
  refusals.forEach((code) => note(`the system refused to send or to listen: ${code}`));
}
