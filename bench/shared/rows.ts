/** Rows of many simulated servers. No two rows are equal. */
import type { Endpoint } from "../../src/core/address.ts";
import { drawFleet, type FleetHost } from "../../src/fleet/simulate/draw_fleet.ts";
import { mergeReplies } from "../../src/inspect/merge.ts";
import { PROTOCOLS } from "../../src/protocols/list.ts";
import { NoReply } from "../../src/protocols/protocol.ts";
import { type JavaStatus, parseStatus, slpProtocol } from "../../src/protocols/slp/mod.ts";
import type { Statement } from "../../src/protocols/protocol.ts";
import type { ServerRecord } from "../../src/core/record.ts";

/** A decoded reply of a server. */
export interface Printed {
  /** The endpoint of the server. */
  readonly endpoint: Endpoint;
  /** The name of the protocol. */
  readonly protocol: string;
  /** The statement from the reply. */
  readonly statement: Statement;
}

const KINDS = { raknet: ["bds"], query: ["vanilla", "paper"], slp: ["vanilla", "paper"] };
const RANGE = { start: 0x7f100000, end: 0x7f200000 };

/**
 * The decoded replies of a simulated fleet in a protocol. For Server List Ping they are built from
 * the fleet's expected values.
 */
export function repliesOfFleet(protocol: keyof typeof KINDS, servers: number): Printed[] {
  const hosts = drawFleet({ servers, range: RANGE, seed: 7, software: KINDS[protocol] });
  return hosts.map((host) => ({
    endpoint: host.endpoint,
    protocol,
    statement: protocol === "slp" ? javaStatement(host) : statementOf(protocol, host),
  }));
}

/** The row of a reply. */
export function rowOf({ endpoint, protocol, statement }: Printed): ServerRecord {
  return mergeReplies([{ protocol, statement }], {
    endpoint,
    seenAt: 1.8e12,
    latencyMs: 1.5,
    scanId: "01928d5e-0000-7000-8000-000000000000",
    requestedAs: null,
  });
}

function statementOf(name: string, { endpoint, responder }: FleetHost): Statement {
  const protocol = PROTOCOLS.find((one) => one.name === name)!;
  const exchange = protocol.exchange({ endpoint, nonce: 5n, exclusive: true, lastAttempt: true });
  for (let step = exchange.next();;) {
    if (step.done) return protocol.record(step.value);
    const [reply] = step.value === undefined
      ? []
      : responder!.respond(step.value.bytes, endpoint, 1000);
    step = reply === undefined ? exchange.throw(new NoReply()) : exchange.next(reply);
  }
}

function javaStatement({ entry }: FleetHost): Statement {
  const { motd, players_online: online, players_max: max, players } = entry.truth.query.columns;
  const json = JSON.stringify({
    version: { name: entry.software === "paper" ? "Paper 1.21.4" : "1.21.4", protocol: 769 },
    enforcesSecureChat: true,
    description: motd,
    players: { max, online, sample: (players ?? []).slice(0, 12).map((name) => ({ name })) },
  });
  const java = parseStatus(new TextEncoder().encode(json)) as JavaStatus;
  return slpProtocol.record({ kind: "status", java, trailing: 0, pongDiffers: false });
}
