import { assertEquals } from "@std/assert";
import { COMMANDS } from "../../../src/app/options/commands.ts";
import { optionsOf } from "../../../src/app/options/option_table.ts";

Deno.test("campaigns have each option of scan, or say what to use instead", () => {
  const namesOf = (command: Parameters<typeof optionsOf>[0]) =>
    optionsOf(command).flatMap(({ name, short = name, aliases = [] }) => [name, short, ...aliases]);
  const submitted = namesOf("campaign submit");
  const lacking = Object.keys(COMMANDS["campaign submit"].lacks ?? {});
  const known = [...submitted, ...namesOf("campaign work"), ...lacking];
  const ofScan = namesOf("scan");
  assertEquals(ofScan.filter((name) => !known.includes(name)), []);
  assertEquals(lacking.filter((name) => !ofScan.includes(name) || submitted.includes(name)), []);
});
