/** The README tells the truth about what the tables in the code say. */
import { assert, assertEquals } from "@std/assert";
import { COMMANDS } from "../src/cli/help.ts";
import { FIELDS } from "../src/record.ts";
import { PROTOCOLS } from "../src/protocols/mod.ts";

const README = await Deno.readTextFile(new URL("../README.md", import.meta.url));
const CONFIG = JSON.parse(await Deno.readTextFile(new URL("../deno.json", import.meta.url)));
const LOCK = JSON.parse(await Deno.readTextFile(new URL("../deno.lock", import.meta.url)));

/** Cells of the table that follows a mark. */
function table(mark: string): string[][] {
  const [, text] = README.split(`<!-- ${mark} -->\n\n`);
  const [rows] = text.split("\n\n");
  return rows.split("\n").slice(2).map((row) =>
    row.split("|").slice(1, -1).map((cell) => cell.trim())
  );
}

Deno.test("the README lists the columns as FIELDS has them", () => {
  assertEquals(
    table("fields"),
    FIELDS.map(({ name, type, nullable, meaning }) => [
      `\`${name}\``,
      type + (nullable ? "" : ", always"),
      meaning,
    ]),
  );
});

Deno.test("the README's commands and tasks exist", () => {
  for (const [, name] of README.matchAll(/deno task ([a-z]+)/g)) assert(name in CONFIG.tasks, name);
  for (const [, name] of README.matchAll(/^blocksweep ([a-z]+)|`blocksweep ([a-z]+)/gm)) {
    if (name !== undefined) assert(name in COMMANDS, name);
  }
});

Deno.test("the help of --protocol names every protocol", async () => {
  const options = await Deno.readTextFile(new URL("../src/cli/options.ts", import.meta.url));
  const names = PROTOCOLS.map(({ name }) => name).join(", ");
  assert(options.includes(`protocols to look for: ${names}; default: all but sqp`));
});

Deno.test("every task that runs the program asks for nothing, and grants by name", () => {
  for (const [name, { command }] of Object.entries<{ command: string }>(CONFIG.tasks)) {
    if (!/deno (run|install) /.test(command)) continue;
    assert(command.includes("--no-prompt"), name);
    assert(!/--allow-all|(^| )-A( |$)/.test(command), name);
  }
});

Deno.test("the driver of PostgreSQL is in the lock, though no import names it", async () => {
  const source = await Deno.readTextFile(new URL("../src/store/postgres.ts", import.meta.url));
  const [, version] = /const DRIVER = "npm:(pg@[\d.]+)"/.exec(source)!;
  assert(version in LOCK.npm, version);
});

Deno.test("the standard library is the one that was checked", () => {
  assertEquals(
    LOCK.npm["deno-std@1.4.0"].integrity,
    "sha512-7c0Y6tyn0Sx0NKiaAeGtDwrpG+C7VFcOStVcYXPnjAuIEonxzVV+n6s8iuFjg6keqzxo/zrPbR/J9EY9BLNsRA==",
  );
});
