/** Binary files and messages of the system: MaxMind DB files, netlink, ARP. */
import { loadMmdb, MmdbError } from "../../../src/app/geoip/mmdb.ts";
import { parseAddress } from "../../../src/core/address.ts";
import { hasBytes, Malformed, Truncated } from "../../../src/core/bytes.ts";
import { decodeArpReply, encodeArpRequest } from "../../../src/net/linux/netlink/arp.ts";
import { decodeReplies } from "../../../src/net/linux/netlink/rtnetlink.ts";
import { StreamBuffer } from "../../../src/protocols/stream_buffer.ts";
import { mmdbBytes, type Network } from "../../app/geoip/mmdb_writer.ts";
import { BrokenRule, refusal, type Subject } from "../subject.ts";

const NETWORKS: readonly Network[] = [
  {
    address: parseAddress("192.0.2.0")!,
    prefix: 24,
    record: { country: { iso_code: "DE", geoname_id: 2_921_044 } },
  },
  {
    address: parseAddress("198.51.100.0")!,
    prefix: 25,
    record: { autonomous_system_number: 64_500, autonomous_system_organization: "Example Network" },
  },
];
const LOOKED_UP = ["192.0.2.1", "198.51.100.1", "0.0.0.0", "255.255.255.255", "::1", "2001:db8::1"]
  .map((text) => parseAddress(text)!);
/** Number of records of a sample. */
const SAMPLE = 20;

const open = await loadMmdb();

const mmdb: Subject = {
  name: "mmdb",
  from: "a file of places",
  seeds: ([24, 28, 32] as const).flatMap((bits) =>
    ([4, 6] as const).map((version) => mmdbBytes(NETWORKS, { bits, version }))
  ),
  check(bytes) {
    const shared = new SharedArrayBuffer(bytes.length);
    new Uint8Array(shared).set(bytes);
    try {
      const { find, samples } = open(shared);
      const found = LOOKED_UP.filter((address) => find(address) !== undefined);
      let left = SAMPLE;
      for (const _ of samples()) if (--left === 0) break;
      return `+${found.length}`;
    } catch (error) {
      return refusal(error, [MmdbError]);
    }
  },
};

const hex = (text: string) => Uint8Array.fromHex(text.replaceAll(/\s/g, ""));

const netlink: Subject = {
  name: "netlink",
  from: "the system",
  seeds: [
    hex(`34000000 1800 0200 00000000 2c690000 02000000 fe030001 00000000
      0800 0f00 fe000000  0800 0500 0a0900fe  0800 0400 03000000`),
    hex(`2c000000 1800 0200 00000000 2c690000 02100000 fe030006 00000000
      0800 0f00 fe000000  0800 0100 0a510000`),
  ],
  check(bytes) {
    try {
      return `+${decodeReplies(bytes).map((reply) => Object.keys(reply).join()).join()}`;
    } catch (error) {
      return refusal(error, [Truncated, Malformed]);
    }
  },
};

function arpReply(): Uint8Array {
  const mac = Uint8Array.of(2, 0, 0, 0, 0, 1);
  const frame = encodeArpRequest(mac, 0x0a000001, 0x0a000002);
  frame[21] = 2;
  return frame;
}

const arp: Subject = {
  name: "arp",
  from: "the local network",
  seeds: [arpReply()],
  check(bytes) {
    try {
      return decodeArpReply(bytes) === undefined ? "-" : "+";
    } catch (error) {
      return refusal(error, [Truncated, Malformed]);
    }
  },
};

/** Chunks of a stream: each byte is the size of a chunk, or with its top bit a number to drop. */
const stream: Subject = {
  name: "streamBuffer",
  from: "a host",
  seeds: [Uint8Array.of(1, 100, 0x81, 127, 127, 0xff, 3), new Uint8Array(200).fill(99)],
  check(bytes) {
    const buffer = new StreamBuffer();
    const sent = new Uint8Array(200 * 127);
    for (let i = 0; i < sent.length; i++) sent[i] = i * 7;
    let [first, next] = [0, 0];
    for (const byte of bytes.subarray(0, 200)) {
      if (byte < 128) buffer.push(sent.subarray(next, next += byte));
      else {
        const size = Math.min(byte & 127, next - first);
        buffer.drop(size);
        first += size;
      }
    }
    const { bytes: left } = buffer;
    if (left.length !== next - first || !hasBytes(sent, left, first)) {
      throw new BrokenRule("the bytes of a stream are lost or moved");
    }
    return "+";
  },
};

/** The readers of binary files and messages. */
export const BINARY_SUBJECTS: readonly Subject[] = [mmdb, netlink, arp, stream];
