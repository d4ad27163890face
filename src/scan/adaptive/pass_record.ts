/**
 * The passes of an adaptive scan, as the list beside a checkpoint records them. A discovery that
 * replays the records is in the state that it had after them.
 *
 *     = {"pass":0,"probes":5000,…,"digest":"…","found":[{"servers":["10.0.0.1:19132/1f2e"],…}]}
 *
 * @module
 */
import {
  type Address,
  formatAddress,
  formatEndpoint,
  parseAddress,
  parseEndpoint,
} from "../../core/address.ts";
import {
  checked,
  FieldError,
  formed,
  integer,
  listOf,
  nullable,
  objectOf,
  parseJson,
  text,
} from "../../core/checked_values.ts";
import { InputError } from "../../core/errors.ts";
import { PASS_SIGN } from "../checkpoint/written_rows.ts";
import type { IPv4Endpoint, PassInput, PassPlanner, PassResult } from "../../discovery/mod.ts";

/** A server that a pass found. */
export interface DiscoveredServer extends IPv4Endpoint {
  /** A hash of the parts of its reply that do not change, 32 bits. */
  readonly fingerprint: number;
}

export interface ProtocolFinds extends Omit<PassResult, "hits"> {
  /** The servers, each in one pass only. */
  readonly hits: readonly DiscoveredServer[];
}

/** A closed pass: what it was planned with, and what it found. */
export interface PassRecord {
  /** Number of the pass, from 0. */
  readonly pass: number;
  /** What it was planned with. */
  readonly input: PassInput;
  /** The digest of its plan. */
  readonly digest: string;
  /** What it found, for each protocol. */
  readonly found: readonly ProtocolFinds[];
  /** Time of all runs of the scan until the pass was closed, milliseconds. */
  readonly elapsedMs: number;
}

/** The line of a record. */
export function formatPassRecord({ pass, input, digest, found, elapsedMs }: PassRecord): string {
  const { probes, perNetwork, perHost, lossPerMille } = input;
  const orNull = (cap: number) => cap === Infinity ? null : cap;
  return PASS_SIGN + JSON.stringify({
    pass,
    probes,
    perNetwork: orNull(perNetwork),
    perHost: orNull(perHost),
    lossPerMille,
    elapsedMs,
    digest,
    found: found.map(({ hits, endedHosts, endedNetworks }) => ({
      servers: hits.map((one) => `${formatEndpoint(one)}/${one.fingerprint.toString(16)}`),
      hosts: endedHosts.map(formatAddress),
      networks: endedNetworks.map((network) => formatAddress(256 * network)),
    })),
  });
}

/**
 * Parses the line of a record.
 *
 * @param source Name of the checkpoint, for the error.
 * @throws InputError when the line was changed.
 */
export function parsePassRecord(line: string, source: string): PassRecord {
  try {
    const { pass, digest, found, probes, lossPerMille, elapsedMs, ...caps } = RECORD(
      parseJson(line.slice(PASS_SIGN.length)),
      "",
    );
    const perNetwork = caps.perNetwork ?? Infinity;
    const perHost = caps.perHost ?? Infinity;
    return {
      pass,
      input: { probes, perNetwork, perHost, lossPerMille },
      digest,
      elapsedMs,
      found: found.map(({ servers, hosts, networks }) => ({
        hits: servers,
        endedHosts: hosts,
        endedNetworks: networks.map((address) => Math.floor(address / 256)),
      })),
    };
  } catch (error) {
    if (!(error instanceof FieldError)) throw error;
    throw new InputError(`Cannot resume "${source}": in a pass of its list, ${error.message}`);
  }
}

const address = checked(formed("an IPv4 address", (text) => ipv4(parseAddress(text))));

const RECORD = objectOf({
  pass: integer(),
  probes: integer(1),
  perNetwork: nullable(integer(1)),
  perHost: nullable(integer(1)),
  lossPerMille: integer(0, 999),
  elapsedMs: integer(),
  digest: text(/^[0-9a-f]{16}$/, "16 hexadecimal digits"),
  found: listOf(objectOf({
    servers: listOf(checked(formed("an endpoint and a fingerprint", parseServer))),
    hosts: listOf(address),
    networks: listOf(address),
  })),
});

function ipv4(address: Address | undefined): number | undefined {
  return typeof address === "number" ? address : undefined;
}

function parseServer(text: string): DiscoveredServer | undefined {
  const [, endpointText, digits] = /^(.+)\/([0-9a-f]{1,8})$/.exec(text) ?? [];
  const endpoint = endpointText === undefined ? undefined : parseEndpoint(endpointText);
  const address = ipv4(endpoint?.address);
  if (endpoint === undefined || address === undefined) return undefined;
  return { address, port: endpoint.port, fingerprint: Number.parseInt(digits, 16) };
}

/**
 * Plans and folds the recorded passes again.
 *
 * @param source Name of the checkpoint, for the error.
 * @throws InputError when a plan differs from the recorded one: targets, ports or exclusions have
 * changed, or another version of the program plans differently.
 */
export function replayPasses(
  discovery: PassPlanner,
  records: readonly PassRecord[],
  source: string,
): void {
  for (const { pass, input, digest, found } of records) {
    const isNext = pass === discovery.next;
    if (!isNext || discovery.plan(input).digest !== digest) {
      throw new InputError(
        `Cannot resume "${source}": the plan of pass ${pass} differs from that of the earlier ` +
          "run; use the program and the lists that the scan began with, or start a new scan",
      );
    }
    discovery.fold(found);
  }
}
