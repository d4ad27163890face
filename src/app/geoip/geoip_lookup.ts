/**
 * Countries and operators of addresses, by the files of `--geoip`.
 *
 * @module
 */
import { type Address, parseAddress } from "../../core/address.ts";
import { InputError } from "../../core/errors.ts";
import { readReason, userPath } from "../environment.ts";
import { loadMmdb, MmdbError, type MmdbFile, type MmdbMap, type MmdbValue } from "./mmdb.ts";

/** Country and operator of an address. Each is null if it is unknown. */
export interface GeoipValues {
  /** Two letters, ISO 3166-1. */
  readonly country: string | null;
  /** Number of the autonomous system. */
  readonly asn: number | null;
  /** Name of the autonomous system's operator. */
  readonly operator: string | null;
}

/** Finds country and operator of an address, which is in the form of records. */
export type GeoipLookup = (host: string) => GeoipValues;

/** Country and operator of an address without `--geoip`. */
export const UNKNOWN_GEOIP: GeoipValues = { country: null, asn: null, operator: null };

export interface GeoipFiles {
  /** Their bytes, which threads share. */
  readonly files: readonly SharedArrayBuffer[];
  /** Texts that have to be shown where countries and operators are. */
  readonly attributions: readonly string[];
}

/** Maximum number of addresses whose values are kept. */
const MAX_KEPT = 100_000;
/** Maximum length of an operator's name and of an attribution, UTF-16 units. */
const MAX_NAME = 200;

/**
 * Reads the files of `--geoip`.
 *
 * @throws InputError for a file that cannot be read, is damaged, or has neither countries nor operators.
 */
export async function readGeoipFiles(paths: readonly string[]): Promise<GeoipFiles> {
  const files: SharedArrayBuffer[] = [];
  const attributions = new Set<string>();
  const open = paths.length === 0 ? undefined : await loadMmdb();
  for (const path of paths) {
    const bytes = await readShared(path);
    const file = openFile(path, () => open!(bytes));
    if (!hasGeoip(file)) {
      throw new InputError(
        `Cannot use --geoip "${path}": its records have no country and no autonomous system`,
      );
    }
    files.push(bytes);
    const text = attributionOf(file.metadata);
    if (text !== undefined) attributions.add(text);
  }
  return { files, attributions: [...attributions] };
}

async function readShared(path: string): Promise<SharedArrayBuffer> {
  try {
    const bytes = await Deno.readFile(userPath(path));
    const shared = new SharedArrayBuffer(bytes.length);
    new Uint8Array(shared).set(bytes);
    return shared;
  } catch (error) {
    if (error instanceof Deno.errors.NotCapable) throw error;
    throw new InputError(`Cannot read "${path}": ${readReason(error)}`);
  }
}

function openFile(path: string, open: () => MmdbFile): MmdbFile {
  try {
    return open();
  } catch (error) {
    if (!(error instanceof MmdbError)) throw error;
    throw new InputError(`Cannot use --geoip "${path}": ${error.message}`);
  }
}

/** Whether a record of some networks has a country or an operator. */
function hasGeoip(file: MmdbFile): boolean {
  for (const record of file.samples()) {
    const { country, asn } = valuesOf(record);
    if (country !== null || asn !== null) return true;
  }
  return false;
}

/** Attributions that licences ask for, by the type or description of a file: docs/guide/geoip.md. */
const ATTRIBUTIONS: readonly (readonly [RegExp, string])[] = [
  [/db-?ip\b|dbip/i, "IP Geolocation by DB-IP: https://db-ip.com"],
  [
    /geolite/i,
    "This product includes GeoLite data created by MaxMind, available from https://www.maxmind.com",
  ],
  [/ipinfo/i, "IP address data powered by IPinfo: https://ipinfo.io"],
];

/** The text that a file wants to be shown: that of its licence, or its description. */
function attributionOf(
  { databaseType, description: descriptions }: MmdbFile["metadata"],
): string | undefined {
  const description = isMap(descriptions)
    ? descriptions.en ?? Object.values(descriptions)[0]
    : undefined;
  const text = typeof description === "string" ? description.trim().slice(0, MAX_NAME) : "";
  const named = `${databaseType} ${text}`;
  const [, asked] = ATTRIBUTIONS.find(([pattern]) => pattern.test(named)) ?? [];
  return asked ?? (text === "" ? undefined : `Countries and operators: ${text}`);
}

/** A function that looks up country and operator: the first file that has a country, and the first with an operator. */
export async function readGeoipLookup(files: readonly SharedArrayBuffer[]): Promise<GeoipLookup> {
  if (files.length === 0) return () => UNKNOWN_GEOIP;
  const lookups = files.map(await loadMmdb()).map(lookupIn);
  return (host) => {
    const address = parseAddress(host.split("%")[0]);
    if (address === undefined) return UNKNOWN_GEOIP;
    const found = lookups.map((lookup) => lookup(address));
    const { asn, operator } = found.find((one) => one.asn !== null) ?? UNKNOWN_GEOIP;
    return { country: found.find((one) => one.country !== null)?.country ?? null, asn, operator };
  };
}

/** Looks up values in a file, and keeps those of the last addresses. */
function lookupIn(file: MmdbFile): (address: Address) => GeoipValues {
  const kept = new Map<Address, GeoipValues>();
  return (address) => {
    const known = kept.get(address);
    if (known !== undefined) return known;
    if (kept.size >= MAX_KEPT) kept.clear();
    const values = valuesOf(file.find(address));
    kept.set(address, values);
    return values;
  };
}

function isMap(value: MmdbValue): value is MmdbMap {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The values in a record. Files name their values differently: docs/guide/geoip.md. */
function valuesOf(record: MmdbValue): GeoipValues {
  if (!isMap(record)) return UNKNOWN_GEOIP;
  const asn = asnOf(first(record, ["autonomous_system_number", "asn"]));
  return {
    country: countryOf(record),
    asn,
    operator: asn === null
      ? null
      : operatorOf(first(record, ["autonomous_system_organization", "as_name"])),
  };
}

/** The first known value of the names, in the record or in its map `traits`. */
function first(record: MmdbMap, names: readonly string[]): MmdbValue {
  const { traits } = record;
  const maps = isMap(traits) ? [record, traits] : [record];
  return maps.flatMap((map) => names.map((name) => map[name]))
    .find((value) => value !== undefined);
}

function countryOf({ country, country_code: code }: MmdbMap): string | null {
  const nested = isMap(country) ? country.iso_code : country;
  return [nested, code].find(isCountryCode) ?? null;
}

function isCountryCode(value: MmdbValue): value is string {
  return typeof value === "string" && /^[A-Z]{2}$/.test(value);
}

/** A number, or a text such as `AS64500`. */
function asnOf(value: MmdbValue): number | null {
  const text = typeof value === "string" ? /^AS(\d{1,10})$/.exec(value)?.[1] : undefined;
  const number = typeof value === "number" ? value : Number(text ?? NaN);
  return Number.isInteger(number) && number > 0 && number < 2 ** 32 ? number : null;
}

function operatorOf(value: MmdbValue): string | null {
  const name = typeof value === "string" ? value.trim().slice(0, MAX_NAME).toWellFormed() : "";
  return name === "" ? null : name;
}
