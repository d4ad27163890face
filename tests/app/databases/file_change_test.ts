/** Covers src/app/databases/file_change.ts. */
import { assertEquals } from "@std/assert";
import { formatConfig } from "../../../src/app/options/config_file.ts";
import { readCommandLine } from "../../cli/command_line.ts";
import { onInterrupt } from "../../../src/app/interrupt_signals.ts";
import { systemClock } from "../../../src/net/clock.ts";
import { WatchDatabases } from "../../../src/app/watch/watch_databases.ts";
import { parseAddress } from "../../../src/core/address.ts";
import { openSqlite } from "../../../src/store/database/sqlite.ts";
import { createTables } from "../../../src/store/schema/create_tables.ts";
import { Store } from "../../../src/store/store.ts";
import { PrintedText, start } from "../../cli/program.ts";
import { all } from "../../store/databases.ts";
import { record, watchId } from "../../store/records.ts";
import { PROTOCOLS } from "../../../src/protocols/list.ts";

/** Creates a database with one server. */
async function createDatabase(path: string): Promise<void> {
  await using store = new Store(openSqlite(path), () => Promise.resolve());
  await createTables(store.database);
  await store.write([record(1)]);
}

for (
  const [what, change, message] of [
    [
      "removed",
      (path: string) => Deno.remove(path),
      "it was deleted or renamed since it was opened",
    ],
    [
      "replaced",
      (path: string) => Deno.rename(`${path}.new`, path),
      "another file has taken its place since it was opened",
    ],
  ] as const
) {
  Deno.test(`history --events --follow ends when its database is ${what}`, async () => {
    const folder = await Deno.makeTempDir();
    try {
      const path = `${folder}/a.db`;
      for (const name of [path, `${path}.new`]) await createDatabase(name);
      const child = start(["history", path, "--events", "--follow"], {
        permissions: [`--allow-read=${folder}`, `--allow-write=${folder}`, "--allow-env"],
      });
      const printed = new PrintedText(child, child.stdout);
      await printed.until("found for the first time");
      await change(path);
      await printed.rest();
      const [{ code }, stderr] = await Promise.all([
        child.status,
        new Response(child.stderr).text(),
      ]);
      assertEquals([code, stderr], [1, `blocksweep: Cannot read "${path}": ${message}\n`]);
    } finally {
      await Deno.remove(folder, { recursive: true });
    }
  });
}

Deno.test("a watch keeps its results while the file of its database is renamed, and reports both", async () => {
  const folder = await Deno.makeTempDir();
  try {
    const [path, other] = [`${folder}/a.db`, `${folder}/b.db`];
    const { words, options, given } = readCommandLine("watch", ["127.0.0.1:1", "-o", path]);
    const lines: string[] = [];
    let reported = Promise.withResolvers<void>();
    const report = (line: string) => {
      lines.push(line);
      reported.resolve();
    };
    const scanId = watchId(1);
    const rules = {
      intervalMs: 60_000,
      downAfter: 3,
      scanId,
      newEventId: () => "event",
      allProtocols: PROTOCOLS,
    };
    await using lists = await WatchDatabases.open({ ...options, words }, rules, {
      warn: report,
      listenForInterrupt: () => onInterrupt(() => {}),
      clock: systemClock,
    });
    await lists.openOutputs();
    await lists.begin(formatConfig("watch", given));
    await Deno.rename(path, other);
    lists.journals[0].optOut(parseAddress("127.0.0.1")!, 1000);
    await reported.promise;
    reported = Promise.withResolvers();
    await Deno.rename(other, path);
    await reported.promise;
    const change = `Cannot write to "${path}": it was deleted or renamed since it was opened`;
    assertEquals(lines, [
      `blocksweep: ${change}; the watch continues, and will try to write again`,
      `blocksweep: "${path}" can be written again`,
    ]);
    {
      await using database = openSqlite(path, { readOnly: true });
      assertEquals(await all(database, "select address from opt_outs"), [{ address: "127.0.0.1" }]);
    }
    await Deno.remove(path);
    assertEquals(await lists.end(), [`blocksweep: ${change}`]);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});
