/**
 * Interviews of the servers on the local networks: when an interview is due, and how its result is
 * listed.
 *
 * @module
 */
import {
  type Address,
  type Endpoint,
  family,
  formatEndpoint,
  isLinkLocal,
  parseHost,
} from "../../core/address.ts";
import {
  attachedOf,
  inspect,
  InspectionPool,
  mergeReplies,
  type ProtocolReply,
  queryWithRetries,
} from "../../inspect/mod.ts";
import type { Demultiplexer } from "../../net/mod.ts";
import {
  type Announcement,
  announcementStatement,
  LAN_PROTOCOLS,
} from "../../protocols/lan/mod.ts";
import { AddressSignals } from "../tables/address_signals.ts";
import { withoutPlayers } from "../../protocols/declared_facts.ts";
import { motdAsSent, type Protocol, type Statement } from "../../protocols/protocol.ts";
import { ATTACHMENTS, type Outcome, type ServerRecord, type Sighting } from "../../core/record.ts";
import { AddressSet } from "../../targets/ranges.ts";
import type { FoundServer } from "./found_servers.ts";
import { noneWhenRefused } from "./system_refusals.ts";
import type { DiscoverySetup, LocalLink, LocalNetwork } from "./discovery_setup.ts";

/** Maximum number of concurrent interviews. */
const CONCURRENCY = 64;
/** In a continuous discovery, the interval between interviews of a server with several protocols, ms. */
const REFRESH_MS = 5000;
/**
 * In a continuous discovery, how long the status of a host with worlds is used, milliseconds. One of a
 * discovery with a time limit is used to its end.
 */
const STATUS_KEPT_MS = 2000;
/** Maximum interval at which an unchanged record of a server is reported again, milliseconds. */
const REPORT_EVERY_MS = 60_000;
/** Maximum number of kept statuses. */
const MAX_STATUSES = 256;

/** The result of one interview: the endpoint, its replies and the round trip. */
export interface Findings {
  readonly endpoint: Endpoint;
  readonly replies: readonly ProtocolReply[];
  readonly latencyMs: number | null;
  /** The key that the server has from now on. Default: that of its first datagram. */
  readonly key?: string;
}

/** Whether a status may be that of a world: name or level are equal, and neither differs. */
function isSameWorld({ columns: a }: Statement, { columns: b }: Statement): boolean {
  const known = (["name", "map"] as const).filter((column) =>
    a[column] != null && b[column] != null
  );
  return known.length > 0 && known.every((column) => a[column] === b[column]);
}

/** The statements of two replies in one protocol as one. The values of the first one are preferred. */
function bothStatements(first: Statement, second: Statement): Statement {
  const values = Object.entries(first.columns).filter(([, value]) => value !== null);
  return {
    ...first,
    columns: { ...second.columns, ...Object.fromEntries(values) },
    flags: [...new Set([...first.flags, ...second.flags])],
    facts: { ...second.facts, ...first.facts },
  };
}

/** Whether a record differs from the one before in more than the times of its reply. */
function isChanged(before: ServerRecord, row: ServerRecord): boolean {
  const text = (record: ServerRecord) =>
    JSON.stringify({ ...record, seen_at: 0, latency_ms: null });
  return text(before) !== text(row);
}

/** Interviews servers, and lists those that have not opted out. */
export class LanInterviews {
  readonly pool: InspectionPool;
  /** Cancels the exchanges with an address that opts out. */
  readonly signals: AddressSignals;
  readonly #optedOut: AddressSet;
  /** The latest statuses of hosts with worlds, and when they were requested. */
  readonly #statuses = new Map<string, { at: number; outcome: Promise<Outcome<unknown>> }>();

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
    this.#optedOut = new AddressSet(options.optedOut ?? []);
  }

  /**
   * Whether an address opted out. No unicast datagrams are sent to such an address, and it gets no
   * row.
   */
  isOptedOut(address: Address): boolean {
    return this.#optedOut.has(address) || this.options.servers.hasOptedOut(address);
  }

  /**
   * Records the opt-out of an address, if a reply from the address contains one.
   *
   * @returns Whether the reply contains an opt-out.
   */
  takeOptOut(address: Address, reply: ProtocolReply): boolean {
    const isOptOut = this.#isOptOut(reply);
    if (isOptOut && !this.isOptedOut(address)) this.#optOut(address);
    return isOptOut;
  }

  #isOptOut({ statement }: ProtocolReply): boolean {
    return this.options.optsOut(motdAsSent(statement));
  }

  /** Removes all servers of an address, and cancels the exchanges with the address. */
  #optOut(address: Address): void {
    this.options.servers.optOut(address);
    this.signals.cancel(address);
    this.demultiplexer.cancelOpen(address);
  }

  /**
   * Records a datagram of a server.
   *
   * @param protocol The protocol of the datagram, if a server whose row does not name it is interviewed
   * again at once.
   * @returns The server with this key; `undefined` when no interview of the server is due.
   */
  due(
    key: string,
    address: Address,
    lifetimeMs: number,
    verified: boolean,
    protocol?: string,
  ): FoundServer | undefined {
    const { servers, clock, continuous } = this.options;
    if (this.isOptedOut(address)) return undefined;
    const now = clock.now();
    const server = servers.getOrAdd(key, address, lifetimeMs, now);
    if (server === undefined || server.address !== address) return undefined;
    if (verified) server.seenAt = now;
    if (servers.isSettled(server)) return undefined;
    const spoken = server.row?.protocols ?? [];
    const isNews = protocol !== undefined && server.row && !spoken.includes(protocol);
    const pause = isNews ? 0 : !continuous ? Infinity : spoken.length === 1 ? 0 : REFRESH_MS;
    return now - server.interviewedAt >= pause ? server : undefined;
  }

  /**
   * Interviews a server: the first time in all protocols, later only in those that its row names.
   */
  #start(
    server: FoundServer,
    interview: (
      protocols: readonly Protocol[],
      signal: AbortSignal,
    ) => Promise<Findings | undefined>,
  ): void {
    const { protocols, clock } = this.options;
    const spoken = server.row?.protocols;
    const known = spoken ? protocols.filter(({ name }) => spoken.includes(name)) : protocols;
    const at = clock.now();
    server.interviewedAt = at;
    server.isInterviewed = true;
    const { address } = server;
    this.pool.add(address, async () => {
      const found = this.isOptedOut(address)
        ? undefined
        : await this.signals.run(address, (signal) => interview(known, signal))
          .catch(noneWhenRefused);
      server.isInterviewed = false;
      if (found !== undefined) this.#found(server, found, at);
    });
  }

  #found(found: FoundServer, { endpoint, replies, latencyMs, key }: Findings, at: number): void {
    const { options } = this;
    const { clock, servers, scanId, allProtocols } = options;
    const server = key === undefined ? found : servers.join(found, key);
    if (server !== found && server.row !== undefined) return; // it is listed already
    if (this.isOptedOut(server.address)) return;
    if (replies.some((reply) => this.takeOptOut(server.address, reply))) return;
    const seenAt = Math.round(clock.wall() - (clock.now() - at));
    const record = mergeReplies(replies, {
      endpoint,
      seenAt,
      latencyMs,
      scanId,
      requestedAs: null,
      allProtocols,
    });
    options.counts.replies++;
    const { row: before } = server;
    server.seenAt = Math.max(server.seenAt, at);
    const row = options.players ? record : withoutPlayers(record, allProtocols);
    if (!servers.list(server, row)) return;
    const isDue = before === undefined || isChanged(before, row) ||
      at - server.reportedAt >= REPORT_EVERY_MS;
    if (!isDue) return;
    server.reportedAt = at;
    const reported = options.attach
      ? { ...row, [ATTACHMENTS]: attachedOf(replies, options.players ? "all" : "icons") }
      : row;
    if (before === undefined) options.onServer(reported);
    else options.onChange?.(reported);
  }

  /**
   * Interviews the server of a sighting.
   *
   * @param firstReply The reply that contains the status of the sighting, if it has one.
   */
  inspect(server: FoundServer, sighting: Sighting, firstReply: ProtocolReply | undefined): void {
    this.#start(server, (known, signal) => this.#inspect(sighting, firstReply, known, signal));
  }

  /**
   * Queries an announced Java world. If the zone of its address is unknown, the world is queried on each
   * link at once, and the first reply tells the zone.
   */
  queryJava(server: FoundServer, endpoint: Endpoint, announcement: Announcement): void {
    const { address, zone = parseHost(server.row?.host ?? "")?.zone } = endpoint;
    const links = this.networks.flatMap((network) => "zone" in network ? [network.zone] : []);
    const zones = zone !== undefined ? [zone] : isLinkLocal(address) ? links : [];
    const endpoints = zones.map((zone) => ({ ...endpoint, zone }));
    this.#start(
      server,
      (known, signal) =>
        this.#queryJava(
          endpoints.length === 0 ? [endpoint] : endpoints,
          announcement,
          known,
          signal,
        ),
    );
  }

  /**
   * Queries the world of a NetherNet response on the port that players type. The world stays at the port
   * of its response if that port does not reply, or replies with the status of another world.
   */
  queryWorld(server: FoundServer, response: Findings): void {
    this.#start(server, (known, signal) => this.#queryWorld(response, known, signal));
  }

  async #queryWorld(
    response: Findings,
    protocols: readonly Protocol[],
    signal: AbortSignal,
  ): Promise<Findings> {
    const { endpoint: { address, zone }, replies: [own] } = response;
    const protocol = protocols.find(({ name }) => name === own.protocol);
    const port = protocol?.ports[family(address)][0];
    if (protocol === undefined || port === undefined) return response;
    const endpoint = { address, port, zone };
    const outcome = await this.#statusOf(protocol, endpoint, signal);
    if (outcome?.kind !== "replied" || protocol.isWeak?.(outcome.status)) return response;
    const { latencyMs, status, raw } = outcome;
    const shown = protocol.record(status);
    if (!isSameWorld(shown, own.statement)) return response;
    const replies = [{
      protocol: protocol.name,
      statement: bothStatements(shown, own.statement),
      raw,
    }];
    return { endpoint, replies, latencyMs, key: formatEndpoint(endpoint) };
  }

  /**
   * The status of a host in a protocol. A host is queried once in a time, however many worlds it claims
   * to have.
   */
  #statusOf(
    protocol: Protocol,
    endpoint: Endpoint,
    signal: AbortSignal,
  ): Promise<Outcome<unknown>> | undefined {
    const { dial, timeoutMs, clock, continuous } = this.options;
    if (dial === undefined) return undefined;
    const now = clock.now();
    const key = formatEndpoint(endpoint);
    const known = this.#statuses.get(key);
    const keptMs = continuous ? STATUS_KEPT_MS : Infinity;
    if (known !== undefined && now - known.at < keptMs) return known.outcome;
    const open = () => Promise.resolve(dial(endpoint, signal));
    const how = { endpoint, open, exclusive: true, timeoutMs, stopsWithoutFirstReply: true };
    const outcome = queryWithRetries(protocol, how, { ...this.options, signal, retries: 0 });
    if (this.#statuses.size >= MAX_STATUSES) this.#statuses.clear();
    this.#statuses.set(key, { at: now, outcome });
    return outcome;
  }

  async #inspect(
    sighting: Sighting,
    firstReply: ProtocolReply | undefined,
    protocols: readonly Protocol[],
    signal: AbortSignal,
  ): Promise<Findings | undefined> {
    const { options, demultiplexer, networks } = this;
    const { endpoint, protocol, socket } = sighting;
    const { replies, latencyMs } = await inspect(sighting, {
      ...options,
      // An endpoint that was found in another protocol is queried in the protocol of this sighting
      // too.
      protocols: options.protocols.filter((one) =>
        one.name === protocol || protocols.includes(one)
      ),
      signal,
      firstReply,
      follow: socket >= 0,
      links: {
        shared: () => demultiplexer.link(endpoint, socket),
        exclusive: () => demultiplexer.exclusiveLink(endpoint, options.open(networks[socket])),
        stream: options.dial && (() => options.dial!(endpoint, signal)),
      },
      optedOut: () => this.isOptedOut(endpoint.address),
      optsOut: (reply) => this.#isOptOut(reply),
    });
    return replies.length === 0 ? undefined : { endpoint, replies, latencyMs };
  }

  /** Adds the reply to a Server List Ping to an announcement, if that protocol is selected. */
  async #queryJava(
    endpoints: readonly Endpoint[],
    announcement: Announcement,
    protocols: readonly Protocol[],
    signal: AbortSignal,
  ): Promise<Findings> {
    const { options } = this;
    const statement = announcementStatement(announcement);
    const own = { protocol: LAN_PROTOCOLS.announcement, statement };
    const slp = protocols.find(({ name }) => name === "slp");
    const { dial, timeoutMs } = options;
    const { address, port } = endpoints[0];
    let findings: Findings = {
      endpoint: endpoints.length === 1 ? endpoints[0] : { address, port },
      replies: [own],
      latencyMs: null,
    };
    if (slp === undefined || dial === undefined) return findings;
    const found = new AbortController();
    const ending = AbortSignal.any([signal, found.signal]);
    await Promise.all(endpoints.map(async (endpoint) => {
      const open = () => Promise.resolve(dial(endpoint, ending));
      const how = { endpoint, open, exclusive: true, timeoutMs, stopsWithoutFirstReply: true };
      const outcome = await queryWithRetries(slp, how, { ...options, signal: ending });
      if (outcome.kind !== "replied" || found.signal.aborted) return;
      found.abort();
      const status = { protocol: slp.name, statement: slp.record(outcome.status) };
      findings = { endpoint, replies: [status, own], latencyMs: outcome.latencyMs };
    }));
    return findings;
  }
}
