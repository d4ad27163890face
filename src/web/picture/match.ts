/**
 * Finds the servers of a picture that filters match.
 *
 * @module
 */
import type { Address } from "../../core/address.ts";
import { readTexts } from "../../store/rows/json_cells.ts";
import { foldedKey, storable, versionKey } from "../../store/rows/stored_values.ts";
import type { Range } from "../../targets/ranges.ts";
import type { DashboardFilters, FacetName } from "../data/dashboard_data.ts";
import { hasVersion, networkOf } from "../data/server_filters.ts";
import { BITS, type DictionaryName, type PictureReader } from "./picture.ts";

/** The dictionary of a facet's values. Ports have none. */
export const FACET_DICTIONARY = {
  edition: "edition",
  software: "software",
  version: "version",
  protocol: "protocols",
  flag: "flags",
  country: "country",
  operator: "operator",
} as const satisfies Partial<Record<FacetName, DictionaryName>>;

/** The bit of a facet's filter in {@linkcode Matches.failed}. */
export const FAILED: Readonly<Record<FacetName, number>> = {
  edition: 1,
  software: 2,
  version: 4,
  protocol: 8,
  port: 16,
  flag: 32,
  country: 64,
  operator: 128,
};
/** The bit of servers that other filters do not match, and of removed servers. */
const EXCLUDED = 256;

/** Which servers of a picture filters match. */
export interface Matches {
  /** Number of places of the picture. */
  readonly count: number;
  /** For each server, the bits of the filters that do not match; 0: all match. */
  readonly failed: Uint16Array;
}

/**
 * Finds the servers that filters match.
 *
 * @param found The `servers.id` of servers whose whole texts contain the text of the filters, though perhaps
 * not the part that is in the picture.
 */
export function match(
  picture: PictureReader,
  filters: DashboardFilters,
  found: readonly number[] = [],
): Matches {
  const { count } = picture;
  const failed = new Uint16Array(count);
  const { bits } = picture.columns;
  for (let i = 0; i < count; i++) if (bits[i] & BITS.removed) failed[i] = EXCLUDED;
  matchFacets(picture, filters, failed);
  matchStates(picture, filters, failed);
  const networks = filters.network?.map(networkOf) ?? [];
  if (networks.length > 0) matchNetworks(picture, networks, failed);
  if (filters.text !== undefined) matchText(picture, filters.text, found, failed);
  return { count, failed };
}

/** Marks the servers whose value of a facet is not among those of its filter. */
function matchFacets(
  picture: PictureReader,
  filters: DashboardFilters,
  failed: Uint16Array,
): void {
  for (const [name, dictionary] of Object.entries(FACET_DICTIONARY)) {
    const facet = name as keyof typeof FACET_DICTIONARY;
    const values = filters[facet];
    if (values === undefined || values.length === 0) continue;
    const wanted = picture.dictionaries[dictionary].codesWith(CONDITIONS[facet](values));
    const [codes, bit] = [picture.columns[dictionary], FAILED[facet]];
    // A number beyond the list is that of a text which was added meanwhile.
    for (let i = 0; i < failed.length; i++) if (wanted[codes[i]] !== 1) failed[i] |= bit;
  }
  const { port: ports } = filters;
  if (ports === undefined || ports.length === 0) return;
  const wanted = new Uint8Array(65_536);
  for (const port of ports) wanted[port] = 1;
  const { port } = picture.columns;
  for (let i = 0; i < failed.length; i++) if (wanted[port[i]] === 0) failed[i] |= FAILED.port;
}

/** The condition of a text in a facet's dictionary, for the values of its filter. */
const CONDITIONS: Readonly<
  Record<
    keyof typeof FACET_DICTIONARY,
    (values: readonly (string | number)[]) => (text: string) => boolean
  >
> = {
  edition: isOneOf,
  country: isOneOf,
  protocol: hasOneOf,
  flag: hasOneOf,
  software: (values) => {
    const parts = values.map((value) => storable(String(value)).toLowerCase());
    return (text) => parts.some((part) => foldedKey(text).includes(part));
  },
  version: (values) => {
    return (text) => values.some((value) => hasVersion(versionKey(text), String(value)));
  },
  operator: (values) => {
    const numbers = new Set(values.map(String));
    return (text) => numbers.has(text.slice(0, text.indexOf(" ")));
  },
};

function isOneOf(values: readonly (string | number)[]): (text: string) => boolean {
  const wanted = new Set(values.map((value) => storable(String(value))));
  return (text) => wanted.has(text);
}

function hasOneOf(values: readonly (string | number)[]): (json: string) => boolean {
  const wanted = new Set(values.map((value) => storable(String(value))));
  return (json) => readTexts(json)?.some((text) => wanted.has(text)) ?? false;
}

/** Marks the servers that filters of numbers and states exclude. */
function matchStates(
  picture: PictureReader,
  { online, minPlayers, maxPlayers, noAliases, confidence, since }: DashboardFilters,
  failed: Uint16Array,
): void {
  const { bits, players, alias, changedAt } = picture.columns;
  const exclude = (isExcluded: (i: number) => boolean) => {
    for (let i = 0; i < failed.length; i++) if (isExcluded(i)) failed[i] |= EXCLUDED;
  };
  if (online !== undefined) {
    const wanted = online ? BITS.online : 0;
    exclude((i) => (bits[i] & BITS.online) !== wanted);
  }
  if (minPlayers !== undefined) {
    exclude((i) => (bits[i] & BITS.players ? players[i] : -1) < minPlayers);
  }
  if (maxPlayers !== undefined) {
    exclude((i) => !(bits[i] & BITS.players) || players[i] > maxPlayers);
  }
  if (noAliases) exclude((i) => alias[i] !== 0);
  if (confidence !== undefined && confidence.length > 0) {
    const wanted = ["A", "B", "C"].map((letter) => confidence.includes(letter));
    exclude((i) => !wanted[(bits[i] >> 5 & 3) - 1]);
  }
  if (since !== undefined) exclude((i) => changedAt[i] <= since);
}

/** Marks the servers whose addresses are in none of the networks. */
function matchNetworks(
  { columns: { bits, address }, v6 }: PictureReader,
  networks: readonly Range<Address>[],
  failed: Uint16Array,
): void {
  const isIn = (value: Address) =>
    networks.some(({ start, end }) =>
      typeof start === typeof value && value >= start && value < end
    );
  const hasV6 = networks.some(({ start }) => typeof start === "bigint");
  for (let i = 0; i < failed.length; i++) {
    const kind = bits[i] & (BITS.isV6 | BITS.noAddress);
    const at = address[i];
    const isFound = kind === 0
      ? isIn(at)
      : kind === BITS.isV6 && hasV6 && isIn(v6[2 * at] << 64n | v6[2 * at + 1]);
    if (!isFound) failed[i] |= EXCLUDED;
  }
}

/** Marks the servers that do not contain a text in name, MOTD, map or software. */
function matchText(
  picture: PictureReader,
  text: string,
  foundIds: readonly number[],
  failed: Uint16Array,
): void {
  const part = storable(text).toLowerCase();
  const found = new Uint8Array(failed.length);
  const { software } = picture.columns;
  const wanted = picture.dictionaries.software.codesWith((one) => foldedKey(one).includes(part));
  for (let i = 0; i < found.length; i++) found[i] = wanted[software[i]];
  const mark = (row: number) => {
    if (row >= 0 && row < found.length) found[row] = 1;
  };
  for (const id of foundIds) mark(picture.rowOf(id));
  if (part === "") found.fill(1);
  else picture.texts.search(part, failed.length, mark, (id) => mark(picture.rowOf(id)));
  for (let i = 0; i < failed.length; i++) if (found[i] === 0) failed[i] |= EXCLUDED;
}
