/** Covers src/protocols/lan/. */
import { assert, assertEquals, assertThrows } from "@std/assert";
import { Malformed, Truncated } from "../../src/core/bytes.ts";
import * as lan from "../../src/protocols/lan/mod.ts";

const utf8 = (text: string) => new TextEncoder().encode(text);
const text = (bytes: Uint8Array | undefined) => bytes && new TextDecoder().decode(bytes);

Deno.test("announcements are decoded as in the game", () => {
  const read = (announcement: string) => {
    const { motd, port } = lan.decodeAnnouncement(utf8(announcement))!;
    return [text(motd), port];
  };
  // The expected values follow from the game's code, by hand.
  assertEquals(read("[MOTD]a[/MOTD][AD]1[/AD]"), ["a", 1]);
  assertEquals(read("[MOTD][/MOTD][AD]65535[/AD]"), ["", 65535]);
  assertEquals(read("[MOTD][MOTD][/MOTD][AD]1[/AD]"), ["[MOTD]", 1]);
  assertEquals(read("[MOTD]a[AD]2[/AD][/MOTD][AD]1[/AD]"), ["a[AD]2[/AD]", 1]);
  assertEquals(read("[/MOTD][MOTD]a[AD]1[/AD]"), [undefined, 1]);
  assertEquals(read("[AD]2[/AD][/MOTD]x[AD]1[/AD]"), [undefined, 1]);
  assertEquals(read("[MOTD]a[/MOTD][/AD][AD]1[/AD]"), ["a", 1]);
  assertEquals(read("[MOTD]a[/MOTD][AD]0001[/AD]"), ["a", 1]);
  assertEquals(read("[MOTD]a[/MOTD][AD][::1]:1[/AD]"), ["a", 1]);
  assertEquals(read("[motd]x[/motd][MOTD]a[/MOTD][AD]1[/AD]"), ["a", 1]);
});

Deno.test("announcements without an address are rejected with the reason", () => {
  const refused = (announcement: string) => {
    try {
      return lan.decodeAnnouncement(utf8(announcement));
    } catch (error) {
      assert(error instanceof Truncated || error instanceof Malformed);
      return `${error.name} ${error.offset}`;
    }
  };
  const printed = ["[MOTD]a", "[MOTD]a[/MOTD]", "[MOTD]a[/MOTD][AD]1"].map((announcement) =>
    assertThrows(() => lan.decodeAnnouncement(utf8(announcement)), Truncated).what
  );
  assertEquals(printed, ["end of the MOTD", "address", "end of the address"]);
  assertEquals(refused("[MOTD]a"), "Truncated 7");
  assertEquals(refused("[MOTD]a[/MOTD]"), "Truncated 14");
  assertEquals(refused("[MOTD]a[/MOTD][AD]1"), "Truncated 19");
  assertEquals(refused("[MOTD]a[/MOTD][/MOTD][AD]1[/AD]"), "Malformed 14");
  for (const address of ["", "0", "65536", "-1", "1 ", "1:", "x", "1e3", "٣", "123456"]) {
    assertEquals(refused(`[MOTD]a[/MOTD][AD]${address}[/AD]`), "Malformed 18", address);
  }
  assertEquals([refused(""), refused("[AD]1[/AD]"), refused("[MOTD")], Array(3).fill(undefined));
});

Deno.test("an announcement is read up to 1,024 bytes", () => {
  const long = (size: number) => utf8(`[MOTD]${"x".repeat(size)}[/MOTD][AD]1[/AD]`);
  const room = lan.LONGEST_ANNOUNCEMENT - long(0).length;
  assertEquals(lan.decodeAnnouncement(long(room))?.motd?.length, room);
  assertThrows(() => lan.decodeAnnouncement(long(room + 1)), Truncated);
});
