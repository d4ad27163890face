import { assertEquals } from "@std/assert";
import { decodeAdvertisement } from "../../src/protocols/raknet/mod.ts";

/** MOTD, version, players, slots and level of an advertisement. */
function read(text: string) {
  const status = decodeAdvertisement(new TextEncoder().encode(text))!;
  return [status.motd, status.version, status.online, status.max, status.level];
}

const TAIL = "408;1.16.20;0;5;5335687477053034848;lvl;Creative;";

Deno.test("decodeAdvertisement() finds the end of a MOTD with `;` that nobody escaped", () => {
  const motds = [
    ...["a;b", ";", ";;a", "a;", "a;b;c;d", "a\\", "a;\\"],
    // Numbers, which could be the protocol and the counts.
    ...["Welcome;2024", "12;34", "-1;x", "a;1;2;3", "9;8;7;6;5", "1;2;3;4;5;6"],
  ];
  for (const motd of motds) {
    assertEquals(read(`MCPE;${motd};${TAIL}`), [motd, "1.16.20", 0, 5, "lvl"]);
  }
});

Deno.test("decodeAdvertisement() leaves fields where they are when nothing fits better", () => {
  const id = "5335687477053034848";
  // PowerNukkitX writes no version.
  assertEquals(read(`MCPE;a;408;;0;5;${id};lvl;`), ["a", null, 0, 5, "lvl"]);
  assertEquals(read(`MCPE;a;408;26;0;5;${id};lvl;`), ["a", "26", 0, 5, "lvl"]);
  assertEquals(read(`MCPE;a;408;1.16.20;?;5;${id};lvl;`), ["a", "1.16.20", null, 5, "lvl"]);
  assertEquals(read("MCPE;a;408;1.16.20;"), ["a", "1.16.20", null, null, null]);
  assertEquals(read("MCPE;a\\;b;408;1.16.20;x;y;"), ["a;b", "1.16.20", null, null, null]);
  assertEquals(read("MCPE;a\\;408;1.16.20;x;y;"), ["a\\", "1.16.20", null, null, null]);
});
