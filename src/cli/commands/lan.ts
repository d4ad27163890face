/**
 * The lan command: servers on the networks that this machine is part of.
 *
 * @module
 */
import { parseAddress, parseIpv4 } from "../../core/address.ts";
import { InputError } from "../../core/errors.ts";
import { systemClock } from "../../net/clock.ts";
import { openGroupSocket, openLinkSocket, openSocket } from "../../net/deno/udp_socket.ts";
import { denoDialer } from "../../net/deno/tcp_dialer.ts";
import { isOutOfDescriptors, Shortage } from "../../net/file_descriptors.ts";
import { STREAM_LIMITS, StreamLink } from "../../net/stream_link.ts";
import { Throttle } from "../../net/throttle.ts";
import { usualProtocols } from "../../protocols/list.ts";
import type { Protocol } from "../../protocols/protocol.ts";
import { FIELDS, type ServerRecord } from "../../core/record.ts";
import { uuidv7 } from "../../scan/scan_id.ts";
import {
  ANNOUNCEMENT_GROUP,
  broadcastProtocol,
  chooseJavaNetworks,
  discover,
  FoundServers,
  type JavaNetworks,
  type LanOptions,
  type LocalLink,
  type LocalNetwork,
  LONGEST_ANNOUNCEMENT,
} from "../../scan/lan/mod.ts";
import { ndjsonFormat } from "../../sinks/json.ts";
import type { Format } from "../../sinks/sink.ts";
import { optOutCheck } from "../../targets/builtin_lists.ts";
import { parsePorts } from "../../targets/ports.ts";
import { readArgs } from "../options/parse_arguments.ts";
import { draw, isDumb, outputColumns, print, tellLine, terminalSize } from "../term/console.ts";
import { INTERRUPTED, onInterrupt } from "../../app/interrupt_signals.ts";
import { LiveLanTable } from "../term/live_lan_table.ts";
import { OptOutFile } from "../../app/targets/opt_out_file.ts";
import { countOf } from "../../core/quantities.ts";
import { useColor } from "../term/server_description.ts";
import { serverTable } from "../../app/outputs/table_format.ts";
import { Settings } from "../../app/settings/option_values.ts";

/** Everybody is asked on each of them, again and again. */
const MOST_PORTS = 64;
/** Connections and questions over TCP a second to one server. */
const HOST_RATE = 5;
/** How long to listen where there is no terminal, seconds. */
const ONE_LOOK = 3;

/** Runs `lan`; returns the exit code. */
export async function runLan(
  args: readonly string[],
  allProtocols: readonly Protocol[],
): Promise<number> {
  const settings = new Settings(readArgs("lan", args));
  const protocol = broadcastProtocol(allProtocols);
  const look = readLook(settings, protocol.broadcastPorts);
  const interfaces = Deno.networkInterfaces();
  const networks = localNetworks(interfaces);
  if (networks.length === 0) {
    throw new InputError("Cannot look around: this machine has no network");
  }
  const optedOut = await new OptOutFile(settings.text("opt-out-file"), tellLine).read();
  const java = settings.has("no-sweep") ? undefined : javaNetworks(interfaces);
  if (!settings.has("quiet")) java?.skipped.forEach(tellSkipped);
  const neighbours = new FoundServers();
  // Most networks have an IPv6 link too: they are counted once.
  const size = networks.filter((network) => !("zone" in network)).length || networks.length;
  const live = look.watch && !settings.has("json") && !isDumb();
  using table = live ? openTable(neighbours, size, settings.has("no-color")) : undefined;
  using interrupt = onInterrupt(() => table?.[Symbol.dispose]());
  const rows = new Rows(settings.has("json"));
  const signal = AbortSignal.any([interrupt.signal, rows.signal]);
  let isShort = false;
  const shortage = new Shortage(systemClock, () => isShort = true);
  const around = surroundings(networks, signal, shortage);
  const { sent, unswept, short, refusals } = await discover({
    ...{ ...around, ...look, networks, neighbours, signal, optedOut, shortage },
    ...{ protocol, protocols: usualProtocols(allProtocols), allProtocols },
    sweep: java && sweepOf(java, settings.has("once") ? look.listenMs : Infinity),
    onServer: (record) => live || rows.add(record),
  });
  table?.[Symbol.dispose]();
  await rows.printed();
  if (!settings.has("quiet") && !live) {
    tellLine(`${countOf(rows.count, "server")} on ${countOf(size, "network")}`);
    if (unswept > 0) {
      tellLine(`${countOf(unswept, "host")} not swept for Java servers: --once ended first`);
    }
  }
  if (isShort || short > 0 || refusals.some(isOutOfDescriptors)) {
    tellLine(shortLine(short));
    return 1;
  }
  if (interrupt.signal.aborted && !look.watch) return INTERRUPTED;
  if (sent > 0) return 0;
  tellLine(`blocksweep: no question left this machine: ${refusals.join(", ")}`);
  return 1;
}

/** What a shortage of descriptors means. */
function shortLine(hosts: number): string {
  const swept = hosts === 0 ? "" : ` (${countOf(hosts, "host")} not swept for Java servers)`;
  return `blocksweep: results are incomplete for lack of descriptors${swept}; raise the limit ` +
    "(ulimit -n)";
}

/** What options say of the look around. */
function readLook(
  settings: Settings,
  usualPorts: LanOptions["ports"],
): Pick<LanOptions, "ports" | "watch" | "listenMs" | "players"> {
  const [word] = settings.values.words;
  if (word !== undefined) throw new InputError(`Cannot use "${word}": lan takes no targets`);
  const once = settings.whole("once", 1, 3600);
  const watch = once === undefined && Deno.stdout.isTerminal();
  return {
    ports: readPorts(settings.text("ports"), usualPorts),
    watch,
    listenMs: watch ? Infinity : 1000 * (once ?? ONE_LOOK),
    players: !settings.has("no-players"),
  };
}

function tellSkipped(network: string): void {
  tellLine(`not swept for Java servers: ${network}`);
}

/** How to sweep, for so long at the most. */
function sweepOf({ swept }: JavaNetworks, mostMs: number): LanOptions["sweep"] {
  const [seed] = crypto.getRandomValues(new Uint32Array(1));
  return { networks: swept, mostMs, seed, dialer: denoDialer() };
}

/** What does not depend on options. */
function surroundings(
  networks: readonly (LocalNetwork | LocalLink)[],
  signal: AbortSignal,
  shortage: Shortage,
): Omit<
  LanOptions,
  | ("networks" | "ports" | "watch" | "neighbours" | "listenMs" | "players" | "signal" | "onServer")
  | ("sweep" | "optedOut" | "protocol" | "protocols" | "allProtocols")
> {
  const random = (size: number) =>
    new DataView(crypto.getRandomValues(new Uint8Array(size)).buffer);
  const interfaces = networks.flatMap((network) => "zone" in network ? [] : [network.address]);
  const throttle = new Throttle({ rate: undefined, netRate: undefined, hostRate: HOST_RATE });
  const streams = { dialer: denoDialer(), throttle, clock: systemClock, limits: STREAM_LIMITS };
  const group = { ...ANNOUNCEMENT_GROUP, interfaces, largest: LONGEST_ANNOUNCEMENT };
  return {
    timeoutMs: 1000,
    retries: 1,
    open: (network) =>
      "zone" in network
        ? openLinkSocket(network.address, network.zone)
        : openSocket({ address: network.address, port: 0 }),
    openGroup: () => openGroupSocket(group),
    dial: (endpoint) => new StreamLink(endpoint, { ...streams, signal, shortage }),
    token: random(4).getUint32(0) >>> 1,
    nonce: () => random(8).getBigUint64(0) >> 1n,
    optsOut: optOutCheck(),
    scanId: uuidv7(Date.now(), crypto.getRandomValues(new Uint8Array(10))),
    clock: systemClock,
  };
}

function openTable(neighbours: FoundServers, networks: number, noColor: boolean): LiveLanTable {
  return new LiveLanTable({
    ...{ neighbours, networks, clock: systemClock, color: useColor(noColor) },
    size: terminalSize,
    draw,
  });
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

  /** Set off when nobody takes the rows any longer. */
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

  /** Waits until all are printed; throws why they could not be. */
  async printed(): Promise<void> {
    await this.#printed;
    this.signal.throwIfAborted();
  }
}

/** The UDP ports to which probes are broadcast. */
function readPorts(text: string | undefined, usual: LanOptions["ports"]): LanOptions["ports"] {
  if (text === undefined) return usual;
  const { udp } = parsePorts(text);
  if (udp.length >= 1 && udp.length <= MOST_PORTS) return { 4: udp, 6: udp };
  throw new InputError(`Cannot use --ports "${text}": lan asks on 1 to ${MOST_PORTS} UDP ports`);
}

/** The IPv4 networks of this machine, without loopback, and its IPv6 links. */
function localNetworks(
  interfaces: readonly Deno.NetworkInterfaceInfo[],
): (LocalNetwork | LocalLink)[] {
  return [
    ...withIpv4(interfaces).map(({ address, netmask }) => ({ address, netmask })),
    ...interfaces
      .filter(({ family, address }) => family === "IPv6" && /^fe80:/i.test(address))
      .map(({ address, name, scopeid }) => ({
        address: parseAddress(address) as bigint,
        zone: Deno.build.os === "windows" ? String(scopeid) : name,
      })),
  ];
}

/** The IPv4 networks that are swept for Java servers, and why others are not. */
function javaNetworks(interfaces: readonly Deno.NetworkInterfaceInfo[]): JavaNetworks {
  return chooseJavaNetworks(withIpv4(interfaces));
}

function withIpv4(interfaces: readonly Deno.NetworkInterfaceInfo[]) {
  return interfaces
    .filter(({ family, address }) => family === "IPv4" && !address.startsWith("127."))
    .map(({ name, mac, address, netmask }) => ({
      ...{ name, mac },
      address: parseIpv4(address),
      netmask: parseIpv4(netmask),
    }));
}
