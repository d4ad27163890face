import { DatabaseSync } from "node:sqlite";
import {
  assert,
  assertEquals,
  assertMatch,
  assertRejects,
  assertStringIncludes,
} from "@std/assert";
import { drawFleet, type FleetPlan } from "../../../src/fleet/simulate/draw_fleet.ts";
import type { ScannedSelection } from "../../../src/fleet/judge/expected_rows.ts";
import { openFleet } from "../../../src/fleet/simulate/open_fleet.ts";
import { Random } from "../../../src/fleet/random.ts";
import {
  readCsv,
  readNdjson,
  verifyAgainstManifest,
} from "../../../src/fleet/judge/verify_rows.ts";
import { systemClock } from "../../../src/net/clock.ts";
import { serverId } from "../../../src/core/record.ts";
import { parseCheckpoint, sha256 } from "../../../src/scan/checkpoint/checkpoint_file.ts";
import { SEEN } from "../../store/databases.ts";
import { createTables } from "../../../src/store/schema/create_tables.ts";
import { openSqlite } from "../../../src/store/database/sqlite.ts";
import {
  ENVIRONMENT,
  finish,
  type Finished,
  programWords,
  run,
  SCAN,
  start,
  until,
} from "../../cli/program.ts";

const FLEET: FleetPlan = {
  servers: 60,
  hostile: 10,
  range: { start: 0x7f240000, end: 0x7f240200 },
  seed: 8,
};
const TARGETS = "127.36.0.0/23";
const ENTRIES = drawFleet(FLEET).map(({ entry }) => entry);
const SELECTION: ScannedSelection = {
  protocols: ["raknet", "slp", "query"],
  ports: (name) => name === "raknet" ? [19132] : [25565],
  follow: true,
};

/** A folder that is gone afterwards. */
async function inFolder(test: (folder: string) => Promise<void>): Promise<void> {
  const folder = await Deno.makeTempDir();
  try {
    await test(folder);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

async function withFleet(test: () => Promise<void>): Promise<void> {
  await using _fleet = await openFleet(drawFleet(FLEET), { clock: systemClock, seed: 1 });
  await test();
}

/** Waits until a program makes, changes or renames a file; false where it ends before that. */
async function touched(child: Deno.ChildProcess, folder: string, path: string): Promise<boolean> {
  using watcher = Deno.watchFs(folder);
  void child.status.then(() => watcher[Symbol.dispose]());
  for await (const { paths } of watcher) if (paths.includes(path)) return true;
  return false;
}

/** Ends a process at once, as it stands. */
async function kill(child: Deno.ChildProcess): Promise<void> {
  child.kill("SIGKILL");
  assertEquals((await finish(child)).code, 137);
}

/** How many servers a list names. */
async function listed(path: string): Promise<number> {
  return (await Deno.readTextFile(path)).split("\n").filter((line) => line.startsWith("+ "))
    .reduce((sum, line) => sum + line.split(" ").length - 2, 0);
}

const SCAN_ARGS = ["scan", TARGETS, "--cooldown", "300ms", "--timeout", "300ms"];

Deno.test("a scan that is killed at random moments and resumed finds every server once", async () => {
  await inFolder((folder) =>
    withFleet(async () => {
      const [csv, ndjson] = [`${folder}/rows.csv`, `${folder}/rows.ndjson`];
      const checkpoint = `${csv}.checkpoint`;
      const random = new Random(9);
      const begin = [...SCAN_ARGS, "--rate", "900", "-o", csv, "-o", ndjson];
      const goOn = ["scan", "--resume", checkpoint];
      const moments: ((child: Deno.ChildProcess) => Promise<boolean>)[] = [5, 15, 25, 35, 45].map(
        (rows) => {
          const least = rows + random.below(8);
          return async () => await listed(`${checkpoint}.list`) >= least;
        },
      );
      // In the middle of saving: while the next checkpoint has not taken its place.
      moments.splice(2, 0, (child) => touched(child, folder, `${checkpoint}.part`));
      for (const [i, moment] of moments.entries()) {
        const child = start(i === 0 ? begin : goOn);
        await until(child, async () => (await Deno.stat(checkpoint)).isFile);
        await until(child, () => moment(child));
        await kill(child);
      }
      const { mode } = await Deno.stat(checkpoint);
      assertEquals(mode! & 0o777, 0o600);
      const last = await run([...goOn, "--rate", "1M"]);
      assertEquals(last.code, 0, last.stderr);
      assertMatch(
        last.stderr,
        /^resuming "\S+" \(scan \S+, killed, saved \S+\): \d+ rows written/,
      );
      const rows = readNdjson(await Deno.readTextFile(ndjson));
      const servers = rows.map(serverId);
      assertEquals(servers.toSorted(), [...new Set(servers)].toSorted());
      assertEquals(readCsv(await Deno.readTextFile(csv)).map(serverId), servers);
      const { found, faults } = verifyAgainstManifest(ENTRIES, rows, SELECTION, "ndjson");
      assertEquals([found, servers.length, faults], [60, 60, []]);
      assertEquals(new Set(rows.map(({ scan_id }) => scan_id)).size, 1);
      const done = await run(goOn);
      assertEquals([done.code, done.stdout], [2, ""]);
      assertMatch(
        done.stderr,
        /there is no such file; a scan that finishes removes its checkpoint\n$/,
      );
      const names = [...Deno.readDirSync(folder)].map(({ name }) => name).toSorted();
      assertEquals(names, ["rows.csv", "rows.ndjson"]);
    })
  );
});

Deno.test("a scan that cannot be resumed is refused in one line, and no file changes", async () => {
  await inFolder((folder) =>
    withFleet(async () => {
      const csv = `${folder}/rows.csv`;
      const [checkpoint, list] = [`${csv}.checkpoint`, `${csv}.checkpoint.list`];
      const child = start([...SCAN_ARGS, "--rate", "500", "-o", csv]);
      await until(child, async () =>
        JSON.parse((await text(checkpoint)).split("sha256 ")[0]).rows >= 5);
      const busy = await run(["scan", "--resume", checkpoint]);
      assertEquals([busy.code, busy.stdout], [2, ""]);
      assertStringIncludes(busy.stderr, "a scan that is running has it open");
      await kill(child);
      const whole = await text(checkpoint);
      const [body] = whole.split("sha256 ");
      const signed = (text: string) =>
        `${text}sha256 ${sha256(text)}\n`;
      const rows = await text(list);
      const csvText = await text(csv);
      const bad: [what: string, change: () => Promise<void>, args: string[], message: string][] = [
        [
          "missing",
          () => Deno.remove(checkpoint),
          [],
          "a scan that finishes removes its checkpoint",
        ],
        ["rows", () => put(checkpoint, csvText), [], "it is not a checkpoint"],
        ["empty", () => put(checkpoint, ""), [], "it is not a checkpoint"],
        ["truncated", () => put(checkpoint, whole.slice(0, -9)), [], "it is cut off"],
        ["half", () => put(checkpoint, body.slice(0, 300)), [], "it is cut off"],
        [
          "edited",
          () => put(checkpoint, whole.replace('"rows": ', '"rows": 1')),
          [],
          "was changed",
        ],
        [
          "another form",
          () => put(checkpoint, signed(body.replace('"checkpoint": 4', '"checkpoint": 1'))),
          [],
          "it is a checkpoint of version 1, and this program knows 4",
        ],
        [
          "another program",
          () => put(checkpoint, signed(body.replace(/"program": "[^"]*"/, '"program": "0.0.9"'))),
          [],
          "blocksweep 0.0.9 wrote it, and this is",
        ],
        [
          "no list",
          () => Deno.remove(list),
          [],
          'rows.csv.checkpoint.list": there is no such file',
        ],
        ["a cut list", () => put(list, rows.slice(0, 300)), [], "bytes of the"],
        ["an edited list", () => put(list, rows.replace("127.36.", "127.37.")), [], "was changed"],
        ["a foreign line", () => put(list, `${rows}? x\n`), [], '"? x" is not a line of it'],
        ["no output", () => Deno.remove(csv), [], `Cannot continue "${csv}": No such file`],
        [
          "a shorter output",
          () => put(csv, csvText.slice(0, 900)),
          [],
          "that the scan had written",
        ],
        ["targets", noChange, ["10.0.0.0/8"], `with 10.0.0.0/8 (it has ${TARGETS}):`],
        ["ports", noChange, ["-p", "9"], "with --ports 9 (it has none): these options cannot be"],
        [
          "several",
          noChange,
          ["--retries", "3", "--cooldown", "1s"],
          "--cooldown 1s (it has 300ms)",
        ],
        ["a flag", noChange, ["--verify"], "with --verify (it has none)"],
      ];
      for (const [what, change, args, message] of bad) {
        await change();
        const before = await contents(folder);
        const { code, stdout, stderr } = await run(["scan", "--resume", checkpoint, ...args]);
        assertEquals([code, stdout], [2, ""], what);
        assertStringIncludes(stderr, message);
        assertMatch(stderr, /^blocksweep: Cannot [^\n]*\n$/);
        assertEquals(await contents(folder), before, what);
        await put(checkpoint, whole);
        await put(list, rows);
        await put(csv, csvText);
      }
      const same = await run(["scan", TARGETS, "--resume", checkpoint, "-o", csv, "--rate", "1M"]);
      assertEquals(same.code, 0, same.stderr);
      assertEquals(readCsv(await text(csv)).length, 60);
    })
  );
});

const noChange = () => Promise.resolve();
const text = (path: string) => Deno.readTextFile(path);
const put = (path: string, content: string) => Deno.writeTextFile(path, content);

async function contents(folder: string): Promise<Record<string, string>> {
  const files: Record<string, string> = {};
  for await (const { name } of Deno.readDir(folder)) files[name] = await text(`${folder}/${name}`);
  return files;
}

Deno.test("rows on standard output may repeat after a kill, and never after Ctrl-C", async () => {
  await inFolder((folder) =>
    withFleet(async () => {
      const checkpoint = `${folder}/scan.checkpoint`;
      const args = [
        ...SCAN_ARGS,
        "--format",
        "ndjson",
        "--rate",
        "500",
        "--checkpoint",
        checkpoint,
      ];
      const child = start(args);
      const first = collect(child);
      await until(child, async () => await listed(`${checkpoint}.list`) >= 10);
      child.kill("SIGINT");
      assertEquals((await child.status).code, 130);
      const again = start(["scan", "--resume", checkpoint]);
      const second = collect(again);
      const before = await listed(`${checkpoint}.list`);
      await until(again, async () => (await text(checkpoint)).includes('"running"'));
      await until(again, async () => await listed(`${checkpoint}.list`) >= before + 5);
      again.kill("SIGKILL");
      await again.status;
      const third = await run(["scan", "--resume", checkpoint, "--rate", "1M"]);
      assertEquals(third.code, 0, third.stderr);
      assertStringIncludes(third.stderr, "blocksweep: standard output may get some servers twice");
      const [one, two] = await Promise.all([first, second]);
      assertEquals(one.stderr.includes("some servers"), false);
      assert(one.ids.length >= 10 && two.ids.every((id) => !one.ids.includes(id)));
      const three = readNdjson(third.stdout).map(serverId);
      assertEquals(new Set([...one.ids, ...two.ids, ...three]).size, 60);
      assertEquals([...Deno.readDirSync(folder)], []);
    })
  );
});

/** A program `blocksweep` in a folder, as `deno task install` makes one. */
async function install(folder: string): Promise<void> {
  const words = programWords([]).map((word) => `'${word}'`).join(" ");
  await put(`${folder}/blocksweep`, `#!/bin/sh\nexec ${words} "$@"\n`);
  await Deno.chmod(`${folder}/blocksweep`, 0o755);
}

/** Runs a line in a shell that finds the program of a folder. */
async function shell(line: string, folder: string): Promise<Finished> {
  const PATH = `${folder}:${Deno.env.get("PATH")}`;
  const child = new Deno.Command("sh", {
    args: ["-c", line],
    env: { ...ENVIRONMENT, PATH },
    stdin: "null",
    stdout: "piped",
    stderr: "piped",
  }).spawn();
  return await finish(child);
}

/** A default scan of a fleet without slow hosts: TCP finishes after a third of it. */
const QUIET_FLEET: FleetPlan = {
  ...FLEET,
  hostile: 0,
  range: { start: 0x7f250000, end: 0x7f250200 },
};

/** What a status file says at two moments: when few rows are written, and when TCP has finished. */
const POINTS: Readonly<Record<string, (status: ReturnType<typeof JSON.parse>) => boolean>> = {
  early: ({ written }) => written >= 3,
  late: ({ pass, tcp }) => pass >= 3 && tcp.pass === 2 && tcp.position === tcp.pass_size,
};
const RUNTIMES: Readonly<Record<string, string>> = { early: "1s", late: "3s" };

/** Stops a default scan; returns what it printed. */
async function stopped(way: string, point: string, output: string): Promise<Finished> {
  const args = ["scan", "127.37.0.0/23", "-o", output];
  if (way === "--max-runtime") return await run([...args, way, RUNTIMES[point]]);
  const status = `${output}.status`;
  const child = start([...args, "--status-file", status]);
  await until(child, async () => POINTS[point](JSON.parse(await text(status))));
  child.kill(way as Deno.Signal);
  return await finish(child);
}

for (const way of ["SIGINT", "SIGTERM", "--max-runtime"]) {
  Deno.test(`a scan stopped by ${way}, early or late, continues with the printed command`, async () => {
    await using _fleet = await openFleet(drawFleet(QUIET_FLEET), { clock: systemClock, seed: 1 });
    await inFolder(async (folder) => {
      await install(folder);
      for (const point of ["early", "late"]) {
        const output = `${folder}/rows of ${point}.ndjson`;
        let part = await stopped(way, point, output);
        assertEquals(part.code, way === "--max-runtime" ? 0 : 130, part.stderr);
        const { marks } = parseCheckpoint(await text(`${output}.checkpoint`), "0.1.0", "it");
        if (way !== "--max-runtime" && point === "late") assertEquals(marks.tcp.pass, 3);
        for (let parts = 1;; parts++) {
          const [, command] = /^continue with: (.*)$/m.exec(part.stderr) ?? [];
          if (command === undefined) break;
          assert(parts < 40, "each part gets further");
          part = await shell(command, folder);
          assertEquals(part.code, 0, part.stderr);
        }
        assertStringIncludes(part.stderr, "done in ");
        const rows = readNdjson(await text(output));
        const ids = rows.map(serverId);
        // A scan that is to end waits five seconds for a slow host, and says so in its row.
        const cut = rows.filter(({ flags }) => flags.includes("cutShort")).map(serverId);
        const expected = drawFleet(QUIET_FLEET).map(({ entry }) => entry);
        const { found, faults } = verifyAgainstManifest(expected, rows, SELECTION, "ndjson");
        assertEquals([ids.length, new Set(ids).size, found], [60, 60, 60]);
        assertEquals(faults.filter((fault) => !cut.some((id) => fault.startsWith(`${id} `))), []);
      }
    });
  });
}

/** What others do to a database while no scan runs, with the servers that it lost. */
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

/** The servers of a scan in a database, each once. */
function observed(path: string): unknown[] {
  const database = new DatabaseSync(path);
  const rows = database.prepare(`select server_id from ${SEEN} where online`).all();
  database.close();
  return rows.map((row) => row.server_id).toSorted();
}

Deno.test("a database that lost rows of a scan is refused, or gets the rows when the targets are probed again", async () => {
  await using _fleet = await openFleet(drawFleet(QUIET_FLEET), { clock: systemClock, seed: 1 });
  await inFolder(async (folder) => {
    const [rows, database] = [`${folder}/rows.ndjson`, `${folder}/rows.db`];
    const checkpoint = `${rows}.checkpoint`;
    const saved = async () => parseCheckpoint(await text(checkpoint), "0.1.0", "it").rows;
    const named = async () =>
      (await text(`${checkpoint}.list`)).split("\n").filter((line) => line.startsWith("+ "))
        .flatMap((line) => line.split(" ").slice(2));
    const args = ["scan", "127.37.0.0/23", "--rate", "900", "-o", rows, "-o", database];
    const child = start(args);
    await until(
      child,
      async () => await saved() >= 10 && await listed(`${checkpoint}.list`) >= await saved() + 3,
    );
    await kill(child);
    const [before, all] = [await saved(), await named()];
    assert(all.length > before);

    forget(database, all.slice(-1)); // as a crash of the system would
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
      `blocksweep: Cannot resume: "${database}", which holds rows of the scan, no longer exists; ` +
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
});

Deno.test("rows that were imported from another output count as written, and the scan continues", async () => {
  await using _fleet = await openFleet(drawFleet(QUIET_FLEET), { clock: systemClock, seed: 1 });
  await inFolder(async (folder) => {
    const [rows, database] = [`${folder}/rows.ndjson`, `${folder}/rows.db`];
    const status = `${folder}/status`;
    const outputs = ["-o", rows, "-o", database, "--status-file", status];
    const child = start(["scan", "127.37.0.0/23", ...outputs]);
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
});

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

/** What others do to an output while a scan runs, and what the scan says of it. */
const LOSSES: Readonly<Record<string, [loss: (path: string) => Promise<unknown>, fate: string]>> = {
  "deleted": [(path) => Deno.remove(path), "it was deleted or renamed since it was opened"],
  "rotated": [async (path) => {
    await Deno.rename(path, `${path}.1`);
    await put(path, "");
  }, "another file has taken its place since it was opened"],
  "truncated": [(path) => Deno.truncate(path), "another program changed it: it has "],
};

Deno.test("an output that is lost during a scan ends it with exit code 1, and the other outputs are complete", async () => {
  await using _fleet = await openFleet(drawFleet(QUIET_FLEET), { clock: systemClock, seed: 1 });
  await inFolder(async (folder) => {
    const lose = async (name: string, lost: string, permissions?: readonly string[]) => {
      for (const { name } of Deno.readDirSync(folder)) {
        if (!name.startsWith("rotated")) await Deno.remove(`${folder}/${name}`);
      }
      const at = (file: string) => `${folder}/${name}.${file}`;
      const outputs = ["csv", "ndjson"].map(at);
      if (permissions === undefined) outputs.push(at("db"));
      const args = ["scan", "127.37.0.0/23", "--append", ...outputs.flatMap((one) => ["-o", one])];
      const child = start([...args, "--status-file", at("s")], { permissions });
      await until(child, async () => JSON.parse(await text(at("s"))).written >= 5);
      const [loss, fate] = LOSSES[name];
      await loss(at(lost));
      const { code, stderr } = await finish(child);
      assertEquals(code, 1, stderr);
      assertStringIncludes(stderr, `\nblocksweep: Cannot write to "${at(lost)}": ${fate}`);
      assertEquals(stderr.match(/Cannot write|no longer/g)?.length, 1, stderr);
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
});

/** What a process that may be killed prints: whole rows of it. */
async function collect({ stdout, stderr }: Deno.ChildProcess) {
  const [rows, said] = await Promise.all([stdout, stderr].map((one) => new Response(one).text()));
  const ids = readNdjson(rows.slice(0, rows.lastIndexOf("\n") + 1)).map(serverId);
  return { ids, stderr: said };
}
