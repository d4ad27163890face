/**
 * Frames byte by byte, with checksums compared to plain sums.
 *
 * Covers src/core/bits.ts.
 */
import { assert, assertEquals, assertNotEquals } from "@std/assert";
import { mix } from "../../../../src/core/bits.ts";
import { Endpoints } from "../../../../src/core/endpoints.ts";
import {
  EthernetFrames,
  FRAME,
  frameSize,
} from "../../../../src/net/linux/batch/ethernet_frames.ts";
import { SYN_PROBE } from "../../../../src/protocols/syn_probe.ts";

const ENDS = {
  sourceMac: Uint8Array.fromHex("020000000001"),
  gatewayMac: Uint8Array.fromHex("0200000000fe"),
  source: 0x0a090001,
};

/** The bytes of the frame in a slot. */
function frame(frames: EthernetFrames, slot: number): Uint8Array {
  const at = slot * frames.slot + FRAME;
  return frames.bytes.slice(at, at + frames.length);
}

/** The checksum of RFC 1071, word by word, on bytes in network order. */
function slowSum(...parts: Uint8Array[]): number {
  let sum = 0;
  for (const part of parts) {
    for (let i = 0; i < part.length; i += 2) {
      sum += part[i] << 8 | (part[i + 1] ?? 0);
      if (sum > 0xffff) sum -= 0xffff;
    }
  }
  return sum;
}

/** Whether both checksums of a frame are right: the sum including them has all bits set. */
function holds(bytes: Uint8Array, protocol = 17): boolean {
  const packet = bytes.subarray(34);
  const pseudo = Uint8Array.of(0, protocol, packet.length >>> 8, packet.length & 0xff);
  return bytes[23] === protocol && slowSum(bytes.subarray(14, 34)) === 0xffff &&
    slowSum(bytes.subarray(26, 34), pseudo, packet) === 0xffff;
}

Deno.test("a frame equals that of the kernel, byte by byte", () => {
  const frames = new EthernetFrames(ENDS, { template: new TextEncoder().encode("abcdef-ping") }, 2);
  const targets = Endpoints.of({ address: 1, port: 1 }, { address: 0x0a500001, port: 19132 });
  frames.write(1, targets, 1, 0, 0);
  frames.finish(2, 40_000);
  // A frame that Linux 6.18 sent on a veth interface without offloading, from a socket with
  // IP_MTU_DISCOVER=2.
  assertEquals(
    frame(frames, 1).toHex(),
    "0200000000fe020000000001" + "0800" +
      "45000027000040004011266c" + "0a090001" + "0a500001" +
      "9c404abc0013" + "dc64" + "6162636465662d70696e67",
  );
});

Deno.test("a SYN frame equals that of the kernel, byte by byte, except for the identification", () => {
  const template = SYN_PROBE.template.slice();
  template[39] = 10; // the window scale of a machine with large receive buffers
  const frames = new EthernetFrames(ENDS, { ...SYN_PROBE, template }, 3);
  const targets = Endpoints.of({ address: 0x0a500001, port: 25565 });
  for (const slot of [0, 2]) frames.write(slot, targets, 0, 0xa6bc1b48 | 0, 0x33ddc160);
  frames.finish(3, 46_362);
  for (const slot of [0, 2]) {
    // A frame that Linux 6.18 sent on a veth interface for a connect(), with the identification 0 in
    // place of 0xb060, and the checksum that tcpdump computes in place of the partial one.
    assertEquals(
      frame(frames, slot).toHex(),
      "0200000000fe020000000001" + "0800" +
        "4500003c000040004006" + "2662" + "0a090001" + "0a500001" +
        "b51a63dda6bc1b4800000000a002faf0" + "6877" + "0000" +
        "020405b4" + "0402080a" + "33ddc160" + "00000000" + "0103030a",
    );
  }
  assertEquals([frames.length, frameSize(SYN_PROBE)], [74, 74]);
});

Deno.test("checksums of SYN frames are right for every target, port, token and time", () => {
  let seed = 20_270_301;
  const next = () => seed = mix(seed + 0x9e3779b9 | 0) >>> 0;
  const frames = new EthernetFrames(ENDS, SYN_PROBE, 64);
  const targets = new Endpoints(64);
  for (let round = 0; round < 50; round++) {
    const [sent, port] = [[] as number[][], next() & 0xffff];
    for (let i = 0; i < 64; i++) {
      const rare = [0, 0xffff_ffff, 0xffff_0000, 0xffff];
      const token = next() % 8 === 0 ? rare[next() % 4] : next();
      const one = [next(), next() & 0xffff, token, next()];
      targets.set(i, { address: one[0], port: one[1] });
      frames.write(i, targets, i, token | 0, one[3]);
      sent.push(one);
    }
    frames.finish(64, port);
    sent.forEach((one, i) => {
      const bytes = frame(frames, i);
      const view = new DataView(bytes.buffer);
      assert(holds(bytes, 6), bytes.toHex());
      const [token, clock] = [view.getUint32(38), view.getUint32(62)];
      assertEquals([view.getUint32(30), view.getUint16(36), token, clock], one);
      assertEquals([view.getUint32(26), view.getUint16(34)], [ENDS.source, port]);
      const at = 14 + next() % (bytes.length - 14);
      bytes[at] ^= 1 << next() % 8;
      assert(!holds(bytes, 6), `a bit of byte ${at}: ${bytes.toHex()}`);
    });
  }
});

/** Even and odd offsets of a token and a time in a payload of this size, or none. */
function placesIn(length: number, next: () => number): (number | undefined)[] {
  const from = (least: number) => {
    return length - 4 < least || next() % 4 === 0
      ? undefined
      : least + next() % (length - 3 - least);
  };
  const first = from(0);
  const places = [first, from(first === undefined ? 0 : first + 4)];
  return next() % 2 === 0 ? places : places.reverse();
}

function wordAt(payload: Uint8Array, at: number | undefined): number {
  return at === undefined ? 0 : new DataView(payload.buffer).getUint32(at);
}

Deno.test("checksums are right for every target, port and payload", () => {
  let seed = 20_261_121;
  const next = () => seed = mix(seed + 0x9e3779b9 | 0) >>> 0;
  for (let round = 0; round < 400; round++) {
    const payload = Uint8Array.from({ length: next() % 80 }, () => next() & 0xff);
    const template = payload.slice();
    const [tokenAt, clockAt] = placesIn(payload.length, next);
    for (const at of [tokenAt, clockAt]) {
      if (at !== undefined) template.fill(next() % 2, at, at + 4);
    }
    const ends = { ...ENDS, source: next() };
    const capacity = 1 + next() % 5;
    const frames = new EthernetFrames(ends, { template, tokenAt, clockAt }, capacity);
    const targets = new Endpoints(capacity);
    for (let i = 0; i < capacity; i++) {
      targets.set(i, { address: next(), port: 1 + next() % 65_535 });
      for (const _ of [0, next() % 2]) { // a slot may be written twice
        frames.write(i, targets, i, wordAt(payload, tokenAt), wordAt(payload, clockAt));
      }
    }
    const port = next() & 0xffff;
    frames.finish(capacity, port);
    for (let i = 0; i < capacity; i++) {
      const bytes = frame(frames, i);
      const view = new DataView(bytes.buffer);
      assert(holds(bytes), bytes.toHex());
      assertNotEquals(view.getUint16(40), 0, "zero stands for none");
      const written = [
        view.getUint32(26),
        view.getUint32(30),
        view.getUint16(34),
        view.getUint16(36),
      ];
      assertEquals(written, [ends.source, targets.ipv4[i], port, targets.ports[i]]);
      assertEquals(bytes.subarray(42), payload);
      // Any changed byte breaks a checksum, except in the MACs.
      const at = 14 + next() % (bytes.length - 14);
      bytes[at] ^= 1 << next() % 8;
      assert(!holds(bytes), `a bit of byte ${at}: ${bytes.toHex()}`);
    }
  }
});

Deno.test("a UDP checksum of zero is written as 0xffff", () => {
  const targets = Endpoints.of({ address: 0x0a500001, port: 19132 });
  const frames = new EthernetFrames(ENDS, { template: new Uint8Array(4), tokenAt: 0 }, 1);
  frames.write(0, targets, 0, 0, 0);
  frames.finish(1, 7);
  const sum = frames.view.getUint16(frames.content - 2);
  frames.write(0, targets, 0, sum, 0); // the sum without the checksum now has all bits set
  frames.finish(1, 7);
  assertEquals(frames.view.getUint16(frames.content - 2), 0xffff);
  assert(holds(frame(frames, 0)));
});

Deno.test("a token as text is eight digits, and its checksum is right at even and odd offsets", () => {
  const targets = Endpoints.of({ address: 0x0a500001, port: 19132 });
  const digits = "0123456789abcdef".repeat(2);
  for (const tokenAt of [2, 3]) {
    const of = { template: new TextEncoder().encode("ab-00000000-c"), tokenAt, tokenText: true };
    const frames = new EthernetFrames(ENDS, of, 1);
    for (let i = 0; i < 16; i++) {
      const text = digits.slice(i, i + 8);
      frames.write(0, targets, 0, Number.parseInt(text, 16) | 0, 0);
      frames.finish(1, 7);
      const bytes = frame(frames, 0);
      const written = new TextDecoder().decode(bytes.subarray(42));
      assertEquals(written.slice(tokenAt, tokenAt + 8), text);
      assert(holds(bytes), `${text} at ${tokenAt}`);
    }
  }
});

Deno.test("a slot can be rewritten, and its other bytes stay unchanged", () => {
  const of = { template: new Uint8Array(33), tokenAt: 1, clockAt: 5 };
  const frames = new EthernetFrames(ENDS, of, 3);
  const fresh = new EthernetFrames(ENDS, of, 3);
  const targets = Endpoints.of({ address: 0xc0000201, port: 1 }, { address: 2, port: 65_535 });
  for (const i of [0, 1, 0]) frames.write(1, targets, i, 7 * i, 9);
  frames.finish(2, 1);
  fresh.write(1, targets, 0, 0, 9);
  fresh.finish(2, 1);
  assertEquals(frames.bytes, fresh.bytes);
});
