/**
 * From a name to where it may be asked: its addresses, and where its SRV record leads.
 *
 * @module
 */
import { type Address, family, formatAddress } from "../../core/address.ts";
import { InputError } from "../../core/errors.ts";
import type { Protocol } from "../../protocols/protocol.ts";
import { refusedFromName } from "../../targets/builtin_lists.ts";
import { requestText, type Service, type ServiceFinder } from "../../targets/srv.ts";

/** What names are looked up with. */
export interface Lookups {
  /**
   * Finds the addresses of a name.
   *
   * @throws InputError when there are none.
   */
  readonly resolve: (name: string) => Promise<readonly Address[]>;
  /** Finds what a name's SRV record says. Default: none is looked up. */
  readonly findService?: ServiceFinder;
  /** Told what stands against using a record. */
  readonly note: (text: string) => void;
  /** Whether every name may lead to private addresses. Default: only local names. */
  readonly allowPrivate?: boolean;
}

/** A service, and the addresses of its host. */
export interface FoundService {
  /** What the SRV record says. */
  readonly service: Service;
  /** Where that is; at least one. */
  readonly addresses: readonly Address[];
}

/** Where a name may be asked: on an address, or where its SRV record leads. */
export interface FoundName {
  /** Its addresses. */
  readonly addresses: readonly Address[];
  /** Where its SRV record leads. */
  readonly found?: FoundService;
  /** Why all its records are refused, in lines. */
  readonly refused?: readonly string[];
}

/** A name of which no record may be used: whoever holds its zone decides that, not the user. */
export class RefusedName extends InputError {
  /**
   * @param lines Why, as {@linkcode lookUpName} returns it. Several are noted.
   * @param note Told each of several lines.
   */
  constructor(name: string, lines: readonly string[], note: (text: string) => void) {
    super(lines.length === 1 ? lines[0] : `Cannot use "${name}": all its records are refused`);
    if (lines.length > 1) lines.forEach(note);
  }
}

/**
 * Notes names that were refused, beside others that are used.
 *
 * @param isLeft Whether there is anything but them.
 * @throws RefusedName the first of them, where nothing is left.
 */
export function noteRefused(
  refused: readonly RefusedName[],
  isLeft: boolean,
  note: (text: string) => void,
): void {
  const [first, ...more] = refused;
  (isLeft ? refused : more).forEach(({ message }) => note(message));
  if (!isLeft && first !== undefined) throw first;
}

/** Lines of one lookup that are shown: whoever holds the zone decides how many there are. */
const MOST_LINES = 10;

/** The first of many lines, and how many more there are. */
export function firstLines(lines: readonly string[]): readonly string[] {
  const more = lines.length - MOST_LINES;
  return more <= 0 ? lines : [...lines.slice(0, MOST_LINES), `... and ${more} more such records`];
}

/** Whether SRV records lead to servers of one of the protocols. */
export function haveService(protocols: readonly Protocol[]): boolean {
  return protocols.some(({ hasServiceRecords }) => hasServiceRecords);
}

/**
 * Looks up a name. A name that has nothing but an SRV record will do. Records that lead where the name
 * must not (`refusedFromName()`) are left out, and reported; where nothing is left, they are returned.
 *
 * @throws InputError when it has neither.
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
  if (isMissing && !(own.reason instanceof InputError && hasRecord)) throw own.reason;
  const { addresses, refused: denied } = admit(name, name, isMissing ? [] : own.value, lookups);
  const refused = [...misled, ...denied];
  const isRefused = addresses.length === 0 && found === undefined && refused.length > 0;
  if (isRefused) return { addresses, refused };
  refused.forEach(lookups.note);
  return { addresses, found };
}

/**
 * The addresses of a host to which a name may lead.
 *
 * @param name The name that the user wrote.
 * @param host The name that has the addresses: the same, or the target of its SRV record.
 * @returns With lines that say which records were refused, and why.
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

/** Where a name's SRV record leads. */
interface Led {
  readonly found?: FoundService;
  /** Which addresses of its target were refused, in lines. */
  readonly refused: readonly string[];
}

/** Follows a name's SRV record: one that cannot be looked up is noted, and as good as none. */
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
