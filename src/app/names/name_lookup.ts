/**
 * Resolves a name to the endpoints that may be probed: its addresses and the target of its SRV record.
 *
 * @module
 */
import { type Address, family, formatAddress } from "../../core/address.ts";
import { InputError } from "../../core/errors.ts";
import { countOf } from "../../core/quantities.ts";
import type { Protocol } from "../../protocols/protocol.ts";
import { refusedFromName } from "../../targets/shipped_lists.ts";
import { requestText, type Service, type ServiceFinder } from "../../targets/srv.ts";

/** The lookup functions and rules for names. */
export interface Lookups {
  /**
   * Finds the addresses of a name.
   *
   * @throws InputError when there are none.
   */
  readonly resolve: (name: string) => Promise<readonly Address[]>;
  /** Looks up the SRV record of a name. Default: SRV records are not looked up. */
  readonly findService?: ServiceFinder;
  /** Receives the reason why a record is not used. */
  readonly note: (text: string) => void;
  /** Whether every name may lead to private addresses. Default: only local names. */
  readonly allowPrivate?: boolean;
}

/** A service, and the addresses of its host. */
export interface FoundService {
  /** The service of the SRV record. */
  readonly service: Service;
  /** The addresses of the service's host; at least one. */
  readonly addresses: readonly Address[];
}

/** A resolved name: its addresses, and the service of its SRV record. */
export interface FoundName {
  /** The addresses of the name, at least one. */
  readonly addresses: readonly Address[];
  /** The target of the name's SRV record. */
  readonly found?: FoundService;
  /** Reasons why all records of the name are refused, one line each. */
  readonly refused?: readonly string[];
}

/**
 * The error for a name if none of its records may be used. The owner of the DNS zone causes it, not
 * the user.
 */
export class RefusedName extends InputError {
  /**
   * @param lines The reasons, as {@linkcode lookUpName} returns them.
   * @param note Receives each line if there are several.
   */
  constructor(name: string, lines: readonly string[], note: (text: string) => void) {
    super(lines.length === 1 ? lines[0] : `Cannot use "${name}": all its records are refused`);
    if (lines.length > 1) lines.forEach(note);
  }
}

/**
 * Reports refused names, if other targets are left.
 *
 * @param hasOthers Whether any other target is left.
 * @throws RefusedName the first refused name, if no other target is left.
 */
export function noteRefused(
  refused: readonly RefusedName[],
  hasOthers: boolean,
  note: (text: string) => void,
): void {
  const [first, ...more] = refused;
  (hasOthers ? refused : more).forEach(({ message }) => note(message));
  if (!hasOthers && first !== undefined) throw first;
}

/** The error for a name that has neither an address nor an SRV record. */
export class MissingName extends InputError {}

/** The error for a name whose lookup had no reply: it may exist. */
export class UnansweredName extends MissingName {}

/** The error for a missing name that was probably not meant as one: the lookups of other names do not matter. */
export class MistakenName extends InputError {}

/** What to do about missing names. */
export interface MissingNames {
  /** Whether any other target is left. */
  readonly hasOthers: boolean;
  /** Whether missing names are refused though other targets are left. */
  readonly strict: boolean;
  /** Receives a line for each of the first names. */
  readonly note: (text: string) => void;
  /** Receives a line with the number of names that are left out. */
  readonly warn: (line: string) => void;
}

/**
 * Reports missing names, which are left out.
 *
 * @throws InputError if no other target is left, and with `strict`.
 */
export function reportMissing(
  missing: readonly InputError[],
  { hasOthers, strict, note, warn }: MissingNames,
): void {
  if (missing.length === 0) return;
  const isRefused = strict || !hasOthers;
  if (isRefused && missing.length === 1) throw missing[0];
  const names = countOf(missing.length, "name");
  if (!isRefused) warn(`blocksweep: left out ${names} that cannot be found`);
  firstLines(missing.map(({ message }) => message), "names").forEach(note);
  if (isRefused) throw new InputError(`Cannot find ${names}`);
}

/** Adds the location of a name to its error. */
export function located(sourceLine: string | undefined, { message }: InputError): InputError {
  return new InputError(sourceLine === undefined ? message : `${sourceLine}: ${message}`);
}

/** Names that are looked up at the same time. */
export const LOOKUPS_AT_ONCE = 16;

/** Does a lookup for each item, several at the same time. The results are in the order of the items. */
export async function lookUpEach<Item, Found>(
  items: readonly Item[],
  find: (item: Item) => Promise<Found>,
): Promise<readonly PromiseSettledResult<Found>[]> {
  const results: PromiseSettledResult<Found>[] = [];
  const left = items.entries();
  const work = async () => {
    for (const [i, item] of left) {
      try {
        results[i] = { status: "fulfilled", value: await find(item) };
      } catch (reason) {
        results[i] = { status: "rejected", reason };
      }
    }
  };
  await Promise.all(Array.from({ length: Math.min(items.length, LOOKUPS_AT_ONCE) }, work));
  return results;
}

/** Maximum number of lines for one lookup: a DNS zone can cause any number. */
const MAX_LINES = 10;

/** The first of many lines, and how many more there are. */
export function firstLines(lines: readonly string[], what = "records"): readonly string[] {
  const more = lines.length - MAX_LINES;
  return more <= 0 ? lines : [...lines.slice(0, MAX_LINES), `... and ${more} more such ${what}`];
}

/** Whether one of the protocols uses SRV records. */
export function haveService(protocols: readonly Protocol[]): boolean {
  return protocols.some(({ hasServiceRecords }) => hasServiceRecords);
}

/**
 * Looks up a name. It needs an address or an SRV record. Records that point to an address that the name must not
 * point to (`refusedFromName()`) are left out and reported. If no record is left, the reasons are returned.
 *
 * @throws MissingName when the name has neither an address nor an SRV record.
 */
export async function lookUpName(name: string, lookups: Lookups): Promise<FoundName> {
  const [own, led] = await Promise.allSettled([
    lookups.resolve(name),
    followService(name, lookups),
  ]);
  if (led.status === "rejected") throw led.reason;
  const { found, refused: misled } = led.value;
  const isMissing = own.status === "rejected";
  const hasRecord = found !== undefined || misled.length > 0;
  if (isMissing && !(own.reason instanceof InputError && hasRecord)) throw missing(own.reason);
  const { addresses, refused: denied } = admit(name, name, isMissing ? [] : own.value, lookups);
  const refused = [...misled, ...denied];
  const isRefused = addresses.length === 0 && found === undefined && refused.length > 0;
  if (isRefused) return { addresses, refused };
  refused.forEach(lookups.note);
  return { addresses, found };
}

function missing(reason: unknown): unknown {
  if (reason instanceof MissingName) return reason;
  const isMissing = reason instanceof InputError && !(reason instanceof MistakenName);
  return isMissing ? new MissingName(reason.message) : reason;
}

/**
 * The addresses of a host to which a name may point.
 *
 * @param name The name that the user wrote.
 * @param host The name that has the addresses: the same, or the target of its SRV record.
 * @returns The addresses, and a line for each refused record with the reason.
 */
function admit(
  name: string,
  host: string,
  all: readonly Address[],
  { allowPrivate = false }: Lookups,
): { addresses: Address[]; refused: readonly string[] } {
  const addresses: Address[] = [];
  const refused: string[] = [];
  for (const address of all) {
    const reason = refusedFromName(name, address, allowPrivate);
    if (reason === undefined) addresses.push(address);
    else refused.push(`Cannot use the record "${recordText(host, address)}": ${reason}`);
  }
  return { addresses, refused: firstLines(refused) };
}

function recordText(host: string, address: Address): string {
  return `${host} ${family(address) === 4 ? "A" : "AAAA"} ${formatAddress(address)}`;
}

/** The target of a name's SRV record. */
interface Led {
  readonly found?: FoundService;
  /** Reasons why addresses of the target were refused, one line each. */
  readonly refused: readonly string[];
}

/** Resolves the SRV record of a name. A record that cannot be looked up is reported and ignored. */
async function followService(name: string, lookups: Lookups): Promise<Led> {
  const { resolve, findService, note } = lookups;
  let led: string | undefined;
  try {
    const service = await findService?.(name);
    if (service === undefined) return { refused: [] };
    led = requestText(name, service);
    const { addresses, refused } = admit(name, service.host, await resolve(service.host), lookups);
    const found = addresses.length === 0 ? undefined : { service, addresses };
    return { found, refused: refused.map((line) => `${led}: ${line}`) };
  } catch (error) {
    if (!(error instanceof InputError)) throw error;
    note(led === undefined ? error.message : `${led}: ${error.message}`);
    return { refused: [] };
  }
}
