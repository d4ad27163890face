/**
 * The fleet command: simulated servers, to try and test scanners without traffic to real hosts. With
 * `--check` it compares the rows of a scan with the manifest.
 *
 * @module
 */
import { formatAddress, parseIpv4 } from "../../core/address.ts";
import { InputError } from "../../core/errors.ts";
import {
  drawFleet,
  type Faults,
  type Fleet,
  formatManifest,
  ifInUse,
  manifestEntries,
  openFleet,
  WitnessLog,
} from "../../fleet/mod.ts";
import { EXIT, onInterrupt, userPath, writeRefusal, writeTextFile } from "../../app/mod.ts";
import type { OptionsOf } from "../../app/options/mod.ts";
import { systemClock } from "../../net/clock.ts";
import type { Range } from "../../targets/ranges.ts";
import { RangeSet } from "../../targets/ranges.ts";
import { type CommandCall, readCommandLine } from "../options/command_line.ts";
import { reportLine } from "../term/console.ts";
import { printResult } from "../term/json_results.ts";
import { privateRanges } from "../../targets/shipped_lists.ts";
import { countOf, withCommas } from "../../core/quantities.ts";
import { checkScan, refuseCheckOptions } from "./fleet_check.ts";

/** Runs `fleet` until Ctrl-C; returns the exit code. */
export async function runFleet(call: CommandCall): Promise<number> {
  const { words: [word], options, given } = readCommandLine("fleet", call);
  if (word !== undefined) {
    const option = /^\d+$/.test(word) ? "servers" : "range";
    throw new InputError(`Cannot use "${word}": write --${option} ${word}`);
  }
  if (options.check.length > 0) return await checkScan(options, given);
  refuseCheckOptions(given);
  return await simulate(options);
}

/** Simulates servers until Ctrl-C, or until the log of received datagrams cannot be written. */
async function simulate(options: OptionsOf<"fleet">): Promise<number> {
  const { servers, hostile, seed, range: { range }, crowded, manifest } = options;
  const lab = options.lab ? laboratory(range) : undefined;
  const software = chosenSoftware(options.software);
  const tcp = !options.noTcp;
  const hosts = drawFleet({ servers, hostile, range, seed, software, tcp, crowded });
  using witness = openWitness(options.log);
  using interrupt = onInterrupt(() => {});
  await using fleet = await openFleet(hosts, {
    clock: systemClock,
    seed,
    faults: faultsOf(options),
    lab,
    witness,
    ifInUse: `${ifInUse(options.range.text)}, or use another --range`,
  });
  const entries = manifestEntries(hosts);
  // Written when every socket is open: the file signals that the fleet is ready.
  if (manifest !== undefined) await writeTextFile(manifest, formatManifest(entries));
  await reportReady(options, entries.length);
  const ends = [interrupt.signal, ...witness === undefined ? [] : [witness.failed]];
  await Promise.race([aborted(AbortSignal.any(ends)), fleet.running]);
  await reportEnd(options, fleet);
  return EXIT.interrupted;
}

/** Reports that every socket is open. */
async function reportReady(
  { json, quiet, servers, range: { text }, seed, manifest }: OptionsOf<"fleet">,
  hosts: number,
): Promise<void> {
  if (json) {
    const ready = { servers, range: text, seed, manifest: manifest ?? null };
    await printResult("fleet", { event: "ready", hosts, ...ready });
  } else if (!quiet) {
    reportLine(`${countOf(hosts, "simulated host")} in ${text}; Ctrl-C to end`);
  }
}

/** Reports what the fleet received and sent. */
async function reportEnd(
  { json, quiet }: OptionsOf<"fleet">,
  { received, sent, accepted }: Fleet,
): Promise<void> {
  if (json) {
    await printResult("fleet (at its end)", {
      event: "ended",
      datagrams_received: received,
      datagrams_sent: sent,
      connections_accepted: accepted,
    });
  } else if (!quiet) {
    reportLine(
      `received ${countOf(received, "datagram")}, sent ${withCommas(sent)}, ` +
        `accepted ${countOf(accepted, "connection")}`,
    );
  }
}

/** Waits for a signal, which may have been aborted while the fleet was opened. */
function aborted(signal: AbortSignal): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  signal.addEventListener("abort", () => resolve(), { once: true });
  if (signal.aborted) resolve();
  return promise;
}

function chosenSoftware(
  names: readonly string[] | undefined,
): readonly string[] | undefined {
  if (names?.length === 0) throw new InputError("Cannot use --software: it names no software");
  return names;
}

/** The faults that the options request. */
function faultsOf({ loss, duplicate, delay, jitter }: OptionsOf<"fleet">): Faults {
  return { loss, duplication: duplicate, delay, jitter };
}

function openWitness(path: string | undefined): WitnessLog | undefined {
  if (path === undefined) return undefined;
  try {
    return new WitnessLog(userPath(path));
  } catch (error) {
    throw writeRefusal(path, error);
  }
}

/** The networks of a laboratory: private addresses on a host without a default route. No other machine can reach these addresses.
 *
 * @throws InputError when the host or the range is unsuited.
 */
function laboratory(range: Range): { address: number; netmask: number }[] {
  const privates = RangeSet.of(
    privateRanges().map((one) => one.range).filter(({ start }) =>
      typeof start === typeof range.start
    ),
  );
  if (!privates.covers(range)) {
    throw new InputError(
      `Cannot use --lab with ${formatAddress(range.start)}: the range must lie in data/private.txt`,
    );
  }
  if (hasDefaultRoute()) {
    throw new InputError(
      "Cannot use --lab: this host has a default route; use a network namespace",
    );
  }
  return Deno.networkInterfaces()
    .filter(({ family, address }) => family === "IPv4" && !address.startsWith("127."))
    .map(({ address, netmask }) => ({ address: parseIpv4(address), netmask: parseIpv4(netmask) }));
}

/** Whether this host has a default route. */
function hasDefaultRoute(): boolean {
  const [, ...routes] = readRoutes("/proc/net/route");
  const v4 = routes.some((line) => {
    const [, destination, , , , , , mask] = line.split("\t");
    return destination === "00000000" && mask === "00000000";
  });
  const v6 = readRoutes("/proc/net/ipv6_route")
    .some((line) => line.startsWith(`${"0".repeat(32)} 00`) && !line.endsWith("lo"));
  return v4 || v6;
}

/**
 * The lines of a table of routes.
 *
 * @throws InputError without all permissions: Deno lets no other program read the table.
 */
function readRoutes(path: string): readonly string[] {
  try {
    return Deno.readTextFileSync(path).trim().split("\n");
  } catch (error) {
    if (!(error instanceof Deno.errors.NotCapable)) throw error;
    throw new InputError(
      `Cannot use --lab: it reads ${path}, which Deno allows only to programs with all ` +
        "permissions (deno run -A)",
    );
  }
}
