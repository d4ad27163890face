/** Messages about missing permissions. */
import { assertEquals } from "@std/assert";
import { permissionText } from "../../src/core/errors.ts";

Deno.test("texts of the program itself, and permissions without a value, are kept readable", () => {
  assertEquals(permissionText("Cannot find the opt-out file"), "Cannot find the opt-out file");
  assertEquals(
    permissionText("Requires import access, run again with the --allow-import flag"),
    "Cannot use import: the permission is missing; add --allow-import to deno run or deno install",
  );
});
