import { assertEquals } from "@std/assert";
import { ReplyPacket } from "../../../../src/net/linux/syn/reply_packet.ts";
import {
  ACK,
  fromPeer,
  icmp,
  ipv4,
  OURS,
  PEER,
  PSH,
  quoting,
  RESET,
  RST,
  SYN,
  SYN_ACK,
  UNREACHABLE,
} from "./packets.ts";

/** Reads a packet in the middle of memory of ones. */
function read(packet: Uint8Array, length = packet.length) {
  const memory = new Uint8Array(64 + packet.length).fill(0xff);
  memory.set(packet, 32);
  const reply = new ReplyPacket();
  if (!reply.read(new DataView(memory.buffer), 32, 32 + length)) return undefined;
  const { state, token, clock, address, port, stream } = reply;
  assertEquals(stream, undefined);
  return [state, token, clock, address, port];
}

Deno.test("SYN-ACKs, RSTs and ICMP errors give the probed endpoint, its token and the time", () => {
  assertEquals(read(SYN_ACK), ["open", 0x8000_0000, 0xfedc_ba98, PEER, 25565]);
  assertEquals(read(RESET), ["refused", 0xffff_ffff, undefined, PEER, 25565]);
  assertEquals(read(UNREACHABLE), ["unreachable", 0xdead_beef, undefined, PEER, 25565]);
  assertEquals(read(fromPeer({ flags: SYN | RST | ACK }))?.[0], "refused");
  assertEquals(read(fromPeer({ flags: SYN | ACK | PSH, acknowledgement: 8 }))?.[1], 7);
});

Deno.test("packets that are no reply are not read", () => {
  for (const flags of [SYN, ACK, RST, SYN | RST, PSH | ACK, 0]) {
    assertEquals(read(fromPeer({ flags })), undefined);
  }
  assertEquals(read(ipv4(17, PEER, OURS, SYN_ACK.subarray(20))), undefined);
  assertEquals(read(ipv4(1, PEER, OURS, icmp(8, SYN_ACK))), undefined);
  assertEquals(read(quoting((syn) => syn.setUint8(9, 17))), undefined);
});

Deno.test("headers that end behind the packet, or too early, are not read", () => {
  for (const packet of [SYN_ACK, RESET, UNREACHABLE]) {
    for (let length = 0; length < packet.length; length++) {
      assertEquals(read(packet, length), undefined, `${length} bytes`);
      const short = packet.slice();
      new DataView(short.buffer).setUint16(2, length);
      assertEquals(read(short), undefined, `the header says ${length} bytes`);
    }
    for (let first = 0; first < 256; first++) {
      const changed = packet.slice();
      changed[0] = first;
      if (first !== 0x45 && first >>> 4 !== 4) assertEquals(read(changed), undefined);
      if (first >>> 4 === 4 && (first & 15) < 5) assertEquals(read(changed), undefined);
    }
  }
  for (let words = 0; words < 16; words++) {
    const changed = SYN_ACK.slice();
    changed[32] = words << 4;
    assertEquals(read(changed) !== undefined, words >= 5 && words <= 10, `${words} words`);
  }
});

Deno.test("padding of the Ethernet frame behind a packet has no meaning", () => {
  const padded = new Uint8Array(46).fill(8);
  padded.set(RESET);
  assertEquals(read(padded), read(RESET));
});

Deno.test("the time is found among all options, and only if it is whole", () => {
  const clockOf = (options: string) => {
    const padded = options.padEnd(Math.ceil(options.length / 8) * 8, "0");
    return read(fromPeer({ options: padded }))?.[2];
  };
  const time = "080a" + "00000001" + "89abcdef";
  const found = 0x89ab_cdef;
  assertEquals(clockOf(time), found);
  assertEquals(clockOf("0101" + time), found);
  assertEquals(clockOf("020405b4" + "01030307" + "0402" + time), found);
  assertEquals(clockOf("fe02" + "fd06ffffffff" + time), found);
  assertEquals(clockOf("00" + time), undefined);
  assertEquals(clockOf("0800" + time), undefined);
  assertEquals(clockOf("0801" + time), undefined);
  assertEquals(clockOf("0808" + "000000018888" + "0101"), undefined);
  assertEquals(clockOf("020405b4" + "080a00000001"), undefined);
  assertEquals(clockOf("080a0000"), undefined);
  assertEquals(clockOf("01010108"), undefined);
  assertEquals(clockOf("02ff05b4" + time), undefined);
});
