/** An export that is killed while it writes. */
import { assert, assertEquals } from "@std/assert";
import { openSqlite } from "../../../src/store/database/sqlite.ts";
import { writeScanRecords } from "../../../src/store/writers/scan_writer.ts";
import { createTables } from "../../../src/store/schema/create_tables.ts";
import { record } from "../../store/records.ts";
import { finish, run, start } from "../program.ts";

/** More rows than a pipe holds. */
const SERVERS = 2000;

Deno.test({
  name: "a killed export leaves the old file, and the next one replaces it (not on Windows)",
  ignore: Deno.build.os === "windows",
  fn: async () => {
    const folder = await Deno.makeTempDir();
    const [location, file, pipe] = ["servers.db", "rows.csv", "pipe"].map((name) =>
      `${folder}/${name}`
    );
    {
      await using database = openSqlite(location);
      await createTables(database);
      const ports = Array.from({ length: SERVERS }, (_, i) => i + 1);
      await writeScanRecords(database, ports.map((port) => record(port)));
    }
    await Deno.writeTextFile(file, "old\n");
    await new Deno.Command("sh", { args: ["-c", 'mkfifo "$0"', pipe] }).output();
    const permissions = ["--allow-read", "--allow-write", "--allow-env"];
    const args = ["export", location, "-o", file, "-o", pipe, "--format", "csv"];
    const child = start(args, { permissions });
    {
      using reader = await Deno.open(pipe); // waits for the export
      await reader.read(new Uint8Array(1));
      child.kill("SIGKILL");
      await finish(child);
    }
    assertEquals(await Deno.readTextFile(file), "old\n");
    const { code, stderr } = await run(["export", location, "-o", file], { permissions });
    assertEquals(code, 0, stderr);
    const lines = (await Deno.readTextFile(file)).trimEnd().split("\n");
    assertEquals(lines.length, SERVERS + 1);
    const left = [...Deno.readDirSync(folder)].map(({ name }) => name);
    assert(!left.some((name) => name.endsWith(".part")), left.join());
    await Deno.remove(folder, { recursive: true });
  },
});
