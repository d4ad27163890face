/** The filter of replies, as the kernel runs it on a pair of sockets. */
import { assertEquals } from "@std/assert";
import { mix } from "../../src/core/bits.ts";
import { AF_UNIX, Libc, MSG_DONTWAIT, SOCK_DGRAM } from "../../src/net/linux/ffi/libc.ts";
import { KEPT, replyFilter } from "../../src/net/linux/syn/reply_filter.ts";
import { ReplyPacket } from "../../src/net/linux/syn/reply_packet.ts";
import { attachFilter } from "../../src/net/linux/syn/reply_tap.ts";
import {
  ACK,
  fromPeer,
  icmp,
  ipv4,
  OUR_PORT,
  OURS,
  PEER,
  PSH,
  quoting,
  RESET,
  RST,
  SYN,
  SYN_ACK,
  tcp,
  UNREACHABLE,
} from "../net/linux/syn/packets.ts";

const isLinux = Deno.build.os === "linux";

/** Runs a test with a function that returns what the filter keeps of a packet; `undefined`: nothing. */
function withFilter(
  address: number,
  port: number,
  test: (keep: (packet: Uint8Array<ArrayBuffer>) => Uint8Array | undefined) => void,
): void {
  using libc = new Libc();
  const pair = new Int32Array(2);
  assertEquals(libc.call.socketpair(AF_UNIX, SOCK_DGRAM, 0, new Uint8Array(pair.buffer)), 0);
  const [from, to] = pair;
  try {
    attachFilter(libc, to, replyFilter(address, port));
    const buffer = new Uint8Array(2048);
    test((packet) => {
      libc.call.sendto(from, packet, BigInt(packet.length), MSG_DONTWAIT, null, 0);
      const size = Number(libc.call.recv(to, buffer, 2048n, MSG_DONTWAIT));
      return size < 0 ? undefined : buffer.slice(0, size);
    });
  } finally {
    pair.forEach((one) => libc.call.close(one));
  }
}

/** Adds eight bytes of options to the IPv4 header of a packet. */
function withOptions(packet: Uint8Array): Uint8Array<ArrayBuffer> {
  const long = new Uint8Array(packet.length + 8);
  long.set(packet.subarray(0, 20));
  long.set(packet.subarray(20), 28);
  long[0] = 0x47;
  new DataView(long.buffer).setUint16(2, long.length);
  return long;
}

Deno.test({
  name: "the kernel keeps SYN-ACKs, RSTs and ICMP errors of the endpoint",
  ignore: !isLinux,
  fn() {
    withFilter(OURS, OUR_PORT, (keep) => {
      const replies = [
        SYN_ACK,
        RESET,
        UNREACHABLE,
        fromPeer({ flags: SYN | ACK | PSH | 0xc0 }),
        fromPeer({ flags: SYN | RST | ACK }),
        withOptions(SYN_ACK),
        withOptions(UNREACHABLE),
        fromPeer({}, (ip) => ip.setUint16(6, 0x4000)), // don't fragment
      ];
      for (const reply of replies) assertEquals(keep(reply), reply);
      const long = new Uint8Array(1500);
      long.set(SYN_ACK);
      assertEquals(keep(long), long.subarray(0, KEPT));
    });
  },
});

Deno.test({
  name: "the kernel drops all other packets",
  ignore: !isLinux,
  fn() {
    withFilter(OURS, OUR_PORT, (keep) => {
      const other: Record<string, Uint8Array<ArrayBuffer>> = {
        "another port": fromPeer({ toPort: OUR_PORT + 1 }),
        "another address": fromPeer({}, undefined, { to: OURS + 1 }),
        "SYN": fromPeer({ flags: SYN }),
        "ACK": fromPeer({ flags: ACK }),
        "PSH and ACK": fromPeer({ flags: PSH | ACK }),
        "RST without ACK": fromPeer({ flags: RST }),
        "SYN and RST without ACK": fromPeer({ flags: SYN | RST }),
        "the first fragment": fromPeer({}, (ip) => ip.setUint16(6, 0x2000)),
        "a later fragment": fromPeer({}, (ip) => ip.setUint16(6, 1)),
        "UDP": ipv4(17, PEER, OURS, tcp({ fromPort: 1, toPort: OUR_PORT, flags: SYN | ACK })),
        "a ping": ipv4(1, PEER, OURS, icmp(8, new Uint8Array(40))),
        "time exceeded": quoting(() => {}, 11),
        "an error about another address": quoting((syn) => syn.setUint32(12, OURS + 1)),
        "an error about another port": quoting((syn) => syn.setUint16(20, OUR_PORT - 1)),
        "an error about UDP": quoting((syn) => syn.setUint8(9, 17)),
        "an error about IP options": quoting((syn) => syn.setUint8(0, 0x46)),
        "nothing": new Uint8Array(0),
      };
      for (const [name, packet] of Object.entries(other)) {
        assertEquals(keep(packet), undefined, name);
      }
    });
  },
});

Deno.test({
  name: "prefixes and mutations of replies do no harm to the kernel or to the reader",
  ignore: !isLinux,
  fn() {
    withFilter(OURS, OUR_PORT, (keep) => {
      let seed = 7;
      const next = () => seed = mix(seed + 0x9e3779b9 | 0) >>> 0;
      const reply = new ReplyPacket();
      let kept = 0;
      let read = 0;
      for (let round = 0; round < 20_000; round++) {
        const packet = [SYN_ACK, RESET, UNREACHABLE, withOptions(SYN_ACK)][next() % 4].slice();
        for (let n = next() % 3; n > 0; n--) packet[next() % packet.length] = next() & 0xff;
        const cut = packet.slice(0, next() % 4 === 0 ? next() % packet.length : packet.length);
        const got = keep(cut);
        if (got === undefined) continue;
        kept++;
        // The memory ends with the packet: a read behind it would throw.
        const copy = got.slice();
        if (!reply.read(new DataView(copy.buffer), 0, copy.length)) continue;
        read++;
        assertEquals(reply.token, reply.token >>> 0);
        assertEquals(reply.port, reply.port & 0xffff);
      }
      assertEquals([kept > 5000, read > 2000, read < kept], [true, true, true], `${kept} ${read}`);
    });
  },
});

Deno.test({
  name: "addresses and ports with all bits set are compared exactly",
  ignore: !isLinux,
  fn() {
    withFilter(0xffff_fffe, 65_535, (keep) => {
      const to = { to: 0xffff_fffe };
      const packet = fromPeer({ toPort: 65_535 }, undefined, to);
      assertEquals(keep(packet), packet);
      assertEquals(keep(fromPeer({ toPort: 65_534 }, undefined, to)), undefined);
      assertEquals(keep(fromPeer({ toPort: 65_535 }, undefined, { to: 0x7fff_fffe })), undefined);
    });
  },
});
