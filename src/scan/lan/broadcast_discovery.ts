/**
 * Discovery on the local networks: broadcasts probes, and reads the replies and announcements of
 * servers.
 *
 * @module
 */
import { type Endpoint, family, formatEndpoint, isLinkLocal } from "../../core/address.ts";
import { Malformed, Truncated } from "../../core/bytes.ts";
import { firstReplyOf } from "../../inspect/mod.ts";
import { type Demultiplexer, Stamp } from "../../net/mod.ts";
import { stampClock } from "../../sweep/mod.ts";
import {
  announcementStatement,
  decodeAnnouncement,
  decodeServerData,
  DISCOVERY_PORT,
  discoveryStatement,
  LAN_PROTOCOLS,
  type NethernetPacket,
  openPacket,
  sealPacket,
} from "../../protocols/lan/mod.ts";
import type { Sighting } from "../../core/record.ts";
import type { Probe } from "../../protocols/protocol.ts";
import type { LanInterviews } from "./lan_interviews.ts";
import {
  broadcastOf,
  type DiscoverySetup,
  isInsideNetwork,
  type LocalLink,
  type LocalNetwork,
} from "./discovery_setup.ts";

/** The limited broadcast address, 255.255.255.255. */
const LIMITED_BROADCAST = 0xffffffff;
/**
 * The multicast address of all nodes, `ff02::1`. No multicast group of Bedrock servers is known.
 */
const ALL_NODES = 0xff02n << 112n | 1n;
/**
 * Time without a datagram after which a server is removed, milliseconds. The times are those of the
 * games.
 */
const LIFETIME_MS = { announcement: 5000, nethernet: 15_000, raknet: 15_000, slp: 40_000 };
/** Broadcasts probes, and reads the replies and announcements that start interviews. */
export class BroadcastDiscovery {
  readonly #networkId: bigint;
  /** When the last NetherNet request was broadcast, milliseconds of the clock. */
  #requestedAt = 0;

  /**
   * @param networks The networks of the demultiplexer's sockets, in the same order as the sockets.
   * @param interviews Starts the interviews of the servers.
   */
  constructor(
    private readonly options: DiscoverySetup,
    private readonly networks: readonly (LocalNetwork | LocalLink)[],
    private readonly demultiplexer: Demultiplexer,
    private readonly interviews: LanInterviews,
  ) {
    this.#networkId = options.nonce();
  }

  /** Broadcasts one RakNet ping in all networks of an address family. */
  async ping(bits: 4 | 6): Promise<void> {
    const { protocol, ports, clock, token } = this.options;
    const probe = protocol.probe!;
    const stamp = new Stamp(probe);
    const datagram = probe.template.slice();
    const view = new DataView(datagram.buffer);
    for (const port of ports[bits]) {
      stamp.write(view, 0, token & probe.macMask, stampClock(clock.now()));
      await this.#broadcast(bits, datagram, port);
    }
  }

  /** Broadcasts one NetherNet request in all IPv4 networks. */
  async request(): Promise<void> {
    this.#requestedAt = this.options.clock.now();
    const datagram = sealPacket({ type: "request", sender: this.#networkId });
    await this.#broadcast(4, datagram, DISCOVERY_PORT);
  }

  async #broadcast(bits: 4 | 6, datagram: Uint8Array, port: number): Promise<void> {
    for (const [i, network] of this.networks.entries()) {
      if (family(network.address) !== bits) continue;
      // Some network stacks drop limited broadcasts, and some routers drop directed broadcasts.
      const all = "zone" in network ? [ALL_NODES] : [LIMITED_BROADCAST, broadcastOf(network)];
      for (const address of all) {
        if (address === undefined) continue;
        const isSent = await this.demultiplexer.sockets[i].send(datagram, { address, port });
        if (isSent) this.options.counts.sent++;
      }
    }
  }

  /** Processes a datagram that the socket of a network received. */
  receive(datagram: Uint8Array, from: Endpoint, socket: number): void {
    const network = this.networks[socket];
    if (!isInsideNetwork(from, network)) return;
    const sender = "zone" in network ? inZone(from, network.zone) : from;
    this.#receive(datagram, sender, socket);
  }

  #receive(datagram: Uint8Array, from: Endpoint, socket: number): void {
    if (this.#receivePong(datagram, from, socket)) return;
    const packet = orUndefined(() => openPacket(datagram));
    if (packet?.type === "response") this.#receiveResponse(packet, from);
  }

  /** Processes the reply to a ping. Returns false when the datagram is not such a reply. */
  #receivePong(datagram: Uint8Array, from: Endpoint, socket: number): boolean {
    const { protocol, token, clock } = this.options;
    const probe = protocol.probe!;
    const pong = orUndefined(() => probe.read(datagram));
    if (pong === undefined) return false;
    const verified = pong.mac === (token & probe.macMask);
    if (!verified && !probe.mayLackToken) return true;
    const content = verified ? orUndefined(() => contentOf(probe, datagram.slice())) : {};
    const reply = firstReplyOf({ protocol: protocol.name, ...content }, [protocol]);
    if (reply !== undefined && this.interviews.takeOptOut(from.address, reply)) return true;
    const server = this.interviews.due(
      formatEndpoint(from),
      from.address,
      LIFETIME_MS.raknet,
      verified,
      protocol.name,
    );
    if (server === undefined || content === undefined) return true;
    const at = clock.now();
    const latencyMs = verified && pong.clock !== undefined
      ? (stampClock(at) - pong.clock >>> 0) / 1000
      : undefined;
    const about = { protocol: protocol.name, latencyMs, verified, at, socket };
    this.interviews.inspect(server, { endpoint: { ...from }, ...about, ...content }, reply);
    return true;
  }

  /** Processes a NetherNet response. A world that responds in two networks is listed once. */
  #receiveResponse(packet: NethernetPacket & { type: "response" }, from: Endpoint): void {
    const { sender, data, flags } = packet;
    const key = `nethernet ${sender}`;
    const status = { networkId: sender, data: orUndefined(() => decodeServerData(data)), flags };
    const reply = { protocol: LAN_PROTOCOLS.nethernet, statement: discoveryStatement(status) };
    if (this.interviews.takeOptOut(from.address, reply)) return;
    const server = this.interviews.due(key, from.address, LIFETIME_MS.nethernet, true);
    if (server === undefined) return;
    const latencyMs = this.options.clock.now() - this.#requestedAt;
    if (server.row?.protocols.some((one) => one !== reply.protocol)) return; // other replies of the server contain more
    const endpoint = { ...from };
    this.interviews.queryWorld(server, { endpoint, replies: [reply], latencyMs });
  }

  /** Processes the announcement of a Java world. */
  receiveAnnouncement(datagram: Uint8Array, from: Endpoint): void {
    if (!this.networks.some((network) => isInsideNetwork(from, network))) return;
    const announcement = orUndefined(() => decodeAnnouncement(datagram));
    if (announcement === undefined) return;
    const links = this.networks.filter((network) => "zone" in network);
    const endpoint = { address: from.address, port: announcement.port };
    // The system does not report on which link a datagram of the group arrived.
    const announced = links.length === 1 ? inZone(endpoint, links[0].zone) : endpoint;
    const life = LIFETIME_MS.announcement;
    const statement = announcementStatement(announcement);
    const reply = { protocol: LAN_PROTOCOLS.announcement, statement };
    if (this.interviews.takeOptOut(from.address, reply)) return;
    const server = this.interviews.due(formatEndpoint(announced), from.address, life, true);
    if (server === undefined) return;
    this.interviews.queryJava(server, announced, announcement);
  }

  /** Processes the status of a dedicated Java server. */
  receiveSighting(sighting: Omit<Sighting, "socket">): void {
    const { endpoint } = sighting;
    const key = formatEndpoint(endpoint);
    const reply = firstReplyOf(sighting, this.options.protocols);
    if (reply !== undefined && this.interviews.takeOptOut(endpoint.address, reply)) return;
    const server = this.interviews.due(key, endpoint.address, LIFETIME_MS.slp, true);
    if (server === undefined) return;
    const socket = this.networks.findIndex((network) => isInsideNetwork(endpoint, network));
    this.interviews.inspect(server, { ...sighting, socket }, reply);
  }
}

/** An endpoint on a link: a link-local address gets the zone by which it can be reached. */
export function inZone(endpoint: Endpoint, zone: string): Endpoint {
  return isLinkLocal(endpoint.address) ? { ...endpoint, zone } : endpoint;
}

/** The content of a reply, with its bytes if it contains a status. */
function contentOf(
  probe: Probe<unknown>,
  raw: Uint8Array,
): Partial<Pick<Sighting, "status" | "raw">> {
  const content = probe.content?.(raw) ?? {};
  return content.status === undefined ? content : { ...content, raw };
}

function orUndefined<T>(decode: () => T | undefined): T | undefined {
  try {
    return decode();
  } catch (error) {
    if (error instanceof Truncated || error instanceof Malformed) return undefined;
    throw error;
  }
}
