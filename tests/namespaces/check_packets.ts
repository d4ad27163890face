// deno-lint-ignore-file no-console
/**
 * Compares a capture of sent packets with the packets of a document:
 *
 *     deno run --allow-read check_packets.ts CAPTURE DOCUMENT CAPTURE_OF_A_SCAN SILENT_RANGE
 *
 * Prints payloads that the document lacks, packets of the document that were not sent, the most
 * packets to a host in any second of the scan, and the numbers of packets to the hosts of the silent
 * range. Exits with 1 if there are faults.
 */
import { parseTarget } from "../../src/targets/parse.ts";

/** A packet of the document: a block whose first line is its name, transport and sizes. */
interface Described {
  readonly name: string;
  readonly transport: string;
  /** The sizes of the payload; empty: any size. */
  readonly sizes: readonly number[];
  readonly bytes: RegExp;
}

/** A captured packet; its payload is hexadecimal. */
interface Packet {
  readonly transport: string;
  readonly hex: string;
  readonly port: number;
  /** Its receiver, hexadecimal. */
  readonly host: string;
  /** When it was sent, seconds. */
  readonly at: number;
}

const BLOCK = /^```packet\n([^\n]+?): (UDP|TCP)(?:, ([\d or]+) bytes)?\n(.*?)^```$/gms;

/** Reads the packets of a document. */
function readDescribed(text: string): Described[] {
  return [...text.matchAll(BLOCK)].map(([, name, transport, sizes, lines]) => {
    const tokens = lines.trim().split("\n").flatMap((line) => line.split(/ {2,}/)[0].split(" "));
    return {
      name,
      transport,
      sizes: sizes?.split(" or ").map(Number) ?? [],
      bytes: new RegExp(`^${tokens.map(patternOf).join("")}$`),
    };
  });
}

function patternOf(token: string): string {
  if (!/^([0-9a-f.]{2})\*?$/.test(token)) throw new TypeError(`Not a byte: "${token}"`);
  return `(?:${token.slice(0, 2)})${token.slice(2)}`;
}

/** Reads the packets of a capture of Ethernet frames. */
function readPackets(bytes: Uint8Array): Packet[] {
  const view = new DataView(bytes.buffer);
  const packets: Packet[] = [];
  for (let at = 24; at < bytes.length;) {
    const size = view.getUint32(at + 8, true);
    const sentAt = view.getUint32(at, true) + view.getUint32(at + 4, true) / 1e6;
    packets.push(packetOf(bytes.subarray(at + 16, at + 16 + size), sentAt));
    at += 16 + size;
  }
  return packets;
}

function packetOf(frame: Uint8Array, at: number): Packet {
  const view = new DataView(frame.buffer, frame.byteOffset, frame.length);
  const isV6 = view.getUint16(12) === 0x86dd;
  const isUdp = frame[isV6 ? 20 : 23] === 17;
  const start = 14 + (isV6 ? 40 : 4 * (frame[14] & 15));
  const end = 14 + (isV6 ? 40 + view.getUint16(18) : view.getUint16(16));
  const header = isUdp ? 8 : 4 * (frame[start + 12] >> 4);
  const hex = frame.subarray(start + header, end).toHex();
  const transport = isUdp ? "UDP" : "TCP";
  const host = frame.subarray(...(isV6 ? [38, 54] : [30, 34])).toHex();
  return { transport, hex, port: view.getUint16(start + 2), host, at };
}

/** The most packets to one host in any second. */
function mostInASecond(packets: readonly Packet[]): number {
  const ofHost = Object.values(Object.groupBy(packets, ({ host }) => host)) as Packet[][];
  return Math.max(...ofHost.map((sent) => {
    let first = 0;
    return Math.max(...sent.map(({ at }, i) => {
      while (at - sent[first].at >= 1) first++;
      return i - first + 1;
    }));
  }));
}

function isPacket({ transport, sizes, bytes }: Described, payload: Packet): boolean {
  const size = payload.hex.length / 2;
  return transport === payload.transport && bytes.test(payload.hex) &&
    (sizes.length === 0 || sizes.includes(size));
}

/** The numbers of packets that the hosts of a range got, as the keys of a map; how many hosts got each. */
function packetsOfHosts(packets: readonly Packet[], range: string): Map<number, number> {
  const target = parseTarget(range);
  if (!("range" in target)) throw new TypeError(`Not a range: "${range}"`);
  const counts = new Map<number, number>();
  for (let address = Number(target.range.start); address < Number(target.range.end); address++) {
    const host = address.toString(16).padStart(8, "0");
    const { length } = packets.filter((one) => one.host === host);
    counts.set(length, (counts.get(length) ?? 0) + 1);
  }
  return counts;
}

const [capture, document, scan, silent] = Deno.args;
const described = readDescribed(await Deno.readTextFile(document));
const packets = readPackets(await Deno.readFile(capture));
const scanned = readPackets(await Deno.readFile(scan));
// TCP segments without data are no messages.
const payloads = packets.filter(({ transport, hex }) => transport === "UDP" || hex !== "");
let faults = 0;
const fault = (line: string) => {
  if (++faults <= 20) console.log(`  ${line}`);
};
for (const payload of payloads) {
  const { transport, hex, port } = payload;
  if (described.some((packet) => isPacket(packet, payload))) continue;
  fault(`not in the document: ${transport} ${port}, ${hex.length / 2} bytes, ${hex.slice(0, 200)}`);
}
for (const packet of described) {
  const seen = payloads.filter((payload) => isPacket(packet, payload));
  console.log(`${String(seen.length).padStart(5)} ${packet.name}`);
  if (seen.length === 0) fault(`not sent: ${packet.name}`);
  for (const size of packet.sizes) {
    if (!seen.some(({ hex }) => hex.length === 2 * size)) {
      fault(`not sent: ${packet.name} of ${size} bytes`);
    }
  }
}
const isUdp = ({ transport }: Packet) => transport === "UDP";
const [perSecond, udpPerSecond] = [mostInASecond(scanned), mostInASecond(scanned.filter(isUdp))];
console.log(`to a host in any second: at most ${perSecond} packets, ${udpPerSecond} over UDP`);
if (perSecond > 18 || udpPerSecond > 5) fault("more packets to a host in a second than documented");
const toSilent = packetsOfHosts(scanned, silent);
for (const [count, hosts] of toSilent) {
  console.log(`${count} packets to each of ${hosts} silent hosts`);
}
if (Math.max(...toSilent.keys()) > 8 || toSilent.has(0)) {
  fault("other numbers of packets to silent hosts than documented: up to 8 to each");
}
console.log(
  `${payloads.length} payloads, ${described.length} packets in the document, ${faults} faults`,
);
Deno.exit(faults > 0 || payloads.length === 0 || described.length === 0 ? 1 : 0);
