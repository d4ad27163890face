/** src/app/targets/kept_contact.ts, src/app/targets/require_permission.ts. */
import { DatabaseSync } from "node:sqlite";
import { assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import type { GivenOptions } from "../../../src/app/options/given_options.ts";
import { keepContact } from "../../../src/app/targets/kept_contact.ts";
import { requireContact } from "../../../src/app/targets/require_permission.ts";
import { inFolder } from "../resume/stopped_programs.ts";
import { CACHE, type Finished, PrintedText, run, start } from "../../cli/program.ts";

/** A command that ends at once, and the folder of its configuration. */
type Run = (...args: string[]) => Promise<Finished>;

/** Runs a test with commands whose configuration is in a folder of their own. */
async function withConfiguration(test: (run: Run, path: string) => Promise<void>): Promise<void> {
  await inFolder(async (folder) => {
    const env = { XDG_CONFIG_HOME: folder };
    // without --allow-net beyond loopback, no packet can reach a public address
    await test((...args) => run(args, { env, cwd: folder }), `${folder}/blocksweep/contact.txt`);
  });
}

/** A scan of one loopback address that takes no time. */
const SCAN = ["scan", "127.7.7.7", "--protocol", "raknet", "--cooldown", "1ms"];
/** A scan that needs a contact, and is refused later at the latest. */
const PUBLIC = ["scan", "8.8.8.8", "--i-have-permission", "-o", "/nonexistent/x.csv"];
const [FIRST, SECOND] = ["abuse@example.org", "https://example.org/scan"];

Deno.test("the contact of the first scan is kept, used by commands without one, and not replaced", async () => {
  await withConfiguration(async (run, path) => {
    const first = await run(...SCAN, "--contact", FIRST);
    assertEquals(first.code, 0, first.stderr);
    assertStringIncludes(first.stderr, `blocksweep: the contact is kept in "${path}"`);
    const text = await Deno.readTextFile(path);
    assertMatch(text, /^#.*\nabuse@example\.org\n$/);
    if (Deno.build.os !== "windows") assertEquals((await Deno.stat(path)).mode! & 0o777, 0o600);

    const second = await run(...SCAN, "--contact", SECOND, "--opt-out-file", "other.txt");
    assertEquals(second.code, 0, second.stderr);
    assertEquals(second.stderr.includes("contact"), false, second.stderr);
    assertEquals(await Deno.readTextFile(path), text);

    const open = await run(...PUBLIC);
    assertEquals([open.code, open.stderr.includes("--contact")], [2, false], open.stderr);
    assertStringIncludes((await run("contact-page")).stdout, FIRST);
    const own = (await run("contact-page", "--contact", SECOND)).stdout;
    assertEquals([own.includes(FIRST), own.includes(SECOND)], [false, true]);
  });
});

Deno.test("dry runs, lists of targets and refused scans keep no contact", async () => {
  await withConfiguration(async (run, path) => {
    for (const words of [[...SCAN, "--dry-run"], [...SCAN, "--list-targets"], PUBLIC]) {
      await run(...words, "--contact", FIRST);
      const found = await Deno.stat(path).then(() => words, () => undefined);
      assertEquals(found, undefined);
    }
  });
});

Deno.test("a broken file is an error that names it, only for commands that need the contact", async () => {
  await withConfiguration(async (run, path) => {
    await Deno.mkdir(path.replace("/contact.txt", ""));
    for (
      const [text, wanted] of [
        ["# none\n", 'Cannot use contact "": expected an e-mail address'],
        ["a\u001b[31m@\n", "Cannot use contact"],
        [`${FIRST}\n${SECOND}\n`, "expected one contact, found 2"],
      ]
    ) {
      await Deno.writeTextFile(path, text);
      for (const words of [PUBLIC, ["contact-page"]]) {
        const { code, stdout, stderr } = await run(...words);
        assertEquals([code, stdout], [2, ""], stderr);
        assertStringIncludes(stderr, path);
        assertStringIncludes(stderr, wanted);
        assertEquals(stderr.includes("\u001b"), false);
      }
    }
    const scan = await run(...SCAN, "--contact", FIRST);
    assertEquals([scan.code, scan.stderr.includes("contact")], [0, false], scan.stderr);
    await Deno.writeTextFile(path, `\ufeff# comment\r\n\r\n  ${SECOND}  \r\n`);
    assertStringIncludes((await run("contact-page")).stdout, SECOND);
  });
});

Deno.test("a folder that cannot be written is a note, and the scan runs", async () => {
  await inFolder(async (folder) => {
    await Deno.writeTextFile(`${folder}/opt-outs.txt`, "");
    const args = [...SCAN, "--contact", FIRST, "--opt-out-file", "opt-outs.txt"];
    const permissions = ["--allow-net=127.0.0.0/8,0.0.0.0", "--allow-read", "--allow-env=HOME"];
    const scan = await run(args, {
      permissions,
      cwd: folder,
      env: { HOME: folder, DENO_DIR: CACHE },
    });
    assertEquals(scan.code, 0, scan.stderr);
    const path = `${folder}/.config/blocksweep/contact.txt`;
    assertStringIncludes(scan.stderr, `blocksweep: cannot keep the contact in "${path}": `);
  });
});

Deno.test("a watch keeps the contact, records it in its database, and runs without a valid one", async () => {
  await inFolder(async (folder) => {
    const env = { XDG_CONFIG_HOME: folder };
    const path = `${folder}/blocksweep/contact.txt`;
    const watch = async (name: string, printed: string, ...words: string[]) => {
      const list = `${folder}/${name}.db`;
      const child = start(["watch", "127.7.7.7:1", "-o", list, ...words], { env, cwd: folder });
      const lines = new PrintedText(child);
      await lines.until(printed);
      await lines.until("watching 1 endpoint");
      child.kill("SIGINT");
      await lines.rest();
      assertEquals((await child.status).code, 130, lines.text);
      await child.stdout.cancel();
      using database = new DatabaseSync(list);
      const [{ config }] = database.prepare("select config from scans").all();
      return JSON.parse(String(config)).contact;
    };
    assertEquals(await watch("a", `is kept in "${path}"`, "--contact", FIRST), FIRST);
    assertEquals(await watch("b", ""), FIRST);
    await Deno.writeTextFile(path, "nobody\n");
    assertEquals(await watch("c", "polls are recorded without a contact"), undefined);
  });
});

Deno.test("options get the kept contact only for public targets without a contact", async () => {
  const given = (...entries: [string, string[]][]): GivenOptions => ({
    words: [],
    given: new Map(entries),
  });
  const of = async (publicSize: bigint, options: GivenOptions) => {
    const context = { nameOf: (name: string) => name, keptContact: () => Promise.resolve(FIRST) };
    return (await requireContact({ publicSize }, options, context)).given.get("contact");
  };
  assertEquals(await of(0n, given()), undefined);
  assertEquals(await of(1n, given()), [FIRST]);
  assertEquals(await of(1n, given(["contact", [SECOND]])), [SECOND]);
});

Deno.test("a disk that becomes full leaves no contact file, which later commands would refuse", async () => {
  await inFolder(async (folder) => {
    const before = Deno.env.get("XDG_CONFIG_HOME");
    const write = Deno.writeTextFileSync;
    const reported: string[] = [];
    Deno.env.set("XDG_CONFIG_HOME", folder);
    Deno.writeTextFileSync = (path, _, options) => {
      write(path, "# who", options);
      throw Object.assign(new Error("No space left on device (os error 28)"), { code: "ENOSPC" });
    };
    try {
      keepContact(FIRST, (line) => reported.push(line));
    } finally {
      Deno.writeTextFileSync = write;
      if (before === undefined) Deno.env.delete("XDG_CONFIG_HOME");
      else Deno.env.set("XDG_CONFIG_HOME", before);
    }
    assertEquals(await Array.fromAsync(Deno.readDir(`${folder}/blocksweep`)), []);
    assertStringIncludes(reported.join(), "cannot keep the contact in");
  });
});
