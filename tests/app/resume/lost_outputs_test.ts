/** Covers src/app/resume/: scans whose outputs are changed by other programs. */
import { DatabaseSync } from "node:sqlite";
import {
  assert,
  assertEquals,
  assertMatch,
  assertRejects,
  assertStringIncludes,
} from "@std/assert";
import { serverId } from "../../../src/core/record.ts";
import { readCsv, readNdjson } from "../../../src/fleet/judge/verify_rows.ts";
import { parseCheckpoint } from "../../../src/scan/checkpoint/checkpoint_file.ts";
import { openSqlite } from "../../../src/store/database/sqlite.ts";
import { createTables } from "../../../src/store/schema/create_tables.ts";
import { finish, run, SCAN, start, until } from "../../cli/program.ts";
import { SEEN } from "../../store/databases.ts";
import { fleetAt, inFolder, kill, listed, put, text } from "./stopped_programs.ts";
import { PROTOCOLS } from "../../../src/protocols/list.ts";
import { VERSION } from "../../../src/app/metrics/build_info.ts";
import { longTest } from "../../long.ts";

const FLEET = fleetAt(0x7f3d0000, 0);
const TARGETS = "127.61.0.0/23";

/** Changes to a database by other programs while no scan runs, with the servers that are lost. */
function forget(path: string, ids: readonly string[]): void {
  const database = new DatabaseSync(path);
  for (const id of ids) {
    const number = "(select id from servers where key = ?)";
    for (const table of ["observations", "scan_servers", "server_state"]) {
      database.prepare(`delete from ${table} where server = ${number}`).run(id);
    }
    database.prepare("delete from servers where key = ?").run(id);
  }
  database.close();
}

/** The servers of a scan in a database. Fails if one occurs twice. */
function observed(path: string): unknown[] {
  const database = new DatabaseSync(path);
  const rows = database.prepare(`select server_id from ${SEEN} where online`).all();
  database.close();
  return rows.map((row) => row.server_id).toSorted();
}

longTest(
  "a database that lost rows of a scan is refused, or gets the rows when the targets are probed again",
  async () => {
    await using _fleet = await FLEET.open();
    await inFolder(async (folder) => {
      const [rows, database] = [`${folder}/rows.ndjson`, `${folder}/rows.db`];
      const checkpoint = `${rows}.checkpoint`;
      const saved = async () =>
        parseCheckpoint(await text(checkpoint), VERSION, "it", PROTOCOLS).rows;
      const named = async () =>
        (await text(`${checkpoint}.list`)).split("\n").filter((line) => line.startsWith("+ "))
          .flatMap((line) => line.split(" ").slice(2));
      const args = ["scan", TARGETS, "--rate", "900", "-o", rows, "-o", database];
      const child = start(args);
      await until(
        child,
        async () => await saved() >= 10 && await listed(`${checkpoint}.list`) >= await saved() + 3,
      );
      await kill(child);
      const [before, all] = [await saved(), await named()];
      assert(all.length > before);

      forget(database, all.slice(-1)); // as after a crash of the system
      const goOn = ["scan", "--resume", checkpoint];
      const files = [rows, checkpoint, `${checkpoint}.list`];
      const texts = await Promise.all(files.map(text));
      await Deno.rename(database, `${database}.kept`);
      for (const suffix of ["-wal", "-shm"]) {
        await Deno.rename(database + suffix, `${database}.kept${suffix}`).catch(() => {});
      }
      const gone = await run(goOn);
      assertEquals([gone.code, gone.stderr], [
        2,
        `blocksweep: Cannot resume: "${database}", which contains rows of the scan, no longer exists; ` +
        "restore it, import another output of the scan into it, or start a new scan\n",
      ]);
      await assertRejects(() => Deno.stat(database), Deno.errors.NotFound);
      {
        await using empty = openSqlite(database);
        await createTables(empty);
      }
      const lost = await run(goOn);
      assertEquals(
        [lost.code, lost.stderr],
        [
          2,
          `blocksweep: Cannot resume: "${database}" lacks ${before} of the ${before} rows that the ` +
          "scan had written; restore it, import another output of the scan into it, or start a new " +
          "scan\n",
        ],
      );
      assertEquals(await Promise.all(files.map(text)), texts);
      for (const suffix of ["", "-wal", "-shm"]) {
        await Deno.rename(`${database}.kept${suffix}`, database + suffix).catch(() => {});
      }

      const resumed = await run([...goOn, "--rate", "1M"]);
      assertEquals(resumed.code, 0, resumed.stderr);
      const ids = readNdjson(await text(rows)).map(serverId);
      assertEquals([ids.length, new Set(ids).size], [60, 60]);
      assertEquals(observed(database), ids.toSorted());
    });
  },
);

longTest(
  "rows that were imported from another output count as written, and the scan continues",
  async () => {
    await using _fleet = await FLEET.open();
    await inFolder(async (folder) => {
      const [rows, database] = [`${folder}/rows.ndjson`, `${folder}/rows.db`];
      const status = `${folder}/status`;
      const outputs = ["-o", rows, "-o", database, "--status-file", status];
      const child = start(["scan", TARGETS, ...outputs]);
      await until(child, async () => JSON.parse(await text(status)).written >= 5);
      for (const suffix of ["", "-wal", "-shm"]) await Deno.remove(database + suffix);
      const part = await finish(child);
      assertEquals(part.code, 1, part.stderr);
      const goOn = ["scan", "--resume", `${rows}.checkpoint`];
      const refused = await run(goOn);
      assertEquals(refused.code, 2, refused.stderr);
      assertMatch(refused.stderr, /no longer exists; restore it, import another output/);
      const imported = await run(["import", database, rows]);
      assertEquals(imported.code, 0, imported.stderr);
      const resumed = await run(goOn);
      assertEquals(resumed.code, 0, resumed.stderr);
      const ids = readNdjson(await text(rows)).map(serverId);
      assertEquals([ids.length, observed(database)], [60, ids.toSorted()]);
    });
  },
);

Deno.test("an opt-out before a kill is marked in the database when the scan is resumed", async () => {
  await inFolder(async (folder) => {
    const database = `${folder}/rows.db`;
    const checkpoint = `${database}.checkpoint`;
    const child = start(["scan", "127.60.0.1", "--cooldown", "2s", "-o", database]);
    await until(child, async () => (await text(checkpoint)).length > 0);
    await kill(child);
    const list = await text(`${checkpoint}.list`);
    await put(`${checkpoint}.list`, `${list}! 127.60.0.9\n`);
    const resumed = await run(["scan", "--resume", checkpoint, "--max-runtime", "1s"]);
    assertEquals(resumed.code, 0, resumed.stderr);
    const opened = new DatabaseSync(database);
    const marked = opened.prepare("select address from opt_outs").all()
      .map(({ address }) => address);
    opened.close();
    assertEquals(marked, ["127.60.0.9"]);
  });
});

/** Changes to an output by other programs while a scan runs, and the scan's messages. */
const LOSSES: Readonly<Record<string, [loss: (path: string) => Promise<unknown>, fate: string]>> = {
  "deleted": [(path) => Deno.remove(path), "it was deleted or renamed since it was opened"],
  "rotated": [async (path) => {
    await Deno.rename(path, `${path}.1`);
    await put(path, "");
  }, "another file has taken its place since it was opened"],
  "truncated": [(path) => Deno.truncate(path), "another program changed it: it has "],
};

longTest(
  "an output that is lost during a scan ends it with exit code 1, and the other outputs are complete",
  async () => {
    await using _fleet = await FLEET.open();
    await inFolder(async (folder) => {
      const lose = async (name: string, lost: string, permissions?: readonly string[]) => {
        for (const { name } of Deno.readDirSync(folder)) {
          if (!name.startsWith("rotated")) await Deno.remove(`${folder}/${name}`);
        }
        const at = (file: string) => `${folder}/${name}.${file}`;
        const outputs = ["csv", "ndjson"].map(at);
        if (permissions === undefined) outputs.push(at("db"));
        const args = ["scan", TARGETS, "--append", ...outputs.flatMap((one) => ["-o", one])];
        const child = start([...args, "--status-file", at("s")], { permissions });
        await until(child, async () => JSON.parse(await text(at("s"))).written >= 5);
        const [loss, fate] = LOSSES[name];
        await loss(at(lost));
        const { code, stderr } = await finish(child);
        assertEquals(code, 1, stderr);
        assertStringIncludes(stderr, `\nblocksweep: Cannot write to "${at(lost)}": ${fate}`);
        assertEquals(stderr.match(/^blocksweep: Cannot write|no longer/gm)?.length, 1, stderr);
        const [, rows] = /(\d+) rows written/.exec(stderr)!;
        for (const file of ["csv", "ndjson"].filter((one) => one !== lost)) {
          const read = file === "csv" ? readCsv : readNdjson;
          const ids = read(await text(at(file))).map(serverId);
          assertEquals([ids.length, new Set(ids).size], [Number(rows), Number(rows)], file);
        }
        return stderr;
      };
      for (const name of Object.keys(LOSSES)) {
        const stderr = await lose(name, "ndjson");
        assertMatch(stderr, /once the file is restored, continue with: .* scan --resume/);
      }
      await Deno.rename(`${folder}/rotated.ndjson.1`, `${folder}/rotated.ndjson`);
      const resumed = await run(["scan", "--resume", `${folder}/rotated.csv.checkpoint`]);
      assertEquals(resumed.code, 0, resumed.stderr);
      const ids = readNdjson(await text(`${folder}/rotated.ndjson`)).map(serverId);
      assertEquals([ids.length, new Set(ids).size], [60, 60]);
      assertMatch(await lose("deleted", "db"), /continue with/);
      const files = ["csv", "ndjson", "s", "s.part"].map((file) => `${folder}/deleted.${file}`);
      const permissions = SCAN.map((flag) =>
        flag === "--allow-write" ? `${flag}=${files.join()}` : flag
      );
      const stderr = await lose("deleted", "csv", permissions);
      assertMatch(stderr, /cannot keep a checkpoint/);
      assertEquals(stderr.includes("continue with"), false, stderr);
    });
  },
);
