/** Entries of the opt-out file. Covers src/app/opt_outs/opt_out_file.ts. */
import { assertEquals, assertMatch, assertThrows } from "@std/assert";
import { optOutLine, parseOptOutEntries } from "../../../src/app/opt_outs/opt_out_file.ts";
import { InputError } from "../../../src/core/errors.ts";
import { inFolder } from "../../app/resume/stopped_programs.ts";
import { runHere } from "../run_here.ts";

const REQUEST = ["--why", "asked by mail", "--from", "J. Doe <noc@example.net>"];

/** Runs a command of opt-outs with a file. */
async function optOut(file: string, ...args: string[]) {
  const { code, stdout, stderr } = await runHere(["opt-out", ...args, "--opt-out-file", file]);
  return { code, lines: stdout.split("\n").slice(0, -1), error: stderr };
}

Deno.test("opt-out add, list and remove change the file, and list prints it for people and programs", async () => {
  await inFolder(async (folder) => {
    const file = `${folder}/new/out.txt`;
    assertEquals((await optOut(file, "list")).lines, []);
    const words = ["192.0.2.0/24", "fc00::-fc00::6", "Play.Example.org", "10.0.0.1-6"];
    assertEquals((await optOut(file, "add", ...words, ...REQUEST, "-q")).code, 0);
    const again = await optOut(file, "add", "192.0.2.0-192.0.2.255", ...REQUEST);
    assertEquals(again.error, `192.0.2.0-192.0.2.255: already in ${file}\n`);
    await Deno.writeTextFile(file, "# mine\n10.1.0.0/16 old  entry\x1b[1m\n", { append: true });
    const [first, ...others] = (await optOut(file, "list")).lines;
    assertMatch(
      first,
      /^192\.0\.2\.0\/24 {2}\d{4}-\d\d-\d\d {2}J. Doe <noc@example.net> {2}asked by mail$/,
    );
    assertEquals([others.length, others.at(-1)], [4, "10.1.0.0/16  old  entry␛[1m"]);
    const [json] = (await optOut(file, "list", "--json")).lines.slice(-1);
    assertEquals(JSON.parse(json), {
      range: "10.1.0.0/16",
      date: null,
      from: null,
      why: "old  entry\x1b[1m",
    });
    const { lines, error } = await optOut(file, "list", "--ranges");
    const ipv4 = [
      "10.0.0.1",
      "10.0.0.2/31",
      "10.0.0.4/31",
      "10.0.0.6",
      "10.1.0.0/16",
      "192.0.2.0/24",
    ];
    assertEquals(lines, [...ipv4, "fc00::/126", "fc00::4/127", "fc00::6"]);
    assertEquals(error, "1 host name left out\n");
    const removed = await optOut(file, "remove", "10.0.0.1-10.0.0.6", "play.example.org", "-q");
    assertEquals([removed.code, (await optOut(file, "list")).lines.length], [0, 3]);
  });
});

Deno.test("opt-out remove changes nothing if a range is missing, or part of another entry", async () => {
  await inFolder(async (folder) => {
    const file = `${folder}/out.txt`;
    const missing = await optOut(file, "remove", "192.0.2.0/24");
    assertEquals(missing, {
      code: 1,
      lines: [],
      error: `blocksweep: Cannot remove "192.0.2.0/24": not in "${file}"\n`,
    });
    await optOut(file, "add", "192.0.2.0/24", "10.0.0.1", ...REQUEST, "-q");
    const text = await Deno.readTextFile(file);
    for (const part of ["192.0.2.7", "192.0.0.0/16"]) {
      const { code, error } = await optOut(file, "remove", "10.0.0.1", part);
      assertEquals([code, error], [
        2,
        `blocksweep: Cannot remove "${part}": the file has it in the entry "192.0.2.0/24"; remove that ` +
        "entry, and add the ranges that stay opted out\n",
      ]);
    }
    assertEquals((await optOut(file, "remove", "10.0.0.1", "example.org")).code, 1);
    assertEquals(await Deno.readTextFile(file), text);
  });
});

Deno.test("lines of an opt-out file keep date, person and reason; other text is the reason", () => {
  const line = optOutLine("10.0.0.1", "2026-01-31", "noc@example.net", "2026-02-01 x");
  const text = `${line}10.0.0.2\n10.0.0.3\t2026-01-31\ta b\tc\n10.0.0.4 2026-01-31 a b`;
  assertEquals(
    parseOptOutEntries(text, "f").map(({ line, date, from, why }) => [line, date, from, why]),
    [
      [0, "2026-01-31", "noc@example.net", "2026-02-01 x"],
      [1, null, null, ""],
      [2, "2026-01-31", "a b", "c"],
      [3, null, null, "2026-01-31 a b"],
    ],
  );
});

Deno.test("an entry stays one line, whatever its person and reason contain", () => {
  const line = optOutLine("10.0.0.1", "2026-01-31", "a\r\nb", "c\n10.0.0.2\u2028d");
  assertEquals(
    parseOptOutEntries(line, "f").map(({ word, from, why }) => [word, from, why]),
    [["10.0.0.1", "a␍␊b", "c␊10.0.0.2␤d"]],
  );
});

Deno.test("a range with spaces around its dash is refused, not read as one address with a reason", () => {
  for (
    const line of ["127.0.0.1 - 127.0.0.9", "fc00::1 -fc00::9  by mail", "127.0.0.1\t–  127.0.0.9"]
  ) {
    assertThrows(
      () => parseOptOutEntries(`10.0.0.1  - 9 servers\n${line}`, "f"),
      InputError,
      "write the range without spaces",
    );
  }
});

Deno.test("opt-out remove names an entry that still opts out what it removed", async () => {
  await inFolder(async (folder) => {
    const file = `${folder}/out.txt`;
    await optOut(file, "add", "127.9.0.1", "127.9.0.0/16", "127.8.0.1", ...REQUEST, "-q");
    const { code, error } = await optOut(file, "remove", "127.9.0.1", "127.8.0.1");
    assertEquals([code, error.split("\n")], [0, [
      `127.9.0.1: removed from ${file}; the entry "127.9.0.0/16" still opts out addresses of it`,
      `127.8.0.1: removed from ${file}`,
      "",
    ]]);
  });
});
