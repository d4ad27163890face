/**
 * The lan command: servers on the networks that this machine is part of.
 *
 * @module
 */
import { InputError } from "../../core/errors.ts";
import { systemClock } from "../../net/clock.ts";
import { isOutOfDescriptors, Shortage } from "../../net/file_descriptors.ts";
import {
  FoundServers,
  type LanEnd,
  type LocalLink,
  type LocalNetwork,
} from "../../scan/lan/mod.ts";
import type { OptionsOf } from "../../app/options/mod.ts";
import { EXIT, onInterrupt } from "../../app/mod.ts";
import { DEFAULTS } from "../../app/settings/mod.ts";
import { type OutputPlan, planFoundRows, planOutputs } from "../../app/outputs/mod.ts";
import { type CommandCall, readCommandLine } from "../options/command_line.ts";
import {
  draw,
  isDumb,
  outputColumns,
  reportError,
  reportLine,
  terminalSize,
  writeRows,
} from "../term/console.ts";
import {
  planLanWrites,
  prepareLanDiscovery,
  runDiscovery,
  type WrittenDiscovery,
} from "../../app/lan/mod.ts";
import { openLanTable } from "../term/live/lan_table.ts";
import { countOf } from "../../core/quantities.ts";
import { useColor } from "../term/server_description.ts";

/** Runs `lan`; returns the exit code. */
export async function runLan(call: CommandCall): Promise<number> {
  const { words: [word], options, given } = readCommandLine("lan", call);
  if (word !== undefined) throw new InputError(`Cannot use "${word}": lan takes no targets`);
  const { once } = options;
  if (options.continuous && once !== undefined) {
    throw new InputError("Cannot use --continuous with --once: choose one of them");
  }
  const continuous = options.continuous || once === undefined && Deno.stdout.isTerminal();
  const { live, plans } = planDisplay(options, continuous);
  const writes = await planLanWrites(options, plans, given, reportError);
  const prepared = await prepareLanDiscovery(options, {
    allProtocols: options.allProtocols,
    warn: reportLine,
    note: reportError,
  });
  const servers = new FoundServers();
  const size = countNetworks(prepared.networks);
  let table: Disposable | undefined;
  const closeTable = () => table?.[Symbol.dispose]();
  using interrupt = onInterrupt(closeTable);
  const { signal } = interrupt;
  let isShort = false;
  const shortage = new Shortage(systemClock, () => isShort = true);
  const end = await runDiscovery(prepared, writes, {
    servers,
    signal,
    shortage,
    continuous,
    listenMs: continuous ? Infinity : 1000 * (once ?? DEFAULTS.lan.once),
    sweepMs: once === undefined ? Infinity : 1000 * once,
    writeRows,
    report: reportLine,
    begin: () => {
      if (live) table = openTable(servers, size, options);
    },
  }).finally(closeTable);
  if (!options.quiet && !live) reportCounts(size, end);
  if (isShort) return reportShortage(end);
  return exitCodeOf(end, signal.aborted);
}

function openTable(
  servers: FoundServers,
  networks: number,
  { noColor }: OptionsOf<"lan">,
): Disposable {
  const color = useColor(noColor);
  return openLanTable({ servers, networks, clock: systemClock, size: terminalSize, draw, color });
}

/** Whether servers are shown in a live table, and the outputs of rows. */
function planDisplay(
  options: OptionsOf<"lan">,
  continuous: boolean,
): { readonly live: boolean; readonly plans: readonly OutputPlan[] } {
  const named = planFoundRows({ ...options, takesDatabases: true }, outputColumns());
  const live = continuous && Deno.stdout.isTerminal() && !isDumb() &&
    named.every(({ path }) => path !== "-");
  if (live || named.length + options.output.length > 0) return { live, plans: named };
  return { live, plans: planOutputs({ ...options, format: "table" }, outputColumns()) };
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

/** Prints the numbers of servers found and of connections not made. */
function reportCounts(networks: number, { found, unswept, delivery }: WrittenDiscovery): void {
  reportLine(`${countOf(found, "server")} on ${countOf(networks, "network")}`);
  if (delivery !== undefined) reportLine(delivery);
  if (unswept === 0) return;
  reportLine(
    `${countOf(unswept, "connection")} of the sweep not made: the time of --once was over`,
  );
}

/** Reports the effect of a shortage of descriptors; returns the exit code. */
function reportShortage({ short }: LanEnd): number {
  const swept = short === 0 ? "" : ` (${countOf(short, "connection")} of the sweep not made)`;
  reportLine(
    `blocksweep: results are incomplete for lack of descriptors${swept}; raise the limit ` +
      "(ulimit -n)",
  );
  return EXIT.failed;
}
