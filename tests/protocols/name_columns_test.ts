import { assertEquals } from "@std/assert";
import { nameColumns } from "../../src/protocols/name_columns.ts";

Deno.test("the name and the plain MOTD are the MOTD without formatting codes", () => {
  assertEquals(nameColumns("§lA §x"), { name: "A", motd: "§lA §x", motd_plain: "A" });
});

Deno.test("without text there is no name", () => {
  assertEquals(nameColumns("§l"), { name: null, motd: "§l", motd_plain: null });
  for (const none of ["", null]) {
    assertEquals(nameColumns(none), { name: null, motd: null, motd_plain: null });
  }
});
