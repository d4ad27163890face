/**
 * The filters of servers, for single servers.
 *
 * @module
 */
import { type Address, parseAddress } from "../../core/address.ts";
import { InputError } from "../../core/errors.ts";
import { foldedKey, storable, versionKey } from "../../store/rows/stored_values.ts";
import { parseTarget } from "../../targets/parse.ts";
import type { Range } from "../../targets/ranges.ts";
import type { DashboardFilters, ListedServer } from "./dashboard_data.ts";

/**
 * The network of a filter: CIDR notation, or one address.
 *
 * @throws InputError for another text.
 */
export function networkOf(text: string): Range<Address> {
  const target = parseTarget(text);
  if ("range" in target && target.port === undefined) return target.range;
  throw new InputError(`Cannot use "${text}" as a network: write 192.0.2.0/24 or 2001:db8::/32`);
}

/** Whether filters match a server. */
export function matches(one: ListedServer, filters: DashboardFilters): boolean {
  const { online, minPlayers, maxPlayers, noAliases, since, text } = filters;
  const players = one.players_online;
  return (online === undefined || one.online === online) &&
    (minPlayers === undefined || (players ?? -1) >= minPlayers) &&
    (maxPlayers === undefined || players !== null && players <= maxPlayers) &&
    (!noAliases || one.alias_of === null) &&
    (since === undefined || one.changed_at > since) &&
    isAmong(filters.edition, [one.edition]) &&
    isAmong(filters.confidence, [one.software_confidence]) &&
    isAmong(filters.protocol, one.protocols) &&
    isAmong(filters.flag, one.flags) &&
    isAmong(filters.port, [one.port]) &&
    isAmong(filters.country, [one.country]) &&
    isAmong(filters.operator, [one.asn]) &&
    isAny(filters.software, (part) => contains(foldedKey(one.software ?? ""), part)) &&
    isAny(filters.version, (version) => hasVersion(versionKey(one.version), version)) &&
    isAny(filters.network, (network) => isWithin(one.host, networkOf(network))) &&
    (text === undefined || hasText([one.name, one.motd_plain, one.map, one.software], text));
}

/** Whether one of the texts of a server contains a text, in any case. */
export function hasText(texts: readonly (string | null)[], text: string): boolean {
  return texts.some((one) => one !== null && contains(one.toLowerCase(), text));
}

/** Whether a filter has one of the values of a server. Texts of a database are {@linkcode storable}. */
function isAmong<Value extends string | number>(
  wanted: readonly Value[] | undefined,
  values: readonly (Value | null)[],
): boolean {
  return isAny(wanted, (one) => {
    const stored = typeof one === "string" ? storable(one) : one;
    return values.some((value) => value === stored);
  });
}

/** Whether a filter is omitted, or one of its values fulfils a condition. */
function isAny<Value>(
  wanted: readonly Value[] | undefined,
  condition: (value: Value) => boolean,
): boolean {
  return wanted === undefined || wanted.length === 0 || wanted.some(condition);
}

function contains(folded: string, part: string): boolean {
  return folded.includes(storable(part).toLowerCase());
}

/** Whether the key of a version is that of the wanted one, or begins with it and a period. */
export function hasVersion(key: string, wanted: string): boolean {
  const start = versionKey(storable(wanted));
  return key === start || key.startsWith(`${start}.`);
}

function isWithin(host: string, { start, end }: Range<Address>): boolean {
  const address = parseAddress(host.split("%")[0]);
  return typeof address === typeof start && address! >= start && address! < end;
}
