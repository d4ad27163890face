/**
 * Sparing the speakers of one protocol another one, which would harm them, or us with them.
 *
 * @module
 */
import type { Endpoint } from "../address.ts";
import type { Endpoints } from "../endpoints.ts";
import { GAP_MS } from "../inspect/attempt.ts";
import { PROTOCOLS } from "../protocols/mod.ts";
import type { Protocol } from "../protocols/protocol.ts";
import type { ProbeKind } from "../sweep/receiver.ts";
import { Spared } from "../sweep/spared.ts";
import { type Mark, type Pass, planPasses, spaceOf, type SweepOptions } from "../sweep/sweep.ts";
import { segmentsOf, type Targets } from "../targets/compose.ts";
import type { Segment } from "../targets/space.ts";
import type { ScanOptions } from "./options.ts";

/** A protocol that is looked for before the passes, so that its speakers are spared another. */
export interface GuardPlan {
  /** It. */
  readonly protocol: Protocol;
  /** The one that they are spared. */
  readonly spared: Protocol;
  /** Where that one will be asked. */
  readonly segments: readonly Segment[];
}

/** What decides about guards. */
export interface GuardInput {
  /** The targets. */
  readonly targets: Targets;
  /** The protocols of the scan. */
  readonly protocols: readonly Protocol[];
  /** The ports to ask for a protocol where a target names none. */
  readonly ports: (protocol: string, family: 4 | 6) => readonly number[];
  /** Where the scan starts. */
  readonly from: Mark;
}

/**
 * What has to be looked for before the passes of a scan: nothing where these find it first, on the
 * same ports. Who goes on where a scan was interrupted does not know whom its first part found.
 */
export function planGuards({ targets, protocols, ports, from }: GuardInput): GuardPlan[] {
  const fresh = from.pass === 1 && from.position === 0;
  const segmentsFor = ({ name }: Protocol) => segmentsOf(targets, (bits) => ports(name, bits));
  return protocols.filter(({ spares }) => spares !== undefined).flatMap((spared) => {
    const protocol = PROTOCOLS.find(({ name }) => name === spared.spares)!;
    const segments = segmentsFor(spared);
    const found = fresh && protocols.includes(protocol) &&
      segmentsFor(protocol).every(({ ports }, i) => ports.join() === segments[i].ports.join());
    return found ? [] : [{ protocol, spared, segments }];
  });
}

/** The probes of protocols; the number of each is its place among all. */
export function kindsOf(protocols: readonly Protocol[]): ProbeKind[] {
  return protocols.flatMap(({ name, probe }) =>
    probe === undefined
      ? []
      : [{ protocol: name, probe, kind: PROTOCOLS.findIndex((other) => other.name === name) }]
  );
}

/** 32 bits that nobody can guess. */
export function seedOf(random: (size: number) => Uint8Array): number {
  return new DataView(random(4).buffer).getUint32(0);
}

/** What a sweep that only looks for speakers does otherwise than the scan's own. */
type GuardSweep = Pick<SweepOptions, "passes" | "from" | "cooldownMs" | "onPass">;

/** Knows who is spared what, and finds out. */
export class Guard {
  readonly #options: ScanOptions;
  readonly #plans: readonly GuardPlan[];
  readonly #speakers: Spared;
  /** Protocols that some are spared. */
  readonly #sparing: ReadonlySet<string>;
  /** Whether speakers are looked for, and nothing else. */
  #looking = false;

  /** Nobody is known yet. */
  constructor(options: ScanOptions) {
    this.#options = options;
    this.#speakers = new Spared(seedOf(options.random));
    this.#plans = planGuards(options);
    const sparing = options.protocols.filter(({ spares }) => spares !== undefined);
    this.#sparing = new Set(sparing.map(({ name }) => name));
  }

  /** All protocols in which answers may come, those included that are only looked for. */
  get kinds(): ProbeKind[] {
    const looked = this.#plans.map(({ protocol }) => protocol);
    return kindsOf([...new Set([...looked, ...this.#options.protocols])]);
  }

  /** Pause between passes, milliseconds: those to be spared have the time to answer. */
  get gapMs(): number {
    const { protocols, timeoutMs } = this.#options;
    const sparing = protocols.some(({ spares }) => spares !== undefined);
    return sparing ? Math.max(GAP_MS, timeoutMs) : GAP_MS;
  }

  /** Positions that are visited before the passes. */
  get positions(): number {
    const sizing = { ...this.#options, limit: this.#options.maxTargets };
    return this.#passes().reduce((sum, pass, i) => sum + spaceOf(pass, i + 1, sizing).size, 0);
  }

  /** Takes an answer; whether all that it is for is to show whom to spare. */
  note(protocol: string, endpoint: Endpoint, proven: boolean): boolean {
    const { protocols } = this.#options;
    if (!protocols.some(({ spares }) => spares === protocol)) return false;
    this.#speakers.add(endpoint, proven);
    return this.#looking || protocols.every(({ name }) => name !== protocol);
  }

  /** Whether an endpoint must not be asked a protocol, or needs not, for it is known already. */
  spares(endpoint: Endpoint, protocol: string): boolean {
    return (this.#looking || this.#sparing.has(protocol)) && this.#speakers.has(endpoint);
  }

  /** The same of a target in a row. */
  sparesAt(targets: Endpoints, i: number, protocol: string): boolean {
    return (this.#looking || this.#sparing.has(protocol)) && this.#speakers.hasAt(targets, i);
  }

  /** Looks for those who must be spared. */
  async look(sweep: (guard: GuardSweep) => Promise<unknown>, onPass: SweepOptions["onPass"]) {
    const passes = this.#passes();
    if (passes.length === 0) return;
    this.#looking = true;
    await sweep({ passes, from: { pass: 1, position: 0 }, cooldownMs: this.gapMs, onPass });
    this.#looking = false;
  }

  #passes(): Pass[] {
    return this.#plans.flatMap(({ protocol, segments }) =>
      planPasses(kindsOf([protocol]), this.#options.retries, () => segments)
    );
  }
}
