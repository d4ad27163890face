/**
 * Finding servers on the local networks: one ping to everybody, and a conversation with each that
 * answers.
 *
 * @module
 */
import { type Address, type Endpoint, endpointKey } from "../address.ts";
import { Malformed, Truncated } from "../bytes.ts";
import { inspect } from "../inspect/inspect.ts";
import type { Patience } from "../inspect/attempt.ts";
import { mergeAnswers } from "../inspect/merge.ts";
import { Pool } from "../inspect/pool.ts";
import { sleep } from "../net/clock.ts";
import type { DatagramSocket } from "../net/socket.ts";
import { Switchboard } from "../net/switchboard.ts";
import { Throttle } from "../net/throttle.ts";
import type { Learned, Protocol, Reply } from "../protocols/protocol.ts";
import type { ServerRecord, Sighting } from "../record.ts";
import { stampClock } from "../sweep/receiver.ts";
import { withoutPlayers } from "./players.ts";

/** An IPv4 network that we are part of. */
export interface LocalNetwork {
  /** Our address in it. */
  readonly address: number;
  /** Its network mask. */
  readonly netmask: number;
}

/** How to look around. */
export interface LanOptions extends Patience {
  /** The networks. */
  readonly networks: readonly LocalNetwork[];
  /** The protocol that is asked for, which must have a probe. */
  readonly protocol: Protocol;
  /** All protocols that each server is asked. */
  readonly protocols: readonly Protocol[];
  /** The port to ask. */
  readonly port: number;
  /** How long to listen, milliseconds. */
  readonly listenMs: number;
  /** How long to wait for an answer in a conversation, milliseconds. */
  readonly timeoutMs: number;
  /** Opens a socket that may send to everybody. */
  readonly open: (address: Address) => DatagramSocket;
  /** 31 random bits that prove that an answer is to our ping. */
  readonly token: number;
  /** Whether a MOTD asks scanners to stay away. */
  readonly optsOut: (motd: string) => boolean;
  /** Whether rows name players. */
  readonly players: boolean;
  /** The name for the rows. */
  readonly scanId: string;
  /** Gets each server once. */
  readonly onServer: (record: ServerRecord) => void;
}

/** What became of the pings. */
export interface LanEnd {
  /** How many left. */
  readonly sent: number;
  /** Why the system refused to send others: error codes. */
  readonly refusals: readonly string[];
}

/** How often everybody is asked, a second apart. */
const PINGS = 3;
const PING_EVERY_MS = 1000;
/** Conversations at once, and datagrams a second to one server. */
const CONCURRENCY = 64;
const HOST_RATE = 5;
const EVERYBODY = 0xffffffff;
/** Servers to ask, and of one address: a neighbour that answers from all its ports ends nothing. */
const MOST_SERVERS = 4096;
const MOST_OF_ADDRESS = 32;

/** Looks around until the time is up, and those who answered have been asked. */
export async function discover(options: LanOptions): Promise<LanEnd> {
  const { clock, signal, listenMs } = options;
  const throttle = new Throttle({ rate: undefined, netRate: undefined, hostRate: HOST_RATE });
  const sockets = options.networks.map(({ address }) => options.open(address));
  await using board = new Switchboard(sockets, throttle, clock);
  const run = new Discovery(options, board);
  const { promise: failed, reject } = Promise.withResolvers<never>();
  board.listen((datagram, from, socket) => run.receive(datagram, from, socket)).catch(reject);
  const end = clock.now() + listenMs;
  const work = async () => {
    for (let ping = 0; ping < PINGS && !signal.aborted && clock.now() <= end; ping++) {
      await run.ping();
      await sleep(clock, Math.min(PING_EVERY_MS, end - clock.now()), signal);
    }
    await sleep(clock, Math.max(0, end - clock.now()), signal);
    await run.pool.idle();
  };
  await Promise.race([work(), failed]);
  if (run.error !== undefined) throw run.error;
  const refusals = new Set(sockets.flatMap(({ errors }) => [...errors.send.keys()]));
  return { sent: run.sent, refusals: [...refusals] };
}

/** Everybody's address in a network; `undefined` where a network has none. */
export function broadcastOf({ address, netmask }: LocalNetwork): number | undefined {
  const hosts = ~netmask >>> 0;
  return hosts < 3 ? undefined : (address | hosts) >>> 0;
}

class Discovery {
  readonly pool = new Pool(CONCURRENCY, (error) => this.error ??= error);
  error: Error | undefined;
  sent = 0;
  readonly #seen = new Set<number | bigint>();
  readonly #seenOf = new Map<Address, number>();
  readonly #guids = new Set<string>();

  constructor(
    private readonly options: LanOptions,
    private readonly board: Switchboard,
  ) {}

  /** Asks everybody once, on every network. */
  async ping(): Promise<void> {
    const { networks, protocol, port, clock, token } = this.options;
    const { template, stamp, macMask } = protocol.probe!;
    for (const [i, network] of networks.entries()) {
      const datagram = template.slice();
      stamp(new DataView(datagram.buffer), 0, token & macMask, stampClock(clock.now()));
      const socket = this.board.sockets[i];
      // Some stacks drop the one, some routers the other.
      for (const address of [EVERYBODY, broadcastOf(network)]) {
        if (address !== undefined && await socket.send(datagram, { address, port })) this.sent++;
      }
    }
  }

  /** Takes a datagram from one of the networks. */
  receive(datagram: Uint8Array, from: Endpoint, socket: number): void {
    const { networks, protocol, token, clock } = this.options;
    const { address, netmask } = networks[socket];
    const inside = ((Number(from.address) ^ address) & netmask) === 0;
    if (!inside || this.#seen.has(endpointKey(from))) return;
    const ofAddress = this.#seenOf.get(from.address) ?? 0;
    if (this.#seen.size >= MOST_SERVERS || ofAddress >= MOST_OF_ADDRESS) return;
    const probe = protocol.probe!;
    const reply = orUndefined((): Reply | undefined => probe.read(datagram));
    if (reply === undefined) return;
    const verified = reply.mac === (token & probe.macMask);
    if (!verified && !probe.mayLackToken) return;
    const learned = verified
      ? orUndefined((): Learned<unknown> => probe.learn(datagram.slice()))
      : {};
    if (learned === undefined) return;
    this.#seen.add(endpointKey(from));
    this.#seenOf.set(from.address, ofAddress + 1);
    const at = clock.now();
    const latencyMs = verified && reply.clock !== undefined
      ? (stampClock(at) - reply.clock >>> 0) / 1000
      : undefined;
    const endpoint = { ...from };
    const sighting = {
      endpoint,
      protocol: protocol.name,
      latencyMs,
      verified,
      at,
      socket,
      ...learned,
    };
    this.pool.add(from.address, () => this.#inspect(sighting));
  }

  async #inspect(sighting: Sighting): Promise<void> {
    const { options, board } = this;
    const { clock, networks } = options;
    const { endpoint, socket } = sighting;
    const { answers, latencyMs, stopped } = await inspect(sighting, {
      ...options,
      follow: true,
      link: (peer, number) => board.link(peer, number),
      soleLink: (peer) => board.soleLink(peer, options.open(networks[socket].address)),
      stop: ({ statement }) => options.optsOut(statement.columns.motd ?? ""),
    });
    if (answers.length === 0 || stopped) return;
    const seenAt = Math.round(clock.wall() - (clock.now() - sighting.at));
    const context = { endpoint, seenAt, latencyMs, scanId: options.scanId, requestedAs: null };
    const record = mergeAnswers(answers, context);
    // A server in several of our networks answers in each: its GUID tells.
    if (record.guid !== null && this.#guids.has(record.guid)) return;
    if (record.guid !== null) this.#guids.add(record.guid);
    options.onServer(options.players ? record : withoutPlayers(record));
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
