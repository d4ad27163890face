/**
 * The servers that were heard on the local networks, for as long as they are heard.
 *
 * @module
 */
import { type Address, parseAddress } from "../../address.ts";
import type { ServerRecord } from "../../record.ts";

/** Servers to remember, and of one address: a neighbour that answers from all its ports ends nothing. */
const MOST_SERVERS = 4096;
const MOST_OF_ADDRESS = 32;

/** One server, or what says that it is one. */
export interface Neighbour {
  /** What tells it from others. */
  readonly key: string;
  /** Where it was heard first. */
  readonly address: Address;
  /** For how long it is believed to be there when nothing is heard, milliseconds. */
  readonly lifetimeMs: number;
  /** When it was last heard, milliseconds of the clock. */
  heardAt: number;
  /** When it was last asked. */
  askedAt: number;
  /** Whether it is being asked. */
  asking: boolean;
  /** Whether it asked to be left alone. */
  optedOut: boolean;
  /** Its row, as soon as there is one. */
  row: ServerRecord | undefined;
  /** The one by which the same server is listed already. */
  double: Neighbour | undefined;
}

/** A server in the list. */
export interface Listed {
  /** Its row. */
  readonly row: ServerRecord;
  /** When it was last heard, milliseconds of the clock. */
  readonly heardAt: number;
}

/**
 * The servers around. {@linkcode discover} fills it, and who shows them reads it.
 *
 * @example
 * ```ts
 * import { emptyRecord, Neighbours } from "blocksweep";
 * import { assertEquals } from "@std/assert";
 *
 * const neighbours = new Neighbours();
 * const [address, now] = [0xc0a8010a, 1000];
 * const neighbour = neighbours.meet("192.168.1.10:19132", address, 15_000, now)!;
 * neighbours.list(neighbour, emptyRecord({ address, port: 19132 }, 0));
 * assertEquals(neighbours.listed().map(({ row }) => row.host), ["192.168.1.10"]);
 * neighbours.forget(now + 15_000);
 * assertEquals(neighbours.listed(), []);
 * ```
 */
export class Neighbours {
  readonly #all = new Map<string, Neighbour>();
  readonly #ofAddress = new Map<Address, number>();
  /** Who was first to show a GUID: a server in several of our networks shows it in each. */
  readonly #holders = new Map<string, Neighbour>();

  /**
   * The server of a key: a new one, or the one that is known.
   *
   * @returns `undefined` when there are too many.
   */
  meet(key: string, address: Address, lifetimeMs: number, now: number): Neighbour | undefined {
    const known = this.#all.get(key);
    if (known !== undefined) return known;
    const ofAddress = this.#ofAddress.get(address) ?? 0;
    if (this.#all.size >= MOST_SERVERS || ofAddress >= MOST_OF_ADDRESS) return undefined;
    const neighbour = {
      ...{ key, address, lifetimeMs, heardAt: now, askedAt: -Infinity },
      ...{ asking: false, optedOut: false, row: undefined, double: undefined },
    };
    this.#all.set(key, neighbour);
    this.#ofAddress.set(address, ofAddress + 1);
    return neighbour;
  }

  /** Keeps a row, unless the same server is listed at another address. */
  list(neighbour: Neighbour, row: ServerRecord): boolean {
    const holder = row.guid === null ? undefined : this.#holders.get(row.guid);
    neighbour.double = holder === neighbour ? undefined : holder;
    const before = neighbour.row?.guid;
    if (before != null && before !== row.guid) this.#holders.delete(before); // it began anew
    neighbour.row = neighbour.double === undefined ? row : undefined;
    if (neighbour.row === undefined) return false;
    if (row.guid !== null) this.#holders.set(row.guid, neighbour);
    return true;
  }

  /** Whether nothing is to be learned of it: it is another one's double, or wants no questions. */
  isSettled({ double, optedOut, asking }: Neighbour): boolean {
    return optedOut || asking || double !== undefined && this.#all.get(double.key) === double;
  }

  /** Forgets those that were not heard for too long. */
  forget(now: number): void {
    for (const neighbour of this.#all.values()) {
      const { key, address, heardAt, lifetimeMs, row } = neighbour;
      if (now - heardAt < lifetimeMs) continue;
      this.#all.delete(key);
      const left = this.#ofAddress.get(address)! - 1;
      if (left > 0) this.#ofAddress.set(address, left);
      else this.#ofAddress.delete(address);
      if (row?.guid != null) this.#holders.delete(row.guid);
    }
  }

  /** The servers with a row, sorted by address and port. */
  listed(): Listed[] {
    return [...this.#all.values()]
      .filter((neighbour): neighbour is Neighbour & Listed => neighbour.row !== undefined)
      .map(({ row, heardAt }) => ({ row, heardAt }))
      .sort((a, b) => compareHosts(a.row.host, b.row.host) || a.row.port - b.row.port);
  }
}

/** IPv4 before IPv6, and by value. */
function compareHosts(a: string, b: string): number {
  const [first, second] = [parseAddress(a)!, parseAddress(b)!];
  if (typeof first !== typeof second) return typeof first === "number" ? -1 : 1;
  return first < second ? -1 : first > second ? 1 : 0;
}
