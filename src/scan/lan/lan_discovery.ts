/**
 * Finds servers on the local networks: broadcasts probes, listens for announcements of Java worlds,
 * sweeps for dedicated servers, and interviews each server that was found.
 *
 * @module
 */
import { family, parseHost } from "../../core/address.ts";
import { sleep } from "../../net/clock.ts";
import { isOutOfDescriptors } from "../../net/file_descriptors.ts";
import { type DatagramSocket, Demultiplexer, HOST_RATE, Throttle } from "../../net/mod.ts";
import { hasUsualPort } from "../../protocols/usual_ports.ts";
import { LAN_PROTOCOLS } from "../../protocols/lan/mod.ts";
import { BroadcastDiscovery } from "./broadcast_discovery.ts";
import { LanInterviews } from "./lan_interviews.ts";
import { LanSweep } from "./lan_sweep.ts";
import { systemErrorCode } from "./system_refusals.ts";
export { ANNOUNCEMENT_GROUPS, LONGEST_ANNOUNCEMENT, worldTitle } from "../../protocols/lan/mod.ts";
import type { DiscoverySetup, LanEnd, LocalLink, LocalNetwork } from "./discovery_setup.ts";

/**
 * Number of pings, and the interval between two pings, milliseconds; a continuous discovery then
 * pings at a longer interval.
 */
const PINGS = 3;
const PING_EVERY_MS = 1000;
const LATER_PING_EVERY_MS = 3000;
/**
 * IPv6 pings follow the IPv4 pings. A server with addresses of both families is therefore listed by
 * its IPv4 address.
 */
const LINKS_AFTER_MS = 500;
/** Interval between NetherNet requests, milliseconds, as in Bedrock clients. */
const REQUEST_EVERY_MS = 2000;
/** In a continuous discovery, the interval between queries of a server that the sweep found, milliseconds. */
const REFRESH_SWEPT_MS = 15_000;

/** Runs a discovery until the time limit, then waits until all interviews have ended. */
export async function discover(options: DiscoverySetup): Promise<LanEnd> {
  const { clock, signal, listenMs } = options;
  const refusals = new Set<string>();
  const { networks, sockets } = openAll(options, refusals);
  const throttle = new Throttle({ rate: undefined, netRate: undefined, hostRate: HOST_RATE });
  await using demultiplexer = new Demultiplexer(sockets, throttle, clock);
  const { promise: failed, reject } = Promise.withResolvers<never>();
  const interviews = new LanInterviews(options, networks, demultiplexer, reject);
  const discovery = new BroadcastDiscovery(options, networks, demultiplexer, interviews);
  demultiplexer.listen((datagram, from, socket) => discovery.receive(datagram, from, socket)).catch(
    reject,
  );
  await using groups = new AsyncDisposableStack();
  for (const bits of new Set(networks.map(({ address }) => family(address)))) {
    const group = groups.use(await openGroup(options, bits, refusals));
    group?.listen((datagram, from) => discovery.receiveAnnouncement(datagram, from)).catch(reject);
  }
  const cancelLinks = () => options.continuous && demultiplexer.cancel();
  signal.addEventListener("abort", cancelLinks, { once: true });
  const end = clock.now() + listenMs;
  const sweep = lanSweep(interviews, discovery, options);
  const work = async () => {
    await Promise.all([
      ping(discovery, options, end),
      request(discovery, options, end),
      sweep && runSweep(sweep, options),
    ]);
    await interviews.pool.idle();
  };
  try {
    await Promise.race([work(), failed]);
  } finally {
    signal.removeEventListener("abort", cancelLinks);
  }
  for (const [i, { errors }] of sockets.entries()) {
    if (!("zone" in networks[i])) { for (const code of errors.send.keys()) refusals.add(code); }
  }
  const { unswept = 0, short = 0 } = sweep ?? {};
  return { sent: options.counts.sent, unswept, short, refusals: [...refusals] };
}

/** The sweep for dedicated servers over TCP, if the options request one. */
function lanSweep(
  interviews: LanInterviews,
  discovery: BroadcastDiscovery,
  options: DiscoverySetup,
): LanSweep | undefined {
  const streams = options.protocols.filter((one) => one.transport === "tcp" && hasUsualPort(one));
  if (options.sweep === undefined || streams.length === 0) return undefined;
  return new LanSweep(
    options,
    options.sweep,
    streams,
    interviews,
    (sighting) => discovery.receiveSighting(sighting),
  );
}

/** Sweeps once. In a continuous discovery, the found servers are then queried at regular intervals. */
async function runSweep(sweep: LanSweep, options: DiscoverySetup): Promise<void> {
  const { clock, signal, continuous, servers } = options;
  await sweep.run();
  while (continuous && !signal.aborted) {
    await sleep(clock, REFRESH_SWEPT_MS, signal);
    const found = servers.listed().flatMap(({ row: { host, port, protocols } }) => {
      const protocol = sweptProtocol(protocols, options);
      return protocol === undefined ? [] : { protocol, endpoint: { ...parseHost(host)!, port } };
    });
    await Promise.all(found.map(({ protocol, endpoint }) => sweep.refresh(protocol, endpoint)));
  }
}

/**
 * The protocol in which the sweep found a server; `undefined` for others: announced worlds and servers
 * that reply to pings are queried after each of their datagrams.
 */
function sweptProtocol(
  spoken: readonly string[],
  { protocols, protocol: { name: pinged } }: DiscoverySetup,
): string | undefined {
  if (spoken.includes(LAN_PROTOCOLS.announcement) || spoken.includes(pinged)) return undefined;
  return protocols.find(({ name, transport }) => transport === "tcp" && spoken.includes(name))
    ?.name;
}

/** Opens a socket in each network. A link that the system refuses is skipped without a report. */
function openAll({ networks, open }: DiscoverySetup, refusals: Set<string>) {
  const opened: { network: LocalNetwork | LocalLink; socket: DatagramSocket }[] = [];
  for (const network of networks) {
    try {
      opened.push({ network, socket: open(network) });
    } catch (error) {
      noteRefusal(error, family(network.address), refusals);
    }
  }
  return {
    networks: opened.map(({ network }) => network),
    sockets: opened.map(({ socket }) => socket),
  };
}

/**
 * Opens the socket for announcements of Java worlds in one address family; a refusal does not end the
 * discovery.
 */
async function openGroup(
  { openGroup }: DiscoverySetup,
  bits: 4 | 6,
  refusals: Set<string>,
): Promise<DatagramSocket | undefined> {
  try {
    return await openGroup?.(bits);
  } catch (error) {
    noteRefusal(error, bits, refusals);
    return undefined;
  }
}

/** Records the code of a refusal. Links may have no IPv6: for them, only a lack of descriptors counts. */
function noteRefusal(error: unknown, bits: 4 | 6, refusals: Set<string>): void {
  const code = systemErrorCode(error);
  if (bits === 4 || isOutOfDescriptors(code)) refusals.add(code);
}

/** Broadcasts pings and removes expired servers, until the end of the discovery. */
async function ping(
  discovery: BroadcastDiscovery,
  options: DiscoverySetup,
  end: number,
): Promise<void> {
  const { clock, signal, continuous, servers } = options;
  const pause = (ms: number) => sleep(clock, Math.max(0, Math.min(ms, end - clock.now())), signal);
  for (let round = 1; !signal.aborted && clock.now() <= end; round++) {
    await discovery.ping(4);
    await pause(LINKS_AFTER_MS);
    if (!signal.aborted) await discovery.ping(6);
    if (round >= PINGS && !continuous) return await pause(Infinity);
    await pause((round < PINGS ? PING_EVERY_MS : LATER_PING_EVERY_MS) - LINKS_AFTER_MS);
    if (continuous) servers.forget(clock.now());
    if (clock.now() >= end) return;
  }
}

/** Broadcasts NetherNet requests until the end of the discovery. */
async function request(
  discovery: BroadcastDiscovery,
  options: DiscoverySetup,
  end: number,
): Promise<void> {
  const { clock, signal } = options;
  while (!signal.aborted && clock.now() < end) {
    await discovery.request();
    await sleep(clock, Math.min(REQUEST_EVERY_MS, end - clock.now()), signal);
  }
}
