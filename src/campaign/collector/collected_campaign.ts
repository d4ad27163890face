/**
 * A campaign, as a collector uses it: which rows belong to its parts, and what the parts probed.
 *
 * @module
 */
import { queriedProtocolsOf } from "../../app/scan/scan_databases.ts";
import { formatConfig, type ReadingContext, readOptions } from "../../app/options/mod.ts";
import { scanChoice, scanSelection } from "../../app/scan/mod.ts";
import { randomSeed } from "../../app/mod.ts";
import { addressesOf, composeTargets } from "../../app/targets/mod.ts";
import {
  beganAt,
  coverageOf,
  type CoverageOptions,
  requestedName,
  type ScanCoverage,
  START,
} from "../../scan/mod.ts";
import type { CampaignStart, Coverage, InterviewScope, UndecidedPart } from "../../store/mod.ts";
import { orderDigest } from "../../app/resume/scan_configuration.ts";
import { type Address, type Endpoint, parseAddress } from "../../core/address.ts";
import { parseJson } from "../../core/checked_values.ts";
import { InputError } from "../../core/errors.ts";
import { parseTarget } from "../../targets/parse.ts";
import { Shards } from "../../targets/shards.ts";
import type { Range } from "../../targets/ranges.ts";
import { type PartCoverage, partCoverage } from "../results.ts";
import type { Spec } from "../spec.ts";

export interface SubmittedCampaign {
  readonly name: string;
  /** The SHA-256 of the spec. */
  readonly digest: string;
  readonly spec: Spec;
}

export class CollectedCampaign implements SubmittedCampaign {
  readonly name: string;
  readonly digest: string;
  readonly spec: Spec;
  /** The identity of its scan. */
  readonly scanId: string;
  /** When it was submitted, Unix milliseconds. */
  readonly since: number;
  readonly start: CampaignStart;
  /** What its scan queries. */
  readonly scope: InterviewScope;
  readonly #options: CoverageOptions;
  readonly #shards: Shards;
  readonly #whole: ScanCoverage;

  /**
   * Reads the spec.
   *
   * @param downAfter Number of scans without a reply after which a protocol is removed from a row.
   * @throws InputError when this program would divide the targets in another way.
   */
  constructor(
    { name, digest, spec }: SubmittedCampaign,
    context: ReadingContext,
    downAfter: number,
  ) {
    [this.name, this.digest, this.spec] = [name, digest, spec];
    const { given, found, order, scanId } = spec.configuration;
    const options = readOptions("scan", given, context);
    const choice = scanChoice(options, randomSeed, START);
    const named = composeTargets(found, []);
    if (orderDigest(named.targets, choice) !== order) {
      throw new InputError(
        "this program's default ports, or the addresses that are never probed, differ from those " +
          "of the submitter",
      );
    }
    this.scanId = scanId;
    this.since = beganAt(scanId);
    this.scope = { ...queriedProtocolsOf({ choice, named, options }), downAfter };
    const config = { campaign: name, ...JSON.parse(formatConfig("scan", given)) };
    this.start = {
      ...{ id: scanId, at: this.since, parts: spec.parts, config: JSON.stringify(config) },
      addresses: addressesOf(found, named.targets, []),
    };
    this.#options = scanSelection(choice, named);
    this.#shards = new Shards(named.targets, spec.parts, choice.order.seed);
    this.#whole = coverageOf(this.#options);
  }

  /** The part that probes an endpoint; `undefined`: the endpoint is no target. */
  partOf({ address, port }: Endpoint): number | undefined {
    return this.#whole.includes(address, port, []) ? this.#shards.indexOf(address) : undefined;
  }

  /** The value of `requested_as` in the row of an endpoint. */
  requestedAs(endpoint: Endpoint): string | null {
    return requestedName(this.#options.targets, endpoint).column;
  }

  /**
   * What parts have probed together.
   *
   * @param optedOut Addresses that opted out during the campaign.
   */
  coverage(parts: readonly UndecidedPart[], optedOut: Iterable<Address>): Coverage {
    const closed = [...optedOut].map(rangeOf);
    const coverages = new Map<string | null, ScanCoverage>();
    const byPart = new Map(parts.map(({ part, floods }) => {
      const coverage = coverages.get(floods) ?? this.#coverageWith(floods, closed);
      coverages.set(floods, coverage);
      return [part, coverage];
    }));
    return {
      ranges: this.#whole.ranges,
      includes: (address, port, protocols) => {
        const part = this.#shards.indexOf(address);
        const coverage = part === undefined ? undefined : byPart.get(part);
        return coverage?.includes(address, port, protocols) ?? false;
      },
    };
  }

  /** The vantages whose views of an endpoint are done, by what its part has published. */
  vantages(parts: readonly UndecidedPart[]): (endpoint: Endpoint) => readonly string[] {
    const byPart = new Map(
      parts.map(({ part, floods }) => [part, partCoverageOf(floods).vantages]),
    );
    return ({ address }) => byPart.get(this.#shards.indexOf(address) ?? 0) ?? [];
  }

  /** The coverage of parts in which the same replies may be lost. */
  #coverageWith(floods: string | null, closed: readonly Range[]): ScanCoverage {
    const { excluded = [], vantages: _, ...flags } = partCoverageOf(floods);
    const optedOut = [...closed, ...excluded.map(parseRange)];
    const { targets } = this.#options;
    return coverageOf({ ...this.#options, ...flags, targets: { ...targets, optedOut } });
  }
}

function rangeOf(start: Address): Range {
  return { start, end: typeof start === "number" ? start + 1 : start + 1n };
}

/** The range of a text that {@linkcode partCoverage} has accepted. */
function parseRange(text: string): Range {
  const target = parseTarget(text);
  if ("range" in target) return target.range;
  throw new Error(`"${text}" is no range`);
}

function partCoverageOf(floods: string | null): Partial<PartCoverage> {
  return floods === null ? {} : partCoverage(parseJson(floods), "");
}

/** The coverage of a part as it is stored; `undefined`: no reply may be lost, and there is one view. */
export function storedCoverage(coverage: PartCoverage): PartCoverage | undefined {
  const { flooding, disturbed, interviewsDisturbed, omitted, excluded, vantages } = coverage;
  const isClean = vantages === undefined && !interviewsDisturbed && !omitted &&
    [flooding, disturbed, excluded].every((list) => list.length === 0);
  return isClean ? undefined : coverage;
}

/** The address and port of a row's endpoint; `undefined` for another text than an address. */
export function endpointOfRow(
  { host, port }: { readonly host: string; readonly port: number },
): Endpoint | undefined {
  const address = parseAddress(host);
  return address === undefined ? undefined : { address, port };
}
