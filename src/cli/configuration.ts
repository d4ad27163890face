/**
 * All that a scan was told, in a form that outlives it: options, and what names came to.
 *
 * @module
 */
import { resolve } from "node:path";
import {
  type Address,
  type Endpoint,
  endpointKey,
  endpointOf,
  formatAddress,
  formatEndpoint,
  parseAddress,
  parseEndpoint,
} from "../address.ts";
import { sha256 } from "../scan/checkpoint/file.ts";
import { storePlace } from "../store/open.ts";
import type { Targets } from "../targets/compose.ts";
import type { Range } from "../targets/ranges.ts";
import type { Values } from "./args.ts";
import { userPath } from "./console.ts";
import { optionsOf } from "./options.ts";
import type { ScanSettings } from "./scan_settings.ts";
import type { FoundTargets } from "./targets.ts";

/** What a scan was told. */
export interface Configuration {
  /** The options, paths in full. */
  readonly values: Values;
  /** What its words came to. */
  readonly found: FoundTargets;
  /** Servers that it took for answered when it began. */
  readonly answered: readonly Endpoint[];
  /** What the program made of that: see {@linkcode orderDigest}. */
  readonly order: string;
}

/** The configuration as JSON, in one line. */
export function formatConfiguration({ values, found, answered, order }: Configuration): string {
  const { inclusions, excluded, first, names, services } = found;
  return JSON.stringify({
    targets: values.words,
    options: Object.fromEntries(values.given),
    include: inclusions.map(({ range, port }) =>
      port === undefined ? [rangeText(range)] : [rangeText(range), port]
    ),
    exclude: excluded.map(rangeText),
    first: first.map(formatEndpoint),
    names: [...names].map(([address, name]) => [formatAddress(address), name]),
    services: [...services].map(([key, { name, service }]) => [
      formatEndpoint(endpointOf(key)),
      name,
      service.host,
      service.port,
    ]),
    answered: answered.map(formatEndpoint),
    order,
  });
}

/** Reads what {@linkcode formatConfiguration} wrote: whoever calls it has checked that it did. */
export function parseConfiguration(text: string): Configuration {
  const { targets, options, include, exclude, first, names, services, answered, order } = JSON
    .parse(text);
  return {
    values: { words: targets, given: new Map(Object.entries<string[]>(options)) },
    found: {
      inclusions: include.map(([range, port]: [string, number?]) => ({
        range: parseRange(range),
        port,
      })),
      excluded: exclude.map(parseRange),
      first: first.map((id: string) => parseEndpoint(id)!),
      names: new Map(names.map(([address, name]: string[]) => [parseAddress(address)!, name])),
      services: new Map(
        services.map(([endpoint, name, host, port]: [string, string, string, number]) => [
          endpointKey(parseEndpoint(endpoint)!),
          { name, service: { host, port } },
        ]),
      ),
    },
    answered: answered.map((id: string) => parseEndpoint(id)!),
    order,
  };
}

/** `10.0.0.0-10.0.0.255`: the last address is in it. */
function rangeText({ start, end }: Range): string {
  const last = typeof end === "number" ? end - 1 : end - 1n;
  return `${formatAddress(start)}-${formatAddress(last)}`;
}

function parseRange(text: string): Range {
  const [start, last] = text.split("-").map((address) => parseAddress(address)!);
  const end: Address = typeof last === "number" ? last + 1 : last + 1n;
  return { start, end };
}

/** Options as another process, in another folder, has to see them. */
export function lastingValues({ words, given }: Values, seed: number | undefined): Values {
  const lasting = new Map<string, readonly string[]>();
  for (const { name, value } of optionsOf("scan")) {
    const texts = given.get(name);
    if (texts === undefined || name === "config") continue;
    lasting.set(name, value === "FILE" ? texts.map(fullPath) : texts);
  }
  if (seed !== undefined) lasting.set("seed", [String(seed)]);
  return { words, given: lasting };
}

/** A path in full; `-` and the URL of a server are none. */
export function fullPath(path: string): string {
  if (path === "-" || storePlace(path)?.postgres !== undefined) return path;
  return path.startsWith("sqlite:") ? `sqlite:${fullPath(path.slice(7))}` : resolve(userPath(path));
}

/**
 * A digest of what decides which target stands at which position: the addresses that are left, and
 * the ports of each protocol. The program's own lists take part in both.
 */
export function orderDigest({ groups }: Targets, { protocols, ports }: ScanSettings): string {
  return sha256(JSON.stringify([
    groups.map(({ addresses, usual, ports }) => [[...addresses].map(rangeText), usual, ports]),
    protocols.map(({ name }) => [name, ports(name, 4), ports(name, 6)]),
  ]));
}
