/**
 * IP addresses as numbers. An IPv4 address is a `number` from 0 to 2^32 - 1, an IPv6 address a
 * `bigint` from 0 to 2^128 - 1. The type gives the family, and both types compare and sort by
 * value.
 *
 * @module
 */

/** An IPv4 address (`number`) or an IPv6 address (`bigint`). */
export type Address = number | bigint;

/** An address and a port. One endpoint stands for both transports, UDP and TCP. */
export interface Endpoint {
  /** The IPv4 or IPv6 address. */
  address: Address;
  /** The port, 1 to 65535. */
  port: number;
  /** The zone of a link-local address: the interface of its link, such as `eth0`. Default: none. */
  zone?: string;
}

/** The address family: 4 (IPv4) or 6 (IPv6). */
export function family(address: Address): 4 | 6 {
  return typeof address === "number" ? 4 : 6;
}

/**
 * Parses an IPv4 or IPv6 address.
 *
 * The parser is stricter than that of the C library. It rejects zone names (`fe80::1%eth0`), and
 * `010.0.0.1` and `1.2.3`, because other programs read these as other hosts.
 *
 * @returns `undefined` when the text is not an address.
 *
 * @example Both families
 * ```ts
 * import { formatAddress, parseAddress } from "blocksweep/targets";
 * import { assertEquals } from "@std/assert";
 *
 * assertEquals(parseAddress("10.0.0.1"), 0x0a000001);
 * assertEquals(formatAddress(parseAddress("2001:DB8:0::1")!), "2001:db8::1");
 * assertEquals(parseAddress("010.0.0.1"), undefined);
 * ```
 */
export function parseAddress(text: string): Address | undefined {
  if (QUAD.test(text)) return parseIpv4(text);
  return text.includes(":") ? parseIpv6(text) : undefined;
}

const QUAD = /^(?:(?:25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)(?:\.(?!$)|$)){4}$/;
const GROUP = /^[\da-f]{1,4}$/i;

/** Parses a dotted quad, whose form the caller has checked. */
export function parseIpv4(text: string): number {
  let address = 0;
  let byte = 0;
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    if (code === 0x2e) {
      address = address * 256 + byte;
      byte = 0;
    } else {
      byte = byte * 10 + code - 0x30;
    }
  }
  return address * 256 + byte;
}

/** Parses an IPv6 address; RFC 4291, section 2.2. */
function parseIpv6(text: string): bigint | undefined {
  const dotted = text.lastIndexOf(":") + 1;
  if (text.includes(".", dotted)) { // ::ffff:10.0.0.1
    const quad = text.slice(dotted);
    if (!QUAD.test(quad)) return undefined;
    const low = parseIpv4(quad);
    text = `${text.slice(0, dotted)}${(low >>> 16).toString(16)}:${(low & 0xffff).toString(16)}`;
  }
  const halves = text.split("::").map((half) => half === "" ? [] : half.split(":"));
  const zeros = 8 - halves.flat().length;
  if (halves.length === 1 ? zeros !== 0 : halves.length > 2 || zeros < 1) return undefined;
  const groups = [...halves[0], ...Array(zeros).fill("0"), ...halves[1] ?? []];
  if (!groups.every((group) => GROUP.test(group))) return undefined;
  return groups.reduce((sum, group) => sum << 16n | BigInt(`0x${group}`), 0n);
}

/** Formats an address: IPv4 as a dotted quad, IPv6 as in RFC 5952. */
export function formatAddress(address: Address): string {
  return typeof address === "number" ? formatIpv4(address) : formatIpv6(address);
}

function formatIpv4(address: number): string {
  return `${address >>> 24}.${address >>> 16 & 255}.${address >>> 8 & 255}.${address & 255}`;
}

function formatIpv6(address: bigint): string {
  if (address >> 32n === 0xffffn) return `::ffff:${formatIpv4(Number(address & 0xffffffffn))}`;
  const groups = Array.from(
    { length: 8 },
    (_, i) => Number(address >> BigInt(112 - 16 * i) & 0xffffn),
  );
  const [start, length] = longestZeros(groups);
  const text = (from: number, to?: number) =>
    groups.slice(from, to).map((group) => group.toString(16)).join(":");
  return length < 2 ? text(0) : `${text(0, start)}::${text(start + length)}`;
}

/** Start and length of the longest run of zero groups; of equal runs, the first. */
function longestZeros(groups: readonly number[]): [start: number, length: number] {
  let best: [number, number] = [0, 0];
  for (let i = 0, run = 0; i < groups.length; i++) {
    run = groups[i] === 0 ? run + 1 : 0;
    if (run > best[1]) best = [i - run + 1, run];
  }
  return best;
}

/** Formats an address, with `%` and the zone of a link-local address (RFC 4007): `fe80::1%eth0`. */
export function formatHost({ address, zone }: Omit<Endpoint, "port">): string {
  return zone === undefined ? formatAddress(address) : `${formatAddress(address)}%${zone}`;
}

/** A zone: the name of an interface, on Windows its index. */
const ZONE = /^[\w.:@+-]{1,64}$/;

/**
 * Parses an address, which may have a zone if it is link-local; `undefined` for other text.
 *
 * @example
 * ```ts
 * import { assertEquals } from "@std/assert";
 *
 * assertEquals(parseHost("fe80::1%eth0"), { address: 0xfe80n << 112n | 1n, zone: "eth0" });
 * assertEquals(parseHost("::1%lo"), undefined);
 * ```
 */
export function parseHost(text: string): Omit<Endpoint, "port"> | undefined {
  const percent = text.indexOf("%");
  const address = parseAddress(percent < 0 ? text : text.slice(0, percent));
  if (address === undefined) return undefined;
  if (percent < 0) return { address };
  const zone = text.slice(percent + 1);
  return isLinkLocal(address) && ZONE.test(zone) ? { address, zone } : undefined;
}

/**
 * Formats an endpoint as `host:port` or `[v6]:port`.
 *
 * @example
 * ```ts
 * import { formatEndpoint } from "blocksweep/targets";
 * import { assertEquals } from "@std/assert";
 *
 * assertEquals(formatEndpoint({ address: 1n, port: 19133 }), "[::1]:19133");
 * ```
 */
export function formatEndpoint(endpoint: Endpoint): string {
  const { address, port } = endpoint;
  return typeof address === "number"
    ? `${formatIpv4(address)}:${port}`
    : `[${formatHost(endpoint)}]:${port}`;
}

/** Parses `host:port` or `[v6]:port` with a literal address; `undefined` for other text. */
export function parseEndpoint(text: string): Endpoint | undefined {
  const match = /^(?:\[(.+)\]|([^:]+)):(\d{1,5})$/.exec(text);
  if (match === null) return undefined;
  const host = parseHost(match[1] ?? match[2]);
  const port = Number(match[3]);
  if (host === undefined || port < 1 || port > 65535) return undefined;
  return (match[1] === undefined) === (family(host.address) === 4) ? { ...host, port } : undefined;
}

/** Compares two hosts of {@linkcode formatHost}: IPv4 before IPv6, then by value, then by zone. */
export function compareHosts(a: string, b: string): number {
  const [{ address: first, zone = "" }, { address: second, zone: other = "" }] = [
    parseHost(a)!,
    parseHost(b)!,
  ];
  if (typeof first !== typeof second) return typeof first === "number" ? -1 : 1;
  if (first !== second) return first < second ? -1 : 1;
  return zone < other ? -1 : zone > other ? 1 : 0;
}

/** The IPv4 address of an IPv4-mapped IPv6 address (RFC 4291); other addresses as they are. */
export function unmappedAddress(address: Address): Address {
  const isMapped = typeof address === "bigint" && address >> 32n === 0xffffn;
  return isMapped ? Number(address & 0xffffffffn) : address;
}

/** A key for maps and sets, equal for equal endpoints. It has no zone. */
export function endpointKey({ address, port }: Endpoint): number | bigint {
  return typeof address === "number" ? address * 65536 + port : address << 16n | BigInt(port);
}

/** The endpoint of a key of {@linkcode endpointKey}. */
export function endpointOfKey(key: number | bigint): Endpoint {
  return typeof key === "number"
    ? { address: Math.floor(key / 65536), port: key % 65536 }
    : { address: key >> 16n, port: Number(key & 0xffffn) };
}

/** Whether the address is in fe80::/10: such an address is valid on one link only. */
export function isLinkLocal(address: Address): boolean {
  return typeof address === "bigint" && address >> 118n === 0x3fan;
}

/** Whether the address is in 127.0.0.0/8 or is ::1. */
export function isLoopback(address: Address): boolean {
  return typeof address === "number" ? address >>> 24 === 127 : address === 1n;
}
