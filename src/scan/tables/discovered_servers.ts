/**
 * The servers that the open pass of an adaptive scan has found, and the hosts that it skips from now
 * on because they show one server on many ports.
 *
 * @module
 */
import type { Address, Endpoint } from "../../core/address.ts";
import { mix } from "../../core/bits.ts";
import type { AddedAddresses } from "../../core/endpoint_set.ts";
import type { Endpoints } from "../../core/endpoints.ts";
import type { Sighting } from "../../core/record.ts";
import { sumOf } from "../plan/pass_plan.ts";
import { AliasHosts } from "../../discovery/mod.ts";
import type { Protocol } from "../../protocols/protocol.ts";
import type { AdaptiveReport } from "../setup/adaptive_report.ts";
import type { DiscoveredServer, PassRecord, ProtocolFinds } from "../adaptive/pass_record.ts";

interface Finds {
  readonly protocol: Protocol;
  readonly aliases: AliasHosts;
  hits: DiscoveredServer[];
}

/** Collects the servers of the open pass. */
export class DiscoveredServers {
  readonly #finds: ReadonlyMap<string, Finds>;

  /**
   * Starts after the passes of earlier runs.
   *
   * @param protocols The protocols that are probed.
   * @param skipped Gets the addresses of hosts that are skipped from now on.
   */
  constructor(
    protocols: readonly Protocol[],
    earlier: readonly PassRecord[],
    private readonly skipped: AddedAddresses,
  ) {
    const finds = protocols.map((protocol, i) => {
      const aliases = new AliasHosts();
      for (const { found } of earlier) {
        for (const { address, fingerprint } of found[i].hits) aliases.note(address, fingerprint);
      }
      const { endedHosts, endedNetworks } = aliases.take();
      endedHosts.forEach((address) => skipped.add(address));
      endedNetworks.forEach((network) => this.#skipNetwork(network));
      return { protocol, aliases, hits: [] };
    });
    this.#finds = new Map(finds.map((one) => [one.protocol.name, one]));
  }

  /** Adds a server. It is called once for each endpoint. */
  add({ endpoint: { address, port }, protocol, raw, status }: Sighting): void {
    const finds = this.#finds.get(protocol);
    if (finds === undefined || typeof address !== "number") return;
    const fingerprint = finds.protocol.fingerprint?.(raw, status) ?? unlike(port);
    this.#add(finds, { address, port, fingerprint });
  }

  /**
   * Adds the servers whose rows an earlier run wrote in the open pass.
   *
   * @param protocol Returns the protocol in which an endpoint is probed.
   */
  addWritten(
    responders: Iterable<Endpoint>,
    protocol: (endpoint: Endpoint) => string | undefined,
  ): void {
    for (const endpoint of responders) {
      const { address, port } = endpoint;
      const finds = this.#finds.get(protocol(endpoint) ?? "");
      if (finds === undefined || typeof address !== "number") continue;
      this.#add(finds, { address, port, fingerprint: unlike(port) });
    }
  }

  #add({ aliases, hits }: Finds, server: DiscoveredServer): void {
    hits.push(server);
    const ended = aliases.note(server.address, server.fingerprint);
    if (ended !== undefined) this.skipped.add(server.address);
    if (ended === "network") this.#skipNetwork(Math.floor(server.address / 256));
  }

  #skipNetwork(network: number): void {
    for (let octet = 0; octet < 256; octet++) this.skipped.add(256 * network + octet);
  }

  /** Whether a host is not probed any more in a protocol. */
  skips(address: Address, protocol: string): boolean {
    return typeof address === "number" && this.#finds.get(protocol)?.aliases.has(address) === true;
  }

  /** Whether target `i` is not probed any more in a protocol. */
  skipsAt(targets: Endpoints, i: number, protocol: string): boolean {
    return this.#finds.get(protocol)?.aliases.has(targets.ipv4[i]) === true;
  }

  /** Number of hosts and of networks that are not probed any more. */
  get ended(): Pick<AdaptiveReport, "endedHosts" | "endedNetworks"> {
    const all = [...this.#finds.values()].map(({ aliases }) => aliases.ended);
    return {
      endedHosts: sumOf(all.map(({ hosts }) => hosts)),
      endedNetworks: sumOf(all.map(({ networks }) => networks)),
    };
  }

  /** Ends the open pass: returns what it found, for each protocol. */
  take(): ProtocolFinds[] {
    return Array.from(this.#finds.values(), (one) => {
      const { hits } = one;
      one.hits = [];
      return { hits, ...one.aliases.take() };
    });
  }
}

/** The fingerprint of a server that cannot be compared: it differs on each port. */
function unlike(port: number): number {
  return mix(port) >>> 0;
}
