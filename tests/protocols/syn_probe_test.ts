import { assertEquals } from "@std/assert";
import { Stamp } from "../../src/net/socket.ts";
import { SYN_PROBE } from "../../src/protocols/syn_probe.ts";

/** The options of a TCP header: kinds and values, hexadecimal. */
function optionsOf(header: Uint8Array): string[] {
  const options: string[] = [];
  const end = 4 * (header[12] >> 4);
  for (let at = 20; at < end;) {
    const [kind, length] = [header[at], header[at] === 1 ? 1 : header[at + 1]];
    options.push(`${kind}:${header.subarray(at + 2, at + length).toHex()}`);
    at += length;
  }
  return options;
}

Deno.test("the SYN packet has the flags, the window and the options of Linux", () => {
  const { template } = SYN_PROBE;
  const view = new DataView(template.buffer, template.byteOffset, template.length);
  assertEquals([template.length, 4 * (template[12] >> 4)], [40, 40]);
  assertEquals([template[13], view.getUint16(14)], [0x02, 64_240]);
  // MSS 1460, SACK permitted, timestamps, no operation, window scale 7
  assertEquals(optionsOf(template), ["2:05b4", "4:", "8:0000000000000000", "1:", "3:07"]);
  assertEquals(template.filter((byte, i) => byte !== 0 && (i < 12 || i > 15 && i < 20)).length, 0);
});

Deno.test("the token is the sequence number, and the stamp the value of the timestamp option", () => {
  const header = SYN_PROBE.template.slice();
  new Stamp(SYN_PROBE).write(new DataView(header.buffer), 0, 0xfedcba98 | 0, 0x01020304);
  assertEquals(header.subarray(4, 8).toHex(), "fedcba98");
  assertEquals(optionsOf(header)[2], "8:0102030400000000");
  assertEquals(SYN_PROBE.macMask >>> 0, 0xffffffff);
});
