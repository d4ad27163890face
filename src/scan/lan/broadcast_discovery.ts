/**
 * Discovery on the local networks: broadcasts probes and queries each host that replies.
 *
 * @module
 */
import { type Address, type Endpoint, family, formatEndpoint } from "../../core/address.ts";
import { Malformed, Truncated } from "../../core/bytes.ts";
import { queryWithRetries } from "../../inspect/retry.ts";
import { firstReplyOf, inspect } from "../../inspect/inspect.ts";
import { mergeReplies, type ProtocolReply } from "../../inspect/merge.ts";
import { InspectionPool } from "../../inspect/inspection_pool.ts";
import { Stamp } from "../../net/socket.ts";
import type { Demultiplexer } from "../../net/demultiplexer.ts";
import {
  type Announcement,
  announcementStatement,
  decodeAnnouncement,
  decodeServerData,
  LAN_PROTOCOLS,
  NETHERNET_PORT,
  type NethernetPacket,
  nethernetStatement,
  openPacket,
  sealPacket,
} from "../../protocols/lan/mod.ts";
import { AddressSignals } from "../address_signals.ts";
import { withoutPlayers } from "../../protocols/declared_facts.ts";
import { PROTOCOLS } from "../../protocols/list.ts";
import {
  motdAsSent,
  type Protocol,
  type Reply,
  type ReplyContent,
} from "../../protocols/protocol.ts";
import type { Sighting } from "../../core/record.ts";
import { stampClock } from "../../sweep/probe_kind.ts";
import { AddressSet } from "../../targets/ranges.ts";
import type { FoundServer } from "./found_servers.ts";
import { noneWhenRefused } from "./system_refusals.ts";
import {
  broadcastOf,
  type DiscoverySetup,
  isInsideNetwork,
  type LocalLink,
  type LocalNetwork,
} from "./discovery_setup.ts";

/** Maximum number of concurrent interviews. */
const CONCURRENCY = 64;
/** The limited broadcast address, 255.255.255.255. */
const LIMITED_BROADCAST = 0xffffffff;
/** The multicast address of all nodes, `ff02::1`. Bedrock is not known to have its own group. */
const ALL_NODES = 0xff02n << 112n | 1n;
/** Time without a datagram after which a server is dropped, milliseconds, as in the games. */
const LIFETIME_MS = { announcement: 5000, nethernet: 15_000, raknet: 15_000, slp: 40_000 };
/** In watch mode, interval between interviews of a server with two protocols or more, milliseconds. */
const REFRESH_MS = 5000;

/** The result of one interview: the endpoint, its replies and the round trip. */
interface Findings {
  readonly endpoint: Endpoint;
  readonly answers: readonly ProtocolReply[];
  readonly latencyMs: number | null;
}

/** Broadcasts probes, reads their replies and interviews the servers that sent them. */
export class Discovery {
  /** The pool in which interviews run. */
  readonly pool: InspectionPool;
  /** Cancels what is sent to an address that opts out. */
  readonly signals: AddressSignals;
  /** Number of broadcast datagrams sent. */
  sent = 0;
  readonly #networkId: bigint;
  readonly #optedOut: AddressSet;
  /** When the last NetherNet request was broadcast, milliseconds of the clock. */
  #requestedAt = 0;

  /**
   * @param networks The networks of the demultiplexer's sockets, in the same order as the sockets.
   * @param onError Called when an interview fails because of a defect in the program.
   */
  constructor(
    private readonly options: DiscoverySetup,
    private readonly networks: readonly (LocalNetwork | LocalLink)[],
    private readonly demultiplexer: Demultiplexer,
    onError: (error: Error) => void,
  ) {
    this.pool = new InspectionPool(CONCURRENCY, onError);
    this.signals = new AddressSignals(options.signal);
    this.#networkId = options.nonce();
    this.#optedOut = new AddressSet(options.optedOut ?? []);
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
    await this.#broadcast(4, datagram, NETHERNET_PORT);
  }

  async #broadcast(bits: 4 | 6, datagram: Uint8Array, port: number): Promise<void> {
    for (const [i, network] of this.networks.entries()) {
      if (family(network.address) !== bits) continue;
      // Some stacks drop the limited broadcast, and some routers drop the directed one.
      const all = "zone" in network ? [ALL_NODES] : [LIMITED_BROADCAST, broadcastOf(network)];
      for (const address of all) {
        if (address === undefined) continue;
        if (await this.demultiplexer.sockets[i].send(datagram, { address, port })) this.sent++;
      }
    }
  }

  /** Processes a datagram that a network's socket received. */
  receive(datagram: Uint8Array, from: Endpoint, socket: number): void {
    if (!isInsideNetwork(from, this.networks[socket])) return;
    if (this.#receivePong(datagram, from, socket)) return;
    const packet = orUndefined(() => openPacket(datagram));
    if (packet?.type === "response") this.#receiveResponse(packet, from);
  }

  /** Processes the reply to a ping. Returns false when the datagram is not such a reply. */
  #receivePong(datagram: Uint8Array, from: Endpoint, socket: number): boolean {
    const { protocol, token, clock } = this.options;
    const probe = protocol.probe!;
    const reply = orUndefined((): Reply | undefined => probe.read(datagram));
    if (reply === undefined) return false;
    const verified = reply.mac === (token & probe.macMask);
    if (!verified && !probe.mayLackToken) return true;
    const neighbour = this.#dueForInterview(
      formatEndpoint(from),
      from.address,
      LIFETIME_MS.raknet,
      verified,
    );
    if (neighbour === undefined) return true;
    const content = verified
      ? orUndefined((): ReplyContent<unknown> => probe.readContent(datagram.slice()))
      : {};
    if (content === undefined) return true;
    const at = clock.now();
    const latencyMs = verified && reply.clock !== undefined
      ? (stampClock(at) - reply.clock >>> 0) / 1000
      : undefined;
    const about = { protocol: protocol.name, latencyMs, verified, at, socket };
    const sighting: Sighting = { endpoint: { ...from }, ...about, ...content };
    const first = firstReplyOf(sighting, [protocol]);
    if (first !== undefined && this.#isOptOut(first)) this.#optOut(from.address);
    else this.#interview(neighbour, (known, signal) => this.#inspect(sighting, known, signal));
    return true;
  }

  /** Processes a NetherNet response. A world that responds in two networks is listed once. */
  #receiveResponse(packet: NethernetPacket & { type: "response" }, from: Endpoint): void {
    const { sender, data, flags } = packet;
    const key = `nethernet ${sender}`;
    const neighbour = this.#dueForInterview(key, from.address, LIFETIME_MS.nethernet, true);
    if (neighbour === undefined) return;
    const status = { networkId: sender, data: orUndefined(() => decodeServerData(data)), flags };
    const answer = { protocol: LAN_PROTOCOLS.nethernet, statement: nethernetStatement(status) };
    const latencyMs = this.options.clock.now() - this.#requestedAt;
    const endpoint = { ...from };
    this.#interview(neighbour, () => Promise.resolve({ endpoint, answers: [answer], latencyMs }));
  }

  /** Processes the announcement of a Java world. */
  receiveAnnouncement(datagram: Uint8Array, from: Endpoint): void {
    if (!this.networks.some((network) => isInsideNetwork(from, network))) return;
    const announcement = orUndefined(() => decodeAnnouncement(datagram));
    if (announcement === undefined) return;
    const endpoint = { address: from.address, port: announcement.port };
    const life = LIFETIME_MS.announcement;
    const neighbour = this.#dueForInterview(formatEndpoint(endpoint), from.address, life, true);
    if (neighbour === undefined) return;
    this.#interview(
      neighbour,
      (known, signal) => this.#queryJava(endpoint, announcement, known, signal),
    );
  }

  /** Processes the status of a dedicated Java server. */
  receiveSighting(sighting: Omit<Sighting, "socket">): void {
    const { endpoint } = sighting;
    const key = formatEndpoint(endpoint);
    const neighbour = this.#dueForInterview(key, endpoint.address, LIFETIME_MS.slp, true);
    if (neighbour === undefined) return;
    const socket = this.networks.findIndex((network) => isInsideNetwork(endpoint, network));
    this.#interview(
      neighbour,
      (known, signal) => this.#inspect({ ...sighting, socket }, known, signal),
    );
  }

  /** Whether an address opted out: it is sent no unicast datagram and gets no row. */
  isOptedOut(address: Address): boolean {
    return this.#optedOut.has(address) || this.options.neighbours.hasOptedOut(address);
  }

  #isOptOut({ statement }: ProtocolReply): boolean {
    return this.options.optsOut(motdAsSent(statement));
  }

  /** Removes all servers of an address, and cancels what is sent to it. */
  #optOut(address: Address): void {
    this.options.neighbours.optOut(address);
    this.signals.cancel(address);
    this.demultiplexer.cancel(address);
  }

  /**
   * Records a datagram of a server.
   *
   * @returns The server with this key; `undefined` when no interview of the server is due.
   */
  #dueForInterview(
    key: string,
    address: Address,
    lifetimeMs: number,
    verified: boolean,
  ): FoundServer | undefined {
    const { neighbours, clock, watch } = this.options;
    if (this.isOptedOut(address)) return undefined;
    const now = clock.now();
    const neighbour = neighbours.getOrAdd(key, address, lifetimeMs, now);
    if (neighbour === undefined || neighbour.address !== address) return undefined;
    if (verified) neighbour.seenAt = now;
    if (neighbours.isSettled(neighbour)) return undefined;
    const pause = !watch ? Infinity : neighbour.row?.protocols.length === 1 ? 0 : REFRESH_MS;
    return now - neighbour.interviewedAt >= pause ? neighbour : undefined;
  }

  /** Interviews a server: first in all protocols, later only in those that its row names. */
  #interview(
    neighbour: FoundServer,
    interview: (
      protocols: readonly Protocol[],
      signal: AbortSignal,
    ) => Promise<Findings | undefined>,
  ): void {
    const { protocols, clock } = this.options;
    const spoken = neighbour.row?.protocols;
    const known = spoken ? protocols.filter(({ name }) => spoken.includes(name)) : protocols;
    const at = clock.now();
    neighbour.interviewedAt = at;
    neighbour.isInterviewed = true;
    const { address } = neighbour;
    this.pool.add(address, async () => {
      const found = this.isOptedOut(address)
        ? undefined
        : await this.signals.run(address, (signal) => interview(known, signal))
          .catch(noneWhenRefused);
      neighbour.isInterviewed = false;
      if (found !== undefined) this.#found(neighbour, found, at);
    });
  }

  #found(neighbour: FoundServer, { endpoint, answers, latencyMs }: Findings, at: number): void {
    const { options } = this;
    const { clock, neighbours, scanId, allProtocols = PROTOCOLS } = options;
    if (this.isOptedOut(neighbour.address)) return;
    if (answers.some((answer) => this.#isOptOut(answer))) return this.#optOut(neighbour.address);
    const seenAt = Math.round(clock.wall() - (clock.now() - at));
    const record = mergeReplies(answers, {
      endpoint,
      seenAt,
      latencyMs,
      scanId,
      requestedAs: null,
      allProtocols,
    });
    const isNew = neighbour.row === undefined;
    neighbour.seenAt = Math.max(neighbour.seenAt, at);
    const row = options.players ? record : withoutPlayers(record, allProtocols);
    if (neighbours.list(neighbour, row) && isNew) options.onServer(row);
  }

  async #inspect(
    sighting: Sighting,
    protocols: readonly Protocol[],
    signal: AbortSignal,
  ): Promise<Findings | undefined> {
    const { options, demultiplexer, networks } = this;
    const { endpoint, protocol, socket } = sighting;
    const { answers, latencyMs } = await inspect(sighting, {
      ...options,
      // Another protocol may have found this endpoint before.
      protocols: options.protocols.filter((one) =>
        one.name === protocol || protocols.includes(one)
      ),
      signal,
      follow: socket >= 0,
      link: (peer, number) => demultiplexer.link(peer, number),
      exclusiveLink: (peer) => demultiplexer.exclusiveLink(peer, options.open(networks[socket])),
      optedOut: ({ address }) => this.isOptedOut(address),
      stop: (answer) => this.#isOptOut(answer),
    });
    return answers.length === 0 ? undefined : { endpoint, answers, latencyMs };
  }

  /** Completes an announcement with a Server List Ping, when that protocol is selected. */
  async #queryJava(
    endpoint: Endpoint,
    announcement: Announcement,
    protocols: readonly Protocol[],
    signal: AbortSignal,
  ): Promise<Findings> {
    const { options } = this;
    const statement = announcementStatement(announcement);
    const own = { protocol: LAN_PROTOCOLS.announcement, statement };
    const slp = protocols.find(({ name }) => name === "slp");
    const { dial, timeoutMs } = options;
    if (slp === undefined || dial === undefined || this.#isOptOut(own)) {
      return { endpoint, answers: [own], latencyMs: null };
    }
    const link = () => dial(endpoint, signal);
    const how = { endpoint, link, exclusive: true, timeoutMs, leavesMute: true };
    const outcome = await queryWithRetries(slp, how, { ...options, signal });
    if (outcome.kind !== "replied") return { endpoint, answers: [own], latencyMs: null };
    const status = { protocol: slp.name, statement: slp.record(outcome.status) };
    return { endpoint, answers: [status, own], latencyMs: outcome.latencyMs };
  }
}

function orUndefined<T>(decode: () => T | undefined): T | undefined {
  try {
    return decode();
  } catch (error) {
    if (error instanceof Truncated || error instanceof Malformed) return undefined;
    throw error;
  }
}
