/**
 * One look around: the questions to everybody, and what becomes of each answer.
 *
 * @module
 */
import { type Address, type Endpoint, family, formatEndpoint } from "../../core/address.ts";
import { Malformed, Truncated } from "../../core/bytes.ts";
import { queryWithRetries } from "../../inspect/retry.ts";
import { inspect } from "../../inspect/inspect.ts";
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
import {
  motdAsSent,
  type Protocol,
  type Reply,
  type ReplyContent,
} from "../../protocols/protocol.ts";
import type { Sighting } from "../../core/record.ts";
import { stampClock } from "../../sweep/receiver.ts";
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
import { withoutPlayers } from "../inspect_stage/build_record.ts";

/** Conversations at once. */
const CONCURRENCY = 64;
const EVERYBODY = 0xffffffff;
/** All nodes of a link. No group of Bedrock's own is known. */
const ALL_NODES = 0xff02n << 112n | 1n;
/** A world is gone when it was not heard for so long, milliseconds: as the games have it. */
const LIFETIME_MS = { announcement: 5000, nethernet: 15_000, raknet: 15_000, slp: 40_000 };
/** A server whose row took more than its own message is asked so often, milliseconds. */
const REFRESH_MS = 5000;

/** What an answer makes known of a server; `undefined`: nothing, or that it is to be left alone. */
interface Findings {
  readonly endpoint: Endpoint;
  readonly answers: readonly ProtocolReply[];
  readonly latencyMs: number | null;
}

/** A look around. */
export class Discovery {
  /** The conversations. */
  readonly pool: InspectionPool;
  /** Questions that left. */
  sent = 0;
  readonly #networkId: bigint;
  readonly #optedOut: AddressSet;
  /** When everybody was last asked for NetherNet. */
  #requestedAt = 0;

  /**
   * @param networks Those whose sockets the switchboard has, in that order.
   * @param onError Told what is wrong with us.
   */
  constructor(
    private readonly options: DiscoverySetup,
    private readonly networks: readonly (LocalNetwork | LocalLink)[],
    private readonly board: Demultiplexer,
    onError: (error: Error) => void,
  ) {
    this.pool = new InspectionPool(CONCURRENCY, onError);
    this.#networkId = options.nonce();
    this.#optedOut = new AddressSet(options.optedOut ?? []);
  }

  /** Asks everybody once for RakNet, in the networks of a family. */
  async ping(bits: 4 | 6): Promise<void> {
    const { protocol, ports, clock, token } = this.options;
    const probe = protocol.probe!;
    const stamp = new Stamp(probe);
    const datagram = probe.template.slice();
    const view = new DataView(datagram.buffer);
    for (const port of ports[bits]) {
      stamp.write(view, 0, token & probe.macMask, stampClock(clock.now()));
      await this.#tellAll(bits, datagram, port);
    }
  }

  /** Asks everybody once for NetherNet. */
  async request(): Promise<void> {
    this.#requestedAt = this.options.clock.now();
    const datagram = sealPacket({ type: "request", sender: this.#networkId });
    await this.#tellAll(4, datagram, NETHERNET_PORT);
  }

  async #tellAll(bits: 4 | 6, datagram: Uint8Array, port: number): Promise<void> {
    for (const [i, network] of this.networks.entries()) {
      if (family(network.address) !== bits) continue;
      // Some stacks drop the one, some routers the other.
      const all = "zone" in network ? [ALL_NODES] : [EVERYBODY, broadcastOf(network)];
      for (const address of all) {
        if (address === undefined) continue;
        if (await this.board.sockets[i].send(datagram, { address, port })) this.sent++;
      }
    }
  }

  /** Takes a datagram from one of the networks. */
  receive(datagram: Uint8Array, from: Endpoint, socket: number): void {
    if (!isInsideNetwork(from, this.networks[socket])) return;
    if (this.#receivePong(datagram, from, socket)) return;
    const packet = orUndefined(() => openPacket(datagram));
    if (packet?.type === "response") this.#receiveResponse(packet, from);
  }

  /** Takes an answer to a ping; false when it is none. */
  #receivePong(datagram: Uint8Array, from: Endpoint, socket: number): boolean {
    const { protocol, token, clock } = this.options;
    const probe = protocol.probe!;
    const reply = orUndefined((): Reply | undefined => probe.read(datagram));
    if (reply === undefined) return false;
    const verified = reply.mac === (token & probe.macMask);
    if (!verified && !probe.mayLackToken) return true;
    const neighbour = this.#meet(formatEndpoint(from), from.address, LIFETIME_MS.raknet, verified);
    if (neighbour === undefined) return true;
    const learned = verified
      ? orUndefined((): ReplyContent<unknown> => probe.readContent(datagram.slice()))
      : {};
    if (learned === undefined) return true;
    const at = clock.now();
    const latencyMs = verified && reply.clock !== undefined
      ? (stampClock(at) - reply.clock >>> 0) / 1000
      : undefined;
    const sighting = { protocol: protocol.name, latencyMs, verified, at, socket, ...learned };
    this.#ask(neighbour, (known) => this.#inspect({ endpoint: { ...from }, ...sighting }, known));
    return true;
  }

  /** Takes a world's answer to a request; one that is heard in two networks counts in one. */
  #receiveResponse(packet: NethernetPacket & { type: "response" }, from: Endpoint): void {
    const { sender, data, flags } = packet;
    const key = `nethernet ${sender}`;
    const neighbour = this.#meet(key, from.address, LIFETIME_MS.nethernet, true);
    if (neighbour === undefined) return;
    const status = { networkId: sender, data: orUndefined(() => decodeServerData(data)), flags };
    const answer = { protocol: LAN_PROTOCOLS.nethernet, statement: nethernetStatement(status) };
    const latencyMs = this.options.clock.now() - this.#requestedAt;
    const endpoint = { ...from };
    this.#ask(neighbour, () => Promise.resolve({ endpoint, answers: [answer], latencyMs }));
  }

  /** Takes what a Java world announces. */
  announced(datagram: Uint8Array, from: Endpoint): void {
    if (!this.networks.some((network) => isInsideNetwork(from, network))) return;
    const announcement = orUndefined(() => decodeAnnouncement(datagram));
    if (announcement === undefined) return;
    const endpoint = { address: from.address, port: announcement.port };
    const life = LIFETIME_MS.announcement;
    const neighbour = this.#meet(formatEndpoint(endpoint), from.address, life, true);
    if (neighbour === undefined) return;
    this.#ask(neighbour, (known) => this.#askJava(endpoint, announcement, known));
  }

  /** Takes the status of a dedicated Java server. */
  sighted(sighting: Omit<Sighting, "socket">): void {
    const { endpoint } = sighting;
    const key = formatEndpoint(endpoint);
    const neighbour = this.#meet(key, endpoint.address, LIFETIME_MS.slp, true);
    if (neighbour === undefined) return;
    const socket = this.networks.findIndex((network) => isInsideNetwork(endpoint, network));
    this.#ask(neighbour, (known) => this.#inspect({ ...sighting, socket }, known));
  }

  /** Whether nothing is sent to an address alone, and no row comes of it. */
  isLeftAlone(address: Address): boolean {
    return this.#optedOut.has(address);
  }

  /** The server of a key, if it is due to be asked. */
  #meet(
    key: string,
    address: Address,
    lifetimeMs: number,
    verified: boolean,
  ): FoundServer | undefined {
    const { neighbours, clock, watch } = this.options;
    if (this.isLeftAlone(address)) return undefined;
    const now = clock.now();
    const neighbour = neighbours.meet(key, address, lifetimeMs, now);
    if (neighbour === undefined || neighbour.address !== address) return undefined;
    if (verified) neighbour.heardAt = now;
    if (neighbours.isSettled(neighbour)) return undefined;
    const pause = !watch ? Infinity : neighbour.row?.protocols.length === 1 ? 0 : REFRESH_MS;
    return now - neighbour.askedAt >= pause ? neighbour : undefined;
  }

  /** Asks a server what its own message did not say: all protocols first, then those it spoke. */
  #ask(
    neighbour: FoundServer,
    findings: (protocols: readonly Protocol[]) => Promise<Findings | undefined>,
  ): void {
    const { protocols, clock } = this.options;
    const spoken = neighbour.row?.protocols;
    const known = spoken ? protocols.filter(({ name }) => spoken.includes(name)) : protocols;
    const at = clock.now();
    neighbour.askedAt = at;
    neighbour.asking = true;
    this.pool.add(neighbour.address, async () => {
      const found = await findings(known).catch(noneWhenRefused);
      neighbour.asking = false;
      if (found !== undefined) this.#found(neighbour, found, at);
    });
  }

  #found(neighbour: FoundServer, { endpoint, answers, latencyMs }: Findings, at: number): void {
    const { options } = this;
    const { clock, neighbours, scanId, allProtocols } = options;
    if (answers.some(({ statement }) => options.optsOut(motdAsSent(statement)))) {
      return neighbours.optOut(neighbour);
    }
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
    neighbour.heardAt = Math.max(neighbour.heardAt, at);
    const row = options.players ? record : withoutPlayers(record);
    if (neighbours.list(neighbour, row) && isNew) options.onServer(row);
  }

  async #inspect(
    sighting: Sighting,
    protocols: readonly Protocol[],
  ): Promise<Findings | undefined> {
    const { options, board, networks } = this;
    const { endpoint, protocol, socket } = sighting;
    const { answers, latencyMs } = await inspect(sighting, {
      ...options,
      // The same endpoint may have been found before by another protocol.
      protocols: options.protocols.filter((one) =>
        one.name === protocol || protocols.includes(one)
      ),
      follow: socket >= 0,
      link: (peer, number) => board.link(peer, number),
      exclusiveLink: (peer) => board.exclusiveLink(peer, options.open(networks[socket])),
      optedOut: ({ address }) => this.isLeftAlone(address),
      stop: ({ statement }) => options.optsOut(motdAsSent(statement)),
    });
    return answers.length === 0 ? undefined : { endpoint, answers, latencyMs };
  }

  /** Server List Ping says the rest, where we speak it. */
  async #askJava(
    endpoint: Endpoint,
    announcement: Announcement,
    protocols: readonly Protocol[],
  ): Promise<Findings> {
    const { options } = this;
    const statement = announcementStatement(announcement);
    const own = { protocol: LAN_PROTOCOLS.announcement, statement };
    const slp = protocols.find(({ name }) => name === "slp");
    const { dial, timeoutMs } = options;
    if (slp === undefined || dial === undefined || options.optsOut(motdAsSent(statement))) {
      return { endpoint, answers: [own], latencyMs: null };
    }
    const link = () => dial(endpoint);
    const how = { endpoint, link, exclusive: true, timeoutMs, leavesMute: true };
    const outcome = await queryWithRetries(slp, how, options);
    if (outcome.kind !== "replied") return { endpoint, answers: [own], latencyMs: null };
    const said = { protocol: slp.name, statement: slp.record(outcome.status) };
    return { endpoint, answers: [said, own], latencyMs: outcome.latencyMs };
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
