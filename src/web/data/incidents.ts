/**
 * Groups the changes of servers to offline and online into incidents: those of one network at one time.
 *
 * @module
 */
import { type Address, formatAddress } from "../../core/address.ts";

/** A server went offline, or came back. */
export interface StateChange {
  /** Unix milliseconds. */
  readonly at: number;
  /** `servers.id`; `null`: the server is no longer stored. */
  readonly server: number | null;
  readonly isDown: boolean;
  /** The server's address; `null`: unknown. */
  readonly address: Address | null;
}

/** Changes that belong together. */
export interface ChangeGroup<Change extends StateChange> {
  /** The smallest network with all addresses, of /16 to /24 (IPv6: /32 to /64), or one address; `null`: unknown. */
  readonly network: string | null;
  /** The changes of one kind in this network at one time, in the order of times. */
  readonly starts: readonly Change[];
  /** The first return of each server that went offline, in the order of times. */
  readonly returns: readonly Change[];
}

/** Changes of a network with a longer pause between them are two incidents, milliseconds. */
const MAX_PAUSE_MS = 60_000;
/** Maximum time between the first and the last change with which an incident starts, milliseconds. */
const MAX_START_MS = 15 * 60_000;
/** Fewer changes in different networks are a coincidence. */
const MIN_CHANGES = 4;
/** A part of a network with at most this share of the changes is no part of the incident. */
const STRAY_SHARE = 0.1;

/** The lengths of addresses and of prefixes, bits. */
const V4 = { bits: 32, shortest: 16, longest: 24 };
const V6 = { bits: 128, shortest: 32, longest: 64 };

/**
 * Groups changes. Each change is in one group. A group that begins with servers that went offline has their
 * returns too.
 *
 * @param changes In any order.
 * @returns The groups by their first change, the newest first.
 */
export function groupChanges<Change extends StateChange>(
  changes: readonly Change[],
): ChangeGroup<Change>[] {
  const down = new Map<number, Change>();
  const returnOf = new Map<Change, Change>();
  const starts: Change[] = [];
  for (const change of changes.toSorted((a, b) => a.at - b.at)) {
    const { server, isDown } = change;
    const open = server === null ? undefined : down.get(server);
    if (server !== null) down.delete(server);
    if (!isDown && open !== undefined) returnOf.set(open, change);
    else {
      starts.push(change);
      if (isDown && server !== null) down.set(server, change);
    }
  }
  return [...Map.groupBy(starts, regionOf).values()].flatMap(split)
    .map((group) => ({
      network: networkOf(group),
      starts: group,
      returns: group.flatMap((one) => returnOf.get(one) ?? []).sort((a, b) => a.at - b.at),
    }))
    .sort((a, b) => b.starts[0].at - a.starts[0].at);
}

function familyOf(address: Address) {
  return typeof address === "number" ? V4 : V6;
}

/** The kind of a change, and the largest network in which it can be a part of an incident. */
function regionOf(change: StateChange): unknown {
  const { address, isDown } = change;
  if (address === null) return change;
  const { bits, shortest } = familyOf(address);
  return `${isDown} ${bits} ${BigInt(address) >> BigInt(bits - shortest)}`;
}

/** Splits changes, which are in the order of times, until each part is of one time and network. */
function split<Change extends StateChange>(changes: readonly Change[]): Change[][] {
  const parts = atOneTime(changes).flatMap(byNetwork);
  return parts.length === 1 ? parts : parts.flatMap(split);
}

/** Splits changes, which are in the order of times, at pauses. */
function atOneTime<Change extends StateChange>(changes: readonly Change[]): Change[][] {
  const groups: Change[][] = [];
  for (const change of changes) {
    const last = groups.at(-1);
    const isLate = last === undefined || change.at - last.at(-1)!.at > MAX_PAUSE_MS ||
      change.at - last[0].at > MAX_START_MS;
    if (isLate) groups.push([change]);
    else last.push(change);
  }
  return groups;
}

/** The length of the longest prefix that all addresses have. */
function commonLength(changes: readonly StateChange[]): number {
  const addresses = changes.map(({ address }) => BigInt(address!));
  const differences = addresses.reduce((all, one) => all | (one ^ addresses[0]), 0n);
  const { bits } = familyOf(changes[0].address!);
  return differences === 0n ? bits : bits - differences.toString(2).length;
}

/** Splits changes of one time into those of networks. */
function byNetwork<Change extends StateChange>(changes: readonly Change[]): Change[][] {
  if (changes.length === 1) return [[...changes]];
  const { bits, longest } = familyOf(changes[0].address!);
  const length = commonLength(changes);
  if (length >= longest) return [[...changes]];
  const upper = (one: Change) => (BigInt(one.address!) >> BigInt(bits - 1 - length) & 1n) === 1n;
  const halves = [changes.filter((one) => !upper(one)), changes.filter(upper)];
  const fewer = Math.min(...halves.map((half) => half.length));
  const isOne = changes.length >= MIN_CHANGES && fewer > STRAY_SHARE * changes.length;
  return isOne ? [[...changes]] : halves.flatMap(byNetwork);
}

function networkOf(changes: readonly StateChange[]): string | null {
  const { address } = changes[0];
  if (address === null) return null;
  const { bits, longest } = familyOf(address);
  const common = commonLength(changes);
  if (common === bits) return formatAddress(address);
  const length = Math.min(common, longest);
  const host = BigInt(bits - length);
  const start = BigInt(address) >> host << host;
  return `${formatAddress(bits === 32 ? Number(start) : start)}/${length}`;
}
