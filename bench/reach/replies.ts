/** The replies of a world to the probes of a pass. */
import { mix } from "../../src/core/bits.ts";
import { AliasHosts } from "../../src/discovery/alias_hosts.ts";
import type { PassResult } from "../../src/discovery/contract.ts";
import type { ProbeSpace } from "../../src/targets/space.ts";
import { isLost, PORTS, type Server, type World } from "./world.ts";

/** An endpoint that replies. */
interface Responder extends Server {
  /** Whether it is one of the ports of a host that replies on all of them. */
  readonly isAlias: boolean;
  /** A hash of the reply. */
  readonly fingerprint: number;
  /** Number of probes in earlier passes. */
  probes: number;
  /** Whether it was found in an earlier pass. */
  isFound: boolean;
}

/** What a pass found. */
export interface Visit {
  /** The hits, and what ended. */
  readonly result: PassResult;
  /** The probed responders. */
  readonly probed: readonly Responder[];
}

/**
 * The replies of a world. A pass is not visited probe by probe: each endpoint that replies is looked
 * up in the space of the pass, which is many times faster.
 */
export class Replies {
  /** In a shuffled order, as a pass visits them. */
  readonly #responders: readonly Responder[];
  readonly #ended = new AliasHosts();
  /** Number of probed ports of each host that replies on all ports. */
  readonly aliasPorts = new Map<number, number>();
  /** Number of servers that were found. */
  found = 0;
  /** Number of probes to servers that had been found before. */
  repeated = 0;

  /**
   * Creates the replies of a world, of which no server was probed.
   *
   * @param aliases Hosts that reply on all ports with one fingerprint.
   */
  constructor(private readonly world: World, aliases: Iterable<number>) {
    const state = { probes: 0, isFound: false };
    const servers = world.servers.map((one) => ({
      ...one,
      ...state,
      isAlias: false,
      fingerprint: mix(mix(one.address) ^ one.port) >>> 0,
    }));
    const others = [...aliases].flatMap((address) =>
      PORTS.map((port) => ({
        address,
        port,
        ...state,
        isAlias: true,
        fingerprint: mix(address) >>> 0,
      }))
    );
    const placeOf = ({ address, port }: Server) => mix(mix(address ^ world.seed) + port);
    this.#responders = [...servers, ...others].sort((a, b) => placeOf(a) - placeOf(b));
  }

  /** Probes the endpoints of a space. */
  visit(space: ProbeSpace): Visit {
    const probed: Responder[] = [];
    const hits: Server[] = [];
    for (const one of this.#responders) {
      if (this.#ended.has(one.address) || !space.has(one)) continue;
      probed.push(one);
      if (one.isFound || !one.isAlias && isLost(this.world, one, one.probes)) continue;
      hits.push(one);
      this.#ended.note(one.address, one.fingerprint);
    }
    return { result: { hits, ...this.#ended.take() }, probed };
  }

  /** Ends a pass: its probes are earlier ones from now on. */
  close({ result: { hits }, probed }: Visit): void {
    for (const one of probed) {
      one.probes++;
      if (one.isFound) this.repeated++;
      if (one.isAlias) {
        this.aliasPorts.set(one.address, (this.aliasPorts.get(one.address) ?? 0) + 1);
      }
    }
    for (const one of hits as readonly Responder[]) {
      one.isFound = true;
      if (!one.isAlias) this.found++;
    }
  }
}
