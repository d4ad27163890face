/**
 * Covers src/cli/commands/servers_and_export.ts: the value of --since for the next export.
 */
import { assertEquals, assertMatch } from "@std/assert";
import { DatabaseSync } from "node:sqlite";
import { run } from "../program.ts";

const READ = ["--allow-read", "--allow-env=INIT_CWD"];

/** The value of --since that an export prints for the next one; `undefined`: it prints none. */
async function printedSince(...args: string[]): Promise<number | undefined> {
  const { code, stderr } = await run(["export", ...args, "--format", "hostport"], {
    permissions: READ,
  });
  assertEquals(code, 0, stderr);
  const [, since] = /^next export: --since (\d+) /m.exec(stderr) ?? [];
  return since === undefined ? undefined : Number(since);
}

Deno.test("the next --since is no later than the export, and is printed only if no server was left out", async () => {
  const folder = await Deno.makeTempDir();
  try {
    const list = `${folder}/a.db`;
    await Deno.writeTextFile(`${folder}/a.txt`, "127.0.0.1:1\n127.0.0.1:2\n127.0.0.1:3\n");
    const imported = await run(["import", list, `${folder}/a.txt`], {
      permissions: [...READ, "--allow-write"],
    });
    assertEquals(imported.code, 0, imported.stderr);
    const newest = await printedSince(list, "--since", "1h");
    assertMatch(String(newest), /^\d{13}$/);
    for (const cut of [["--limit", "2"], ["--after", "127.0.0.1:3"]]) {
      assertEquals(await printedSince(list, "--since", "1h", ...cut), undefined, cut[0]);
    }
    assertEquals(await printedSince(list, "--since", "1h", "--limit", "9"), newest);
    using db = new DatabaseSync(list);
    db.prepare("update servers set changed_at = ? where port = 2").run(Date.now() + 2 * 86_400_000);
    const since = await printedSince(list, "--since", "1h");
    assertEquals(since! <= Date.now() - 60_000, true, `${since}`);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});
