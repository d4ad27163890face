/**
 * Decides which targets the sweep skips.
 *
 * @module
 */
import type { Endpoints } from "../../core/endpoints.ts";
import type { DiscoveredServers } from "../tables/discovered_servers.ts";
import type { ProbeKind } from "../../sweep/mod.ts";
import type { ScanTables } from "../tables/scan_tables.ts";

/** Decides from the tables of a scan which targets are skipped. */
export class SkippedTargets {
  /**
   * Whether the running pass is the first one of its protocol. In the first pass, hosts that flood
   * are probed too, because the source address of the flood may be forged.
   */
  isFirst = true;
  /** Names of the protocols whose replies repeat no part of the probe. */
  readonly #echoless: ReadonlySet<string>;

  /**
   * @param kinds The kinds of probes that are sent.
   * @param found The hosts that an adaptive scan skips. Default: none.
   */
  constructor(
    private readonly tables: ScanTables,
    kinds: readonly ProbeKind[],
    private readonly found?: DiscoveredServers,
  ) {
    const echoless = kinds.filter(({ probe }) => probe.macMask === 0);
    this.#echoless = new Set(echoless.map(({ protocol }) => protocol));
  }

  /** Whether a target in a batch is skipped. Allocates nothing for IPv4. */
  hasAt(targets: Endpoints, i: number, protocol: string): boolean {
    const { suppression, responders, interviewed, optedOut, floods, known } = this.tables;
    return suppression.suppressesAt(targets, i, protocol) ||
      responders.hasAt(targets, i) || interviewed.hasAt(targets, i) ||
      optedOut.hasAt(targets, i) || !this.isFirst && floods.hasAt(targets, i) ||
      known.withholdsAt(targets, i, protocol, suppression.isDetecting) ||
      this.#echoless.has(protocol) && responders.isQueuedAt(targets, i) ||
      this.found?.skipsAt(targets, i, protocol) === true;
  }
}
