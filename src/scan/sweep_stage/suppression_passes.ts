/**
 * Finding out to which endpoints a protocol must not be sent, because it would harm them, or us with
 * them: the passes that look for speakers of another one, and what the sweep receives besides.
 *
 * @module
 */
import type { Endpoint } from "../../core/address.ts";
import type { Endpoints } from "../../core/endpoints.ts";
import { GAP_MS, suppressorOf } from "../../inspect/interview.ts";
import { PROTOCOLS } from "../../protocols/list.ts";
import type { Protocol } from "../../protocols/protocol.ts";
import type { ProbeKind } from "../../sweep/receiver.ts";
import { SuppressedEndpoints } from "../../inspect/suppressed_endpoints.ts";
import { type Pass, planPasses, spaceOf, type SweepOptions } from "../../sweep/sweep.ts";
import { segmentsOf } from "../../targets/compose.ts";
import type { Segment } from "../../targets/space.ts";
import type { ScanOptions, ScanSelection } from "../scan_options.ts";

/** A protocol that is probed before the passes, for it suppresses another one. */
export interface SuppressionPlan {
  /** It. */
  readonly protocol: Protocol;
  /** The one that it suppresses. */
  readonly suppressed: Protocol;
  /** Where that one will be asked. */
  readonly segments: readonly Segment[];
}

/**
 * What has to be looked for before the passes of a scan: nothing where these find it first, on the
 * same ports. Who goes on where a scan was interrupted does not know whom its first part found.
 */
export function planSuppression(
  { targets, order: { from: { udp: from } } }: ScanSelection,
): SuppressionPlan[] {
  const { protocols, allProtocols = PROTOCOLS, ports } = targets;
  const fresh = from.pass === 1 && from.position === 0;
  const segmentsFor = ({ name }: Protocol) =>
    segmentsOf(targets.addresses, (bits) => ports(name, bits));
  return protocols.flatMap((suppressed) => {
    const protocol = suppressorOf(suppressed, allProtocols);
    if (protocol === undefined) return [];
    const segments = segmentsFor(suppressed);
    const found = fresh && protocols.includes(protocol) &&
      segmentsFor(protocol).every(({ ports }, i) => ports.join() === segments[i].ports.join());
    return found ? [] : [{ protocol, suppressed, segments }];
  });
}

/** The probes of protocols; the number of each is its place among all. */
export function kindsOf(
  protocols: readonly Protocol[],
  allProtocols: readonly Protocol[] = PROTOCOLS,
): ProbeKind[] {
  return protocols.flatMap(({ name, probe }) =>
    probe === undefined
      ? []
      : [{ protocol: name, probe, kind: allProtocols.findIndex((other) => other.name === name) }]
  );
}

/** Names of the protocols that echo nothing of a probe. */
export function echolessOf(kinds: readonly ProbeKind[]): ReadonlySet<string> {
  return new Set(kinds.filter(({ probe }) => probe.macMask === 0).map(({ protocol }) => protocol));
}

/** 32 bits that nobody can guess. */
export function seedOf(random: (size: number) => Uint8Array): number {
  return new DataView(random(4).buffer).getUint32(0);
}

/** What a sweep that only looks for speakers does otherwise than the scan's own. */
type GuardSweep = Pick<SweepOptions, "passes" | "from" | "cooldownMs" | "onPass">;

/** Knows where protocols are suppressed, and finds out. */
export class SuppressionPasses {
  readonly #options: ScanOptions;
  readonly #plans: readonly SuppressionPlan[];
  /** Endpoints from which any datagram came but a reply in a protocol that may be suppressed. */
  readonly #replied: SuppressedEndpoints;
  /** Protocols that are suppressed at some. */
  readonly #suppressible: ReadonlySet<string>;
  /** Those of them of which no probe has left. */
  readonly #unsent: Set<string>;
  /** Whether speakers are looked for, and nothing else. */
  #looking = false;

  /** Nothing has come yet. */
  constructor(options: ScanOptions) {
    this.#options = options;
    this.#replied = new SuppressedEndpoints(seedOf(options.io.random));
    this.#plans = planSuppression(options);
    const harmful = options.targets.protocols.filter(({ suppressedBy }) =>
      suppressedBy !== undefined
    );
    this.#suppressible = new Set(harmful.map(({ name }) => name));
    this.#unsent = new Set(this.#suppressible);
  }

  /** All protocols in which answers may come, those included that are only looked for. */
  get kinds(): ProbeKind[] {
    const looked = this.#plans.map(({ protocol }) => protocol);
    const { protocols, allProtocols } = this.#options.targets;
    return kindsOf([...new Set([...looked, ...protocols])], allProtocols);
  }

  /** Pause between passes, milliseconds: speakers that are looked for have the time to reply. */
  get gapMs(): number {
    return this.isActive ? Math.max(GAP_MS, this.#options.limits.timeoutMs) : GAP_MS;
  }

  /** Whether some protocol of the scan may be suppressed: else no datagram needs to be noted. */
  get isActive(): boolean {
    return this.#suppressible.size > 0;
  }

  /** Positions that are visited before the passes. */
  get positions(): number {
    const { order } = this.#options;
    return this.#passes().reduce((sum, pass, i) => sum + spaceOf(pass, i + 1, order).size, 0);
  }

  /** Whether the pass that runs only looks for speakers of a protocol. */
  get isLooking(): boolean {
    return this.#looking;
  }

  /** Notes that probes of a protocol leave from now on. */
  begin(protocol: string): void {
    this.#unsent.delete(protocol);
  }

  /**
   * Takes a reply.
   *
   * @param proven Whether it is one to our probe for sure.
   * @returns Whether nothing else is to be made of it: it only shows what to suppress, or replies to
   * a probe that was not sent.
   */
  note(protocol: string, endpoint: Endpoint, proven: boolean): boolean {
    if (!this.isActive) return false;
    if (this.#suppressible.has(protocol)) return this.#unsent.has(protocol);
    this.#replied.add(endpoint, proven);
    return this.#looking || this.#options.targets.protocols.every(({ name }) => name !== protocol);
  }

  /** Takes any other datagram; of a protocol, a broken reply. */
  noteStray(protocol: string | undefined, endpoint: Endpoint): void {
    const own = protocol !== undefined && this.#suppressible.has(protocol);
    if (!own || this.#unsent.has(protocol)) this.#replied.add(endpoint, false);
  }

  /** Whether anything but a reply in a protocol that may be suppressed came from an endpoint. */
  hasReplied(endpoint: Endpoint): boolean {
    return this.#replied.has(endpoint);
  }

  /** Whether all endpoints that are probed in a protocol for the sake of another one were. */
  hasLookedFor(protocol: string): boolean {
    return this.#options.targets.protocols.some(({ name, suppressedBy }) =>
      suppressedBy === protocol && !this.#unsent.has(name)
    );
  }

  /** Whether an endpoint must not be sent a protocol, or needs not, for its reply is there. */
  suppresses(endpoint: Endpoint, protocol: string): boolean {
    return (this.#looking || this.#suppressible.has(protocol)) && this.#replied.has(endpoint);
  }

  /** The same of a target in a batch. */
  suppressesAt(targets: Endpoints, i: number, protocol: string): boolean {
    return (this.#looking || this.#suppressible.has(protocol)) && this.#replied.hasAt(targets, i);
  }

  /** Looks for speakers. */
  async look(sweep: (guard: GuardSweep) => Promise<unknown>, onPass: SweepOptions["onPass"]) {
    const passes = this.#passes();
    if (passes.length === 0) return;
    this.#looking = true;
    await sweep({ passes, from: { pass: 1, position: 0 }, cooldownMs: this.gapMs, onPass });
    this.#looking = false;
  }

  #passes(): Pass[] {
    return this.#plans.flatMap(({ protocol, segments }) =>
      planPasses(
        kindsOf([protocol], this.#options.targets.allProtocols),
        this.#options.limits.retries,
        () => segments,
      )
    );
  }
}
