/** Servers that are born, die, return, move and lie over a month: what a program on the network sees. */
import type { Protocol } from "../../../src/protocols/protocol.ts";
import type { ServerRecord } from "../../../src/core/record.ts";
import { DAY_MS, HOUR_MS } from "../../../src/core/quantities.ts";
import { emptyRecord } from "../../../src/core/record.ts";
import { Random } from "../../../src/fleet/random.ts";

/** When the month begins, Unix milliseconds: the start of a day. */
export const START = 1_700_006_400_000;
export const DAYS = 30;
/** The networks: 10.0.N.0/24. The servers of the last one have names. */
export const NETWORKS = 8;
const SERVERS = 208;

/** The protocols of a server, and its port. */
const TYPES = [
  { port: 19132, protocols: ["raknet"] },
  { port: 25565, protocols: ["slp"] },
  { port: 25565, protocols: ["slp", "query"] },
  { port: 19133, protocols: ["raknet"] },
] as const satisfies readonly {
  readonly port: number;
  readonly protocols: readonly Protocol["name"][];
}[];

/** A simulated server. */
export interface TrueServer {
  readonly network: number;
  readonly port: number;
  readonly protocols: readonly string[];
  /** The name under which scans and watches ask for it; `null`: none. */
  readonly name: string | null;
  /** The server's key in databases. */
  readonly key: string;
  /** The number of its address. */
  address: number;
  /** Whether it replies with another identity each time. */
  readonly lies: boolean;
  /** Times at which it appears or disappears, Unix milliseconds: first it is down. */
  readonly changes: readonly number[];
  motd: string;
  guid: number;
}

/** Times at which a server appears, disappears, appears and so on. */
function drawChanges(random: Random): number[] {
  const isBornLater = random.chance(0.3);
  const changes = [isBornLater ? START + random.below(DAYS * DAY_MS) : 0];
  if (random.chance(0.25)) return changes; // it stays
  let at = Math.max(START, changes[0]);
  for (;;) {
    at += HOUR_MS + random.below(12 * DAY_MS);
    if (at > START + DAYS * DAY_MS) return changes;
    changes.push(at);
    if (random.chance(0.2)) return changes; // it dies
    at += random.pick([random.below(HOUR_MS), random.below(DAY_MS), random.below(6 * DAY_MS)]) + 1;
    changes.push(at);
  }
}

/** The servers, and what they reply. */
export class World {
  readonly servers: readonly TrueServer[];
  readonly #random: Random;

  constructor(seed: number) {
    const random = this.#random = new Random(seed);
    this.servers = Array.from({ length: SERVERS }, (_, i): TrueServer => {
      const network = i % NETWORKS;
      const { port, protocols } = random.pick(TYPES);
      const name = network === NETWORKS - 1 ? `s${i}.example.org` : null;
      const address = addressOf(network, 1 + Math.floor(i / NETWORKS));
      const key = `${name ?? hostOf(address)}:${port}`;
      return {
        ...{ network, port, protocols, name, key, address, lies: random.chance(0.03) },
        ...{ changes: drawChanges(random), motd: `Server ${i}`, guid: i + 1 },
      };
    });
  }

  /** Whether a server is up. */
  isUp({ changes }: TrueServer, at: number): boolean {
    return changes.filter((change) => change <= at).length % 2 === 1;
  }

  /** Once a day: some servers publish another text, have another GUID, or move under their names. */
  change(): void {
    for (const server of this.servers) {
      if (this.#random.chance(0.02)) server.motd = `${server.motd.split("#")[0]}#${this.#draw()}`;
      if (this.#random.chance(0.01)) server.guid = this.#draw();
      if (server.name !== null && this.#random.chance(0.03)) server.address += 30;
    }
  }

  #draw(): number {
    return 1000 + this.#random.below(1_000_000);
  }

  /** The reply of a server that is up to queries in some protocols. */
  reply(server: TrueServer, at: number, asked: readonly string[], scanId: string): ServerRecord {
    if (server.lies) [server.motd, server.guid] = [`Liar ${this.#draw()}`, this.#draw()];
    const protocols = server.protocols.filter((one) => asked.includes(one));
    const isRaknet = protocols[0] === "raknet";
    return {
      ...emptyRecord({ address: server.address, port: server.port }, at),
      ...{ protocol: protocols[0], protocols, requested_as: server.name, scan_id: scanId },
      ...{ motd: server.motd, motd_plain: server.motd, name: server.motd },
      ...{ players_online: this.#random.below(20), players_max: 20 },
      guid: isRaknet ? String(server.guid) : null,
    };
  }
}

const addressOf = (network: number, host: number) => 0x0a000000 + 256 * network + host;
const hostOf = (address: number) => [24, 16, 8, 0].map((bits) => address >>> bits & 255).join(".");
