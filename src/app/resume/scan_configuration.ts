/**
 * The configuration of a scan as a checkpoint stores it: options and resolved targets.
 *
 * @module
 */
import { resolvePath } from "../../core/node_modules.ts";
import {
  type Address,
  type Endpoint,
  endpointKey,
  endpointOfKey,
  formatAddress,
  formatEndpoint,
  parseAddress,
  parseEndpoint,
} from "../../core/address.ts";
import { InputError } from "../../core/errors.ts";
import {
  type Check,
  checked,
  entriesOf,
  FieldError,
  formed,
  integer,
  listOf,
  objectOf,
  oneOf,
  optional,
  parseJson,
  text,
  tuple,
  wrongField,
} from "../../core/checked_values.ts";
import type { Protocol } from "../../protocols/protocol.ts";
import {
  type NameRequest,
  type ScanTargets,
  sha256,
  sharedRequests,
  uuidText,
} from "../../scan/mod.ts";
import { parseDatabaseLocation } from "../../store/database_location.ts";
import type { Targets } from "../../targets/compose.ts";
import { parseTarget } from "../../targets/parse.ts";
import type { Range } from "../../targets/ranges.ts";
import type { GivenOptions, OptionForm } from "../options/given_options.ts";
import { userPath } from "../environment.ts";
import type { FoundTargets } from "../targets/find_targets.ts";

export interface Configuration {
  /** The id of the scan, a UUIDv7; the checkpoint has the same. */
  readonly scanId: string;
  /** The options, with absolute paths. */
  readonly given: GivenOptions;
  /** The targets, with names resolved to addresses. */
  readonly found: FoundTargets;
  /** Endpoints that counted as responders when the scan began. */
  readonly responders: readonly Endpoint[];
  /** Digest of the probe order: see {@linkcode orderDigest}. */
  readonly order: string;
}

/** The configuration as JSON, in one line. */
export function formatConfiguration(
  { scanId, given, found, responders, order }: Configuration,
): string {
  const { inclusions, excluded, known, names, services, requests } = found;
  return JSON.stringify({
    scanId,
    targets: given.words,
    options: Object.fromEntries(given.given),
    include: inclusions.map(({ range, port }) =>
      port === undefined ? [rangeText(range)] : [rangeText(range), port]
    ),
    exclude: excluded.map(rangeText),
    known: known.map(({ endpoint, protocols }) => [formatEndpoint(endpoint), protocols]),
    names: [...names].map(([address, name]) => [formatAddress(address), name]),
    services: [...services].map(([key, { name, service }]) => [
      formatEndpoint(endpointOfKey(key)),
      name,
      service.host,
      service.port,
    ]),
    requests: [...requests?.values() ?? []].flat().map(({ address, port, requestedAs }) => [
      formatAddress(address),
      port ?? 0,
      requestedAs ?? "",
    ]),
    responders: responders.map(formatEndpoint),
    order,
  });
}

/**
 * Parses the text of {@linkcode formatConfiguration}, which may have been edited since.
 *
 * @param allowed The options of a scan.
 * @param allProtocols Every protocol that it may name.
 * @throws FieldError for the first invalid field.
 */
export function parseConfiguration(
  text: string,
  allowed: readonly OptionForm[],
  allProtocols: readonly Protocol[],
): Configuration {
  const { options, ...fields } = objectOf({
    ...CONFIGURATION_FIELDS,
    known: listOf(tuple(endpoint, listOf(checked(oneOf(allProtocols.map(({ name }) => name)))))),
    options: givenOptions(allowed),
  })(parseJson(text), "");
  const { targets, include, exclude, known, ...rest } = fields;
  const { scanId, names, services, requests, responders, order } = rest;
  return {
    scanId,
    given: { words: targets, given: options },
    found: {
      inclusions: include.map(([range, port]) => ({ range, port })),
      excluded: exclude,
      known: known.map(([endpoint, protocols]) => ({ endpoint, protocols })),
      names: new Map(names),
      services: new Map(
        services.map(([endpoint, name, host, port]) => [
          endpointKey(endpoint),
          { name, service: { host, port } },
        ]),
      ),
      ...(requests.length > 0 && { requests: sharedRequests(requests.map(requestOf)) }),
    },
    responders,
    order,
  };
}

const word = text(/./s, "a text");
const port = integer(1, 65535);
const range = checked(formed("a range, for example 10.0.0.0-10.0.0.255", parseRange));
const endpoint = checked(formed("an endpoint, for example 10.0.0.1:19132", parseEndpoint));
const hostName = checked(formed("a host name", parseHostName));

const givenOptions =
  (allowed: readonly OptionForm[]): Check<ReadonlyMap<string, readonly string[]>> =>
  (value, field) =>
    new Map(
      entriesOf(value, field).map(([name, texts]) => {
        const option = allowed.find((one) => one.name === name && isKept(one));
        if (option === undefined) throw new FieldError(`there is no field ${field}.${name}`);
        return [name, textsOf(option, texts, `${field}.${name}`)];
      }),
    );

function textsOf({ takes, repeat }: OptionForm, given: unknown, field: string): string[] {
  const texts = listOf(word)(given, field);
  if (takes === undefined && texts.join() !== "true") throw wrongField(field, given, '["true"]');
  if (texts.length === 1 || texts.length > 1 && repeat) return texts;
  throw wrongField(field, given, repeat ? "a list of texts" : "a list of one text");
}

/** A requested name in a configuration; port 0: each port; an empty text: no name. */
function requestOf([address, port, text]: [Address, number, string]): NameRequest {
  return {
    address,
    port: port === 0 ? undefined : port,
    requestedAs: text === "" ? null : text,
  };
}

/** The fields of a configuration, options apart. */
const CONFIGURATION_FIELDS = {
  scanId: uuidText,
  targets: listOf(word),
  include: listOf(tuple(range, optional(port))),
  exclude: listOf(range),
  names: listOf(tuple(checked(formed("an address", parseAddress)), hostName)),
  services: listOf(tuple(endpoint, hostName, hostName, port)),
  requests: listOf(
    tuple(checked(formed("an address", parseAddress)), integer(0, 65535), text(/^/, "a text")),
  ),
  responders: listOf(endpoint),
  order: text(/^[0-9a-f]{64}$/, "64 hexadecimal digits"),
};

function parseHostName(text: string): string | undefined {
  try {
    const target = parseTarget(text);
    return "name" in target && target.name === text ? text : undefined;
  } catch (error) {
    if (error instanceof InputError) return undefined;
    throw error;
  }
}

/** Formats a range as `10.0.0.0-10.0.0.255`; the last address belongs to the range. */
function rangeText({ start, end }: Range): string {
  const last = typeof end === "number" ? end - 1 : end - 1n;
  return `${formatAddress(start)}-${formatAddress(last)}`;
}

function parseRange(text: string): Range | undefined {
  const [start, last, ...rest] = text.split("-").map(parseAddress);
  if (start === undefined || last === undefined || rest.length > 0) return undefined;
  if (typeof start !== typeof last || start > last) return undefined;
  return { start, end: typeof last === "number" ? last + 1 : last + 1n };
}

/**
 * Whether a checkpoint stores an option. It stores all except those that only name a file to read
 * options from, for example `--resume`.
 */
function isKept({ onResume }: OptionForm): boolean {
  return onResume !== "forgotten";
}

/**
 * The options with absolute paths, for a process in another folder.
 *
 * @param allowed The options of a scan.
 */
export function lastingOptions(
  { words, given }: GivenOptions,
  seed: number | undefined,
  allowed: readonly OptionForm[],
): GivenOptions {
  const lasting = new Map<string, readonly string[]>();
  for (const { name, takes } of allowed.filter(isKept)) {
    const texts = given.get(name);
    if (texts !== undefined) lasting.set(name, takes?.isPath ? texts.map(fullPath) : texts);
  }
  if (seed !== undefined) lasting.set("seed", [String(seed)]);
  return { words, given: lasting };
}

/** An absolute path; `-` and the URL of a database server stay as they are. */
export function fullPath(path: string): string {
  if (path === "-" || parseDatabaseLocation(path)?.postgres !== undefined) return path;
  return path.startsWith("sqlite:")
    ? `sqlite:${fullPath(path.slice(7))}`
    : resolvePath(userPath(path));
}

/**
 * A digest of the values that determine the order of targets: the addresses without exclusions, and
 * the ports of each protocol. Both also depend on the lists that the program contains.
 */
export function orderDigest(
  { groups }: Targets,
  { protocols, ports }: Pick<ScanTargets, "protocols" | "ports">,
): string {
  return sha256(JSON.stringify([
    groups.map((
      { addresses, usesScanPorts, ports },
    ) => [[...addresses].map(rangeText), usesScanPorts, ports]),
    protocols.map(({ name }) => [name, ports(name, 4), ports(name, 6)]),
  ]));
}
