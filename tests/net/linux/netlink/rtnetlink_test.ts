/**
 * Rtnetlink messages of a Linux 6.18 kernel, with their decoded values.
 *
 * Covers src/net/linux/netlink/arp.ts and src/net/linux/netlink/netlink_messages.ts.
 */
import { assert, assertEquals, assertThrows } from "@std/assert";
import { Malformed, Truncated } from "../../../../src/core/bytes.ts";
import { decodeArpReply, encodeArpRequest } from "../../../../src/net/linux/netlink/arp.ts";
import { parseMac } from "../../../../src/app/options/domain_value_types.ts";
import {
  decodeReplies,
  encodeLinksRequest,
  encodeNeighboursRequest,
  encodeRouteRequest,
  encodeRoutesRequest,
  encodeRulesRequest,
  type RtnetlinkReply,
} from "../../../../src/net/linux/netlink/rtnetlink.ts";

const bytes = (hex: string) => Uint8Array.fromHex(hex.replaceAll(/\s/g, ""));

const ROUTE = {
  table: 254,
  service: 0,
  type: 1,
  isDead: false,
  metric: 0,
  interface: 3,
  gateway: undefined,
  source: undefined,
  isDetour: false,
};

const MESSAGES: readonly [name: string, hex: string, response: RtnetlinkReply][] = [
  [
    "default via 10.9.0.254 dev v0",
    `34000000 1800 0200 00000000 2c690000 02000000 fe030001 00000000
     0800 0f00 fe000000  0800 0500 0a0900fe  0800 0400 03000000`,
    { route: { ...ROUTE, to: 0, bits: 0, gateway: 0x0a0900fe } },
  ],
  [
    "10.9.0.0/24 dev v0 src 10.9.0.1",
    `3c000000 1800 0200 00000000 2c690000 02180000 fe02fd01 00000000
     0800 0f00 fe000000  0800 0100 0a090000  0800 0700 0a090001  0800 0400 03000000`,
    { route: { ...ROUTE, to: 0x0a090000, bits: 24, source: 0x0a090001 } },
  ],
  [
    "10.80.0.0/12 via 10.9.0.254 dev v0 metric 7",
    `44000000 1800 0200 00000000 2c690000 020c0000 fe030001 00000000
     0800 0f00 fe000000  0800 0100 0a500000  0800 0600 07000000
     0800 0500 0a0900fe  0800 0400 03000000`,
    { route: { ...ROUTE, to: 0x0a500000, bits: 12, metric: 7, gateway: 0x0a0900fe } },
  ],
  [
    "blackhole 10.81.0.0/16",
    `2c000000 1800 0200 00000000 2c690000 02100000 fe030006 00000000
     0800 0f00 fe000000  0800 0100 0a510000`,
    { route: { ...ROUTE, to: 0x0a510000, bits: 16, type: 6, interface: 0 } },
  ],
  [
    "local 127.0.0.0/8 dev lo",
    `3c000000 1800 0200 00000000 2c690000 02080000 ff02fe02 00000000
     0800 0f00 ff000000  0800 0100 7f000000  0800 0700 7f000001  0800 0400 01000000`,
    {
      route: {
        ...ROUTE,
        to: 0x7f000000,
        bits: 8,
        table: 255,
        type: 2,
        interface: 1,
        source: 0x7f000001,
      },
    },
  ],
  [
    "the table of IPv4 neighbours",
    `78010000 4000 0200 00000000 4a370000 02000000  0e00 0100 6172705f63616368 65000000
     0c00 0800 3075000000000000  0800 0200 80000000  0800 0300 00020000  0800 0400 00040000
     2400 0500 0400 5001 03000000 542f0200 b4c10300 35c356ab ff070000 00000000 00000000
     5c00 0700 f866000000000000 f566000000000000 0800000000000000 f656000000000000
     f031010000000000 922e010000000000 0000000000000000 0000000000000000 8000000000000000
     4332000000000000 4c30000000000000
     b000 0600 0800 0200 01000000  0800 1000 00400300  0800 0800 65000000  0800 0e00 40000000
     0800 0900 00000000  0800 0a00 03000000  0800 0b00 03000000  0800 1100 00000000
     0c00 0300 405d000000000000  0c00 0400 3075000000000000  0c00 0600 60ea000000000000
     0c00 0700 8813000000000000  0c00 0500 e803000000000000  0c00 0c00 e803000000000000
     0c00 0d00 2003000000000000  0c00 0f00 e803000000000000  0c00 1300 8813000000000000`,
    { neighbours: { entries: 3, capacity: 1024, added: 0x66f8 } },
  ],
  [
    "a rule for all: lookup main",
    `3c000000 2000 0200 00000000 2c690000 02000000 fe000001 00000000
     0800 0f00 fe000000  0800 0e00 ffffffff  0500 1500 02000000  0800 0600 fe7f0000`,
    { rule: { priority: 32766, table: 254, isForAll: true } },
  ],
  [
    "a rule for marked datagrams",
    `4c000000 2000 0200 00000000 2c690000 02000000 07000001 00000000
     0800 0f00 07000000  0800 0e00 ffffffff  0500 1500 00000000  0800 0600 64000000
     0800 0a00 03000000  0800 1000 ffffffff`,
    { rule: { priority: 100, table: 7, isForAll: false } },
  ],
  [
    "a neighbour that is set",
    `4c000000 1c00 0200 00000000 2c690000 02000000 03000000 8000 0001
     0800 0100 0a0900fe  0a00 0200 0200000000fe 0000  0800 0400 00000000
     1400 0300 04000000 04000000 00000000 00000000`,
    { neighbour: { interface: 3, address: 0x0a0900fe, mac: bytes("0200000000fe") } },
  ],
  [
    "a neighbour that did not reply",
    `40000000 1c00 0200 00000000 2c690000 02000000 03000000 2000 0001
     0800 0100 0a0900fd  0800 0400 00000000  1400 0300 74170000 04000000 04000000 00000000`,
    { neighbour: { interface: 3, address: 0x0a0900fd, mac: undefined } },
  ],
  [
    "an interface, with what we read of it",
    `44000000 1000 0200 00000000 2c690000 0000 0100 03000000 43100100 00000000
     0700 0300 763000 00  0800 0400 dc050000  0800 1f00 02000000  0a00 0100 020000000001 0000`,
    {
      link: {
        index: 3,
        name: "v0",
        type: 1,
        isUp: true,
        isLoopback: false,
        isPointToPoint: false,
        mac: bytes("020000000001"),
        mtu: 1500,
        queues: 2,
      },
    },
  ],
  [
    "ENETUNREACH",
    `40000000 0200 0000 00000000 2c690000 9bffffff
     2c000000 1a00 0100 00000000 00000000 02202000 00000000 00000000
     0800 0100 e0000001  0800 0200 08080808`,
    { errno: 101 },
  ],
  ["the end of a list", "14000000 0300 0200 00000000 2c690000 00000000", "done"],
];

for (const [name, hex, response] of MESSAGES) {
  Deno.test(`netlink: ${name}`, () => {
    const message = bytes(hex);
    assertEquals(decodeReplies(message), [response]);
    assertEquals(decodeReplies(new Uint8Array([...message, ...message])), [response, response]);
    for (let size = 1; size < message.length; size++) {
      assertThrows(() => decodeReplies(message.subarray(0, size)), Truncated);
    }
  });
}

Deno.test("netlink: a cut message with a matching length is rejected or has fewer attributes", () => {
  for (const [, hex, response] of MESSAGES) {
    const message = bytes(hex);
    for (let size = 16; size < message.length; size++) {
      const cut = message.slice(0, size);
      new DataView(cut.buffer).setUint32(0, size, true);
      try {
        const [read] = decodeReplies(cut);
        // Attributes may be missing, and fields of other messages are not read. A table without some is skipped.
        if (read === undefined) assert("neighbours" in (response as object));
        else assertEquals(Object.keys(read), Object.keys(response));
      } catch (error) {
        if (!(error instanceof Truncated)) throw error;
      }
    }
  }
});

Deno.test("netlink: impossible lengths are rejected", () => {
  const message = bytes(MESSAGES[0][1]);
  const broken = (at: number, value: number) => {
    const copy = message.slice();
    new DataView(copy.buffer).setUint16(at, value, true);
    return () => decodeReplies(copy);
  };
  assertThrows(broken(0, 15), Malformed, "a message of 15 bytes");
  assertThrows(broken(28, 3), Malformed, "an attribute of 3 bytes");
  assertThrows(broken(28, 99), Truncated, "an attribute");
  assertThrows(broken(17, 33), Malformed, "a route of 33 bits");
});

Deno.test("netlink: requests equal those sent to the kernel", () => {
  const rest = "00".repeat(11);
  assertEquals(encodeRoutesRequest().toHex(), `1c0000001a000103${"00".repeat(8)}02${rest}`);
  assertEquals(encodeRulesRequest().toHex(), `1c00000022000103${"00".repeat(8)}02${rest}`);
  assertEquals(encodeNeighboursRequest().toHex(), `1c0000001e000103${"00".repeat(8)}02${rest}`);
  assertEquals(encodeLinksRequest().toHex(), `2000000012000103${"00".repeat(24)}`);
  assertEquals(
    encodeRouteRequest(0xe0000001, 0x08080808).toHex(),
    `2c0000001a000100${"00".repeat(8)}022020${"00".repeat(9)}08000100e00000010800020008080808`,
  );
  assertEquals(
    encodeRouteRequest(0x0a500001).toHex(),
    `240000001a000100${"00".repeat(8)}022000${"00".repeat(9)}080001000a500001`,
  );
});

const OURS = bytes("020000000001");
const REQUEST = "ffffffffffff 020000000001 0806 0001 0800 06 04 0001 " +
  "020000000001 0a090001 000000000000 0a0900fe";
const REPLY = "020000000001 0200000000fe 0806 0001 0800 06 04 0002 " +
  "0200000000fe 0a0900fe 020000000001 0a090001";

Deno.test("ARP: a request is encoded byte by byte, and its reply decoded with and without padding", () => {
  assertEquals(encodeArpRequest(OURS, 0x0a090001, 0x0a0900fe), bytes(REQUEST));
  const reply = { address: 0x0a0900fe, mac: bytes("0200000000fe") };
  assertEquals(decodeArpReply(bytes(REPLY)), reply);
  assertEquals(decodeArpReply(bytes(REPLY + "00".repeat(18))), reply);
  assertEquals(decodeArpReply(bytes(REQUEST)), undefined);
  assertEquals(decodeArpReply(bytes(REPLY.replace("0806", "0800"))), undefined);
  for (let size = 0; size < 42; size++) {
    assertThrows(() => decodeArpReply(bytes(REPLY).subarray(0, size)), Truncated);
  }
});

Deno.test("MAC addresses are read with colons or hyphens", () => {
  assertEquals(parseMac("02:00:00:0A:00:fe"), bytes("0200000a00fe"));
  assertEquals(parseMac("02-00-00-0a-00-fe"), bytes("0200000a00fe"));
  for (
    const text of ["", "02:00:00:0a:00", "02:00:00:0a:00:fe:01", "02:00-00:0a:00:fe", "2:0:0:a:0:f"]
  ) {
    assertEquals(parseMac(text), undefined, text);
  }
});
