/** Covers src/cli/commands/import.ts. */
import { assertEquals } from "@std/assert";
import { main } from "../../../src/cli/mod.ts";
import { openSqlite } from "../../../src/store/database/sqlite.ts";
import { all } from "../../store/databases.ts";
import { record } from "../../store/records.ts";
import { withMessages } from "../failing_streams.ts";

Deno.test("an import of several files writes one summary, also if the last one is refused", async () => {
  const folder = await Deno.makeTempDir();
  try {
    const [one, two, bad, database] = ["one.ndjson", "two.ndjson", "bad.ndjson", "a.db"]
      .map((name) => `${folder}/${name}`);
    const write = (path: string, ...ports: number[]) =>
      Deno.writeTextFile(path, ports.map((port) => `${JSON.stringify(record(port))}\n`).join(""));
    await write(one, 1, 2);
    await write(two, 2, 3);
    await Deno.writeTextFile(bad, "{ torn\n");
    const codes = [];
    for (const files of [[one, two], [one, two]]) {
      const [code] = await withMessages(() => main(["import", database, ...files, "-q"]));
      codes.push(code);
    }
    await write(one, 4);
    codes.push((await withMessages(() => main(["import", database, one, bad, "-q"])))[0]);
    assertEquals(codes, [0, 0, 2]);
    await using db = openSqlite(database, { readOnly: true });
    const events = await all(db, "select kind, server, scan, data from events order by seq");
    assertEquals(events.map(({ data, ...rest }) => ({ ...rest, data: JSON.parse(String(data)) })), [
      ...[3, 1].map((count) => ({
        ...{ kind: "scan_summary", server: null, scan: null },
        data: { new: count, back: 0, lost: 0, reported: 0 },
      })),
    ]);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});
