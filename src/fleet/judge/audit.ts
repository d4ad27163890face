/**
 * Checks the log of a simulated fleet for violations: traffic that a polite scanner never sends.
 *
 * @module
 */
import { parseEndpoint } from "../../core/address.ts";
import type { WitnessLine } from "../witness_log.ts";
import { BAIT_PORT } from "../bait_port.ts";
import { ConnectionAudit, OpenConnectionAudit, openingOf } from "./connection_audit.ts";
import type { Range } from "../../targets/ranges.ts";

/** The rules of the scan whose log is checked. */
export interface AuditRules {
  /** Cap of datagrams per second and host; `undefined`: no cap. */
  readonly hostRate?: number;
  /** Cap of datagrams per second and /24; `undefined`: no cap. */
  readonly netRate?: number;
  /** Addresses that must not be probed. */
  readonly excluded?: readonly Range[];
  /**
   * Endpoints (`host:port`) of SQP servers that were known to the scanner before the log begins.
   */
  readonly knownForSqp?: ReadonlySet<string>;
  /**
   * Protocols in which each endpoint (`host:port`) may be queried. An endpoint that is not in the map
   * may be queried in all protocols.
   */
  readonly sendable?: ReadonlyMap<string, readonly string[]>;
}

/** Kinds of datagrams that a scanner sends. */
type Kind =
  | "ping"
  | "handshake"
  | "stat"
  | "challenge"
  | "query"
  | "request1"
  | "other";

/**
 * The kind of a datagram. The first byte of an SQP query is that of a ping; an SQP query has 8
 * bytes.
 */
function kindOf(hex: string): Kind {
  if (hex.startsWith("01") && hex.length === 16) return "query";
  if (hex.startsWith("01")) return "ping";
  if (hex.startsWith("05")) return "request1";
  if (hex.startsWith("fefd09")) return "handshake";
  if (hex.startsWith("fefd00")) return "stat";
  return hex.startsWith("00") ? "challenge" : "other";
}

/**
 * The kind of the first message of an exchange. A stat belongs to a handshake, and an SQP query to
 * a challenge request.
 */
function protocolOf(kind: Kind): string {
  return kind === "stat" ? "handshake" : kind === "query" ? "challenge" : kind;
}

/** The protocol of each kind of datagram. */
const PROTOCOL_OF: Record<Kind, string> = {
  ping: "raknet",
  request1: "raknet",
  handshake: "query",
  stat: "query",
  challenge: "sqp",
  query: "sqp",
  other: "none",
};

/** The protocol of each opening of a connection. */
const PROTOCOL_OF_OPENING = {
  status: "slp",
  legacy: "slp",
  join: "nethernet",
  handshake: "nethernet",
};

/** Allowed sizes of datagrams by kind, bytes. */
const SIZES: Record<Kind, readonly number[]> = {
  ping: [33],
  handshake: [7],
  stat: [11, 15, 19],
  challenge: [5],
  query: [8],
  request1: [548, 1172, 1464],
  other: [],
};

/**
 * Checks a log for violations. It checks the sizes of datagrams, the tokens of stat requests, the
 * challenges of SQP queries, open connection requests, TCP queries, suppressed protocols, exclusions
 * and caps. It reports SQP probes to endpoints that were not pinged or that replied in another
 * protocol, pings to SQP servers, and unsolicited datagrams of two kinds within a second. For caps,
 * each connection and each query on a connection counts as a datagram.
 *
 * @returns One line per violation.
 */
export function audit(lines: Iterable<WitnessLine>, rules: AuditRules): string[] {
  const faults: string[] = [];
  const hosts = new Map<string, HostAudit>();
  const perHost = new Map<string, number[]>();
  const perNet = new Map<string, number[]>();
  for (const line of lines) {
    const host = hosts.get(line.host) ??
      new HostAudit(rules.knownForSqp?.has(line.host) ?? false);
    hosts.set(line.host, host);
    faults.push(
      ...host.read(line).map((fault) => `${line.host} at ${line.at.toFixed(0)} ms: ${fault}`),
    );
    if (line.way === "out" || line.event === "closed") continue;
    faults.push(...unwanted(line, rules));
    const { address } = parseEndpoint(line.host)!;
    if (rules.excluded?.some(({ start, end }) => address >= start && address < end)) {
      faults.push(`${line.host}: probed although excluded`);
    }
    const name = line.host.slice(0, line.host.lastIndexOf(":"));
    append(perHost, name, line.at);
    append(perNet, name.slice(0, name.lastIndexOf(".")), line.at);
  }
  if (rules.hostRate !== undefined) faults.push(...excess(perHost, rules.hostRate, "host"));
  if (rules.netRate !== undefined) faults.push(...excess(perNet, rules.netRate, "network"));
  return faults;
}

/** Violations of {@linkcode AuditRules.sendable}, and connections to the port of redirects. */
function unwanted(line: WitnessLine, { sendable }: AuditRules): string[] {
  const { host, connection, hex } = line;
  if (line.event === "open" && host.endsWith(`:${BAIT_PORT}`)) {
    return [`${host}: a redirect was followed`];
  }
  const allowed = sendable?.get(host);
  if (allowed === undefined) return [];
  const what = connection === undefined ? kindOf(hex) : "connection";
  const protocols = connection === undefined ? [PROTOCOL_OF[kindOf(hex)]] : protocolsOver(line);
  if (protocols.some((name) => allowed.includes(name))) return [];
  return [`${host}: a ${what}, but only ${allowed.join(", ") || "nothing"} may be sent`];
}

/** The protocols to which an event of a connection may belong. */
function protocolsOver({ event, hex }: WitnessLine): readonly string[] {
  const opening = event === "open" ? undefined : openingOf(hex);
  return opening === undefined ? ["slp", "nethernet"] : [PROTOCOL_OF_OPENING[opening]];
}

function append(lists: Map<string, number[]>, key: string, at: number): void {
  const list = lists.get(key);
  if (list === undefined) lists.set(key, [at]);
  else list.push(at);
}

/**
 * The period in which datagrams are counted for caps, milliseconds: a second, less the possible
 * delay of the log.
 */
const WINDOW_MS = 950;

/** Hosts or networks that received more datagrams within a second than a cap allows. */
function excess(lists: Map<string, number[]>, cap: number, what: string): string[] {
  const faults: string[] = [];
  for (const [name, times] of lists) {
    const first = times.findIndex((at, i) => i >= cap && at - times[i - cap] < WINDOW_MS);
    if (first >= 0) faults.push(`${what} ${name}: more than ${cap} datagrams within a second`);
  }
  return faults;
}

class HostAudit {
  /** Tokens that the host issued, as the four bytes of a stat request, by peer. */
  readonly #tokens = new Map<string, Set<string>>();
  readonly #openConnections = new OpenConnectionAudit();
  readonly #streams = new ConnectionAudit();
  #last: { kind: Kind; at: number; replied: boolean } | undefined;
  /** SQP challenges that were issued but not used, by peer and port. */
  readonly #challenges = new Map<string, Set<string>>();
  #pinged = false;
  /** Whether the host sent anything except SQP replies. */
  #replied = false;
  /**
   * Whether the host is known as an SQP server, from before the log or by its reply to a query.
   */
  #speaksSqp: boolean;

  constructor(knownForSqp: boolean) {
    this.#speaksSqp = knownForSqp;
  }

  read(line: WitnessLine): string[] {
    if (line.connection !== undefined) {
      if (line.way === "out" && line.size > 0 && this.#last !== undefined) {
        this.#last.replied = true;
      }
      return this.#streams.read(line);
    }
    const peer = line.peer.slice(0, line.peer.lastIndexOf(":"));
    const faults = this.#openConnections.read(line);
    if (line.way === "out") {
      this.#noteReply(line, peer);
      return faults;
    }
    const kind = kindOf(line.hex);
    if (!SIZES[kind].includes(line.size)) {
      faults.push(`a ${kind} of ${line.size} bytes: ${line.hex}`);
    }
    if (kind === "stat" && !this.#tokens.get(peer)?.has(line.hex.slice(14, 22))) {
      faults.push("a stat without a token of this host");
    }
    faults.push(...this.#judgeSqp(kind, line));
    // An open connection request follows a pong, so it is not unsolicited.
    if (kind === "request1") return faults;
    const last = this.#last;
    const other = last !== undefined && protocolOf(last.kind) !== protocolOf(kind);
    if (other && !last.replied && line.at - last.at < WINDOW_MS) {
      faults.push(
        `a ${kind} ${(line.at - last.at).toFixed(0)} ms after an unanswered ${last.kind}`,
      );
    }
    this.#last = { kind, at: line.at, replied: false };
    return faults;
  }

  /** Records the tokens and challenges of a datagram that the host sent. */
  #noteReply(line: WitnessLine, peer: string): void {
    if (this.#last !== undefined) this.#last.replied = true;
    const token = tokenOf(line.hex);
    const tokens = this.#tokens.get(peer) ?? new Set();
    this.#tokens.set(peer, token === undefined ? tokens : tokens.add(token));
    if (/^00.{8}$/.test(line.hex)) this.#challengesOf(line).add(line.hex.slice(2));
    if (line.lost) return;
    const repliesToSqp = this.#last !== undefined && protocolOf(this.#last.kind) === "challenge";
    if (repliesToSqp && isSqpReply(line)) this.#speaksSqp ||= line.hex.startsWith("01");
    else this.#replied = true;
  }

  /** Checks SQP rules. A challenge is valid for one query from the port that requested it. */
  #judgeSqp(kind: Kind, line: WitnessLine): string[] {
    if (kind === "ping") {
      this.#pinged = true;
      return this.#speaksSqp ? ["a ping to a port that is known for SQP"] : [];
    }
    if (kind !== "challenge" && kind !== "query") return [];
    const faults: string[] = [];
    if (this.#replied) faults.push(`an SQP ${kind} to a port that sent something other than SQP`);
    else if (!this.#pinged && !this.#speaksSqp) {
      faults.push(`an SQP ${kind} to a port that was not pinged before`);
    }
    if (kind === "query" && !this.#challengesOf(line).delete(line.hex.slice(2, 10))) {
      faults.push("a query without a challenge of this host");
    }
    return faults;
  }

  #challengesOf({ peer }: WitnessLine): Set<string> {
    const challenges = this.#challenges.get(peer) ?? new Set();
    this.#challenges.set(peer, challenges);
    return challenges;
  }
}

/** Whether a datagram has the form of an SQP challenge or response. */
function isSqpReply({ hex, size }: WitnessLine): boolean {
  return hex.startsWith("01") || hex.startsWith("00") && size <= 5;
}

/** The token of a handshake response, in the form of a stat request. */
function tokenOf(hex: string): string | undefined {
  if (!hex.startsWith("09")) return undefined;
  const body = hex.slice(10);
  const text = String.fromCharCode(...Uint8Array.fromHex(body)).replace(/\0+$/, "");
  if (/^-?\d+$/.test(text)) return (Number(text) >>> 0).toString(16).padStart(8, "0");
  return body.slice(0, 8);
}
