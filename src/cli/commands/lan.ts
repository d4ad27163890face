/**
 * The lan command: servers on the networks that this machine is part of.
 *
 * @module
 */
import { InputError } from "../../core/errors.ts";
import { systemClock } from "../../net/clock.ts";
import { isOutOfDescriptors, Shortage } from "../../net/file_descriptors.ts";
import type { Protocol } from "../../protocols/protocol.ts";
import { FIELDS, type ServerRecord } from "../../core/record.ts";
import {
  type DiscoverySetup,
  FoundServers,
  type LanEnd,
  type LocalLink,
  type LocalNetwork,
} from "../../scan/lan/mod.ts";
import { ndjsonFormat } from "../../sinks/json.ts";
import type { Format } from "../../sinks/sink.ts";
import type { OptionsOf } from "../options/option_table.ts";
import { readCommandLine } from "../options/read_options.ts";
import {
  draw,
  isDumb,
  outputColumns,
  print,
  reportError,
  reportLine,
  terminalSize,
} from "../term/console.ts";
import { EXIT } from "../../app/exit_codes.ts";
import { onInterrupt } from "../../app/interrupt_signals.ts";
import { broadcastPorts, discoverServers } from "../../app/lan/discover_servers.ts";
import { javaNetworks, localNetworks } from "../../app/lan/local_networks.ts";
import { DEFAULTS } from "../../app/settings/defaults.ts";
import { systemNetwork } from "../../app/system_network.ts";
import { openLanTable } from "../term/live/lan_table.ts";
import { countOf } from "../../core/quantities.ts";
import { useColor } from "../term/server_description.ts";
import { serverTable } from "../../app/outputs/table_format.ts";

/** Runs `lan`; returns the exit code. */
export async function runLan(
  args: readonly string[],
  allProtocols: readonly Protocol[],
): Promise<number> {
  const { words: [word], options } = readCommandLine("lan", args, allProtocols);
  if (word !== undefined) throw new InputError(`Cannot use "${word}": lan takes no targets`);
  const look = discoveryTimes(options, allProtocols);
  const { network, networks, optedOut, java } = await readNetworks(options, allProtocols);
  const servers = new FoundServers();
  const size = countNetworks(networks);
  const live = look.continuous && !options.json && !isDumb();
  using table = live
    ? openLanTable({
      servers,
      networks: size,
      clock: systemClock,
      size: terminalSize,
      draw,
      color: useColor(options.noColor),
    })
    : undefined;
  using interrupt = onInterrupt(() => table?.[Symbol.dispose]());
  const rows = new Rows(options.json);
  const signal = AbortSignal.any([interrupt.signal, rows.signal]);
  let isShort = false;
  const shortage = new Shortage(systemClock, () => isShort = true);
  const mostMs = options.once === undefined ? Infinity : look.listenMs;
  const end = await discoverServers({
    network,
    networks,
    allProtocols,
    servers,
    signal,
    optedOut,
    shortage,
    ...look,
    sweep: java && { networks: java.swept, mostMs },
    onServer: (record) => live || rows.add(record),
  });
  table?.[Symbol.dispose]();
  await rows.printed();
  if (!options.quiet && !live) reportCounts(rows.count, size, end);
  if (isShort) return reportShortage(end);
  return exitCodeOf(end, interrupt.signal.aborted);
}

/** The networks of this machine, and the addresses on them that opted out. */
async function readNetworks(
  { optOutFile, noSweep, quiet }: OptionsOf<"lan">,
  allProtocols: readonly Protocol[],
) {
  const network = systemNetwork({
    optOutFile,
    note: reportError,
    report: reportLine,
    allProtocols,
  });
  const interfaces = network.local.interfaces();
  const networks = localNetworks(interfaces);
  const optedOut = await network.optOuts.read();
  const java = noSweep ? undefined : javaNetworks(interfaces);
  if (!quiet) java?.skipped.forEach(reportSkipped);
  return { network, networks, optedOut, java };
}

/** The exit code of a discovery. Reports why it is incomplete, or has sent nothing. */
function exitCodeOf(end: LanEnd, isInterrupted: boolean): number {
  if (end.short > 0 || end.refusals.some(isOutOfDescriptors)) return reportShortage(end);
  if (isInterrupted) return EXIT.interrupted;
  if (end.sent > 0) return EXIT.done;
  reportLine(`blocksweep: no probe could be sent: ${end.refusals.join(", ")}`);
  return EXIT.failed;
}

/** The number of networks. A network is counted once, even if it also has an IPv6 link. */
function countNetworks(networks: readonly (LocalNetwork | LocalLink)[]): number {
  return networks.filter((network) => !("zone" in network)).length || networks.length;
}

/** Prints the numbers of servers found and of hosts not swept. */
function reportCounts(servers: number, networks: number, { unswept }: LanEnd): void {
  reportLine(`${countOf(servers, "server")} on ${countOf(networks, "network")}`);
  if (unswept === 0) return;
  reportLine(`${countOf(unswept, "host")} not swept for Java servers: the time of --once was over`);
}

/** Reports the effect of a shortage of descriptors; returns the exit code. */
function reportShortage({ short }: LanEnd): number {
  const swept = short === 0 ? "" : ` (${countOf(short, "host")} not swept for Java servers)`;
  reportLine(
    `blocksweep: results are incomplete for lack of descriptors${swept}; raise the limit ` +
      "(ulimit -n)",
  );
  return EXIT.failed;
}

/** The values of the options of a discovery. */
function discoveryTimes(
  { ports, once, noPlayers }: OptionsOf<"lan">,
  allProtocols: readonly Protocol[],
): Pick<DiscoverySetup, "ports" | "continuous" | "listenMs" | "players"> {
  const continuous = once === undefined && Deno.stdout.isTerminal();
  return {
    ports: broadcastPorts(ports, allProtocols),
    continuous,
    listenMs: continuous ? Infinity : 1000 * (once ?? DEFAULTS.lan.once),
    players: !noPlayers,
  };
}

function reportSkipped(network: string): void {
  reportLine(`blocksweep: not swept for Java servers: ${network}`);
}

/** Rows as they are found: a table, or JSON. */
class Rows {
  count = 0;
  readonly #format: Format;
  readonly #failed = new AbortController();
  #printed: Promise<void> = Promise.resolve();

  constructor(json: boolean) {
    this.#format = json ? ndjsonFormat(FIELDS) : serverTable(outputColumns() ?? Infinity);
  }

  /** Aborted when standard output is closed. */
  get signal(): AbortSignal {
    return this.#failed.signal;
  }

  add(record: ServerRecord): void {
    const head = this.count++ === 0 ? this.#format.head : "";
    const text = (head + this.#format.row(record, false)).trimEnd();
    this.#printed = this.#printed.then(() => print(text)).catch((error) =>
      this.#failed.abort(error)
    );
  }

  /** Waits until all rows are printed; throws the error of a failed write. */
  async printed(): Promise<void> {
    await this.#printed;
    this.signal.throwIfAborted();
  }
}
