/** Commands whose standard output is a full device or is closed by its reader. */
import { DatabaseSync } from "node:sqlite";
import { assert, assertEquals, assertMatch, assertRejects, assertThrows } from "@std/assert";
import { EventPrinter } from "../../../src/cli/term/event_lines.ts";
import { COMMAND_NAMES } from "../../../src/app/options/commands.ts";
import { main } from "../../../src/cli/mod.ts";
import { drawFleet } from "../../../src/fleet/simulate/draw_fleet.ts";
import { openFleet } from "../../../src/fleet/simulate/open_fleet.ts";
import { WitnessLog } from "../../../src/fleet/witness_log.ts";
import { systemClock } from "../../../src/net/clock.ts";
import { WriteError } from "../../../src/sinks/sink.ts";
import { parseDatabaseLocation } from "../../../src/store/database_location.ts";
import { openStore } from "../../../src/store/open_store.ts";
import { StoreError } from "../../../src/store/database/database.ts";
import type { WatchEvent } from "../../../src/store/events/watch_event.ts";
import { FULL, withFault, withMessages } from "../failing_streams.ts";

const MESSAGE =
  "blocksweep: Cannot write to standard output: No space left on device (os error 28)\n";
const CLOSED = new Deno.errors.BrokenPipe("Broken pipe (os error 32)");
const ROW = JSON.stringify({
  ...{ schema: 1, host: "127.0.0.1", port: 7, protocol: "raknet", protocols: ["raknet"] },
  ...{ seen_at: 1, flags: [], extras: {} },
});

/** A database with one server, while the test runs. */
async function withList(test: (path: string) => Promise<void>): Promise<void> {
  const folder = await Deno.makeTempDir();
  try {
    await Deno.writeTextFile(`${folder}/x.ndjson`, `${ROW}\n`);
    assertEquals(await main(["import", `${folder}/x.db`, `${folder}/x.ndjson`, "-q"]), 0);
    await test(`${folder}/x.db`);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

Deno.test("a full device ends every command with one line and exit code 1", () =>
  withList(async (list) => {
    const lines = [
      ...["--help", "--version", "schema", "completions bash", "completions zsh"],
      ...COMMAND_NAMES.map((command) => `${command} --help`),
      ...["--dry-run", "-sL", "--echo-config"].map((option) => `scan 127.0.0.1 -q ${option}`),
      ...["", "--format csv", "--format table"].map((format) => `servers ${list} ${format}`),
      ...[`export ${list}`, `history ${list} 127.0.0.1`],
    ];
    for (const line of lines) {
      const run = () => main(line.split(" ").filter((word) => word !== ""));
      const full = await withMessages(() => withFault("stdout", FULL, run));
      assertEquals(full, [1, MESSAGE], line);
      const closed = await withMessages(() => withFault("stdout", CLOSED, run));
      assertEquals(closed, [1, ""], line); // a closed pipe is not an error: `| head` has read enough
    }
  }));

Deno.test("a scan whose reader closes the pipe ends quietly, and continues with other outputs", () =>
  withList(async (list) => {
    const folder = list.slice(0, -5);
    const hosts = drawFleet({
      ...{ servers: 5, range: { start: 0x7f340000, end: 0x7f340010 }, seed: 2 },
      software: ["pocketmine"],
    });
    await using _fleet = await openFleet(hosts, { clock: systemClock, seed: 1 });
    const scan = (...args: string[]) => () =>
      main([
        ...["scan", "127.52.0.0/28", "--protocol", "raknet", "--cooldown", "200ms"],
        ...["--timeout", "500ms", "--stats-every", "60s", ...args],
      ]);
    for (const format of ["csv", "ndjson", "json", "table"]) {
      const closed = await withMessages(() =>
        withFault("stdout", CLOSED, scan("--format", format))
      );
      assertEquals(closed, [1, ""], format);
    }
    const outputs = ["-o", "-", "-o", `${folder}/rows.ndjson`, "-o", `${folder}/rows.db`];
    const [code, text] = await withMessages(() => withFault("stdout", CLOSED, scan(...outputs)));
    assertEquals(code, 0, text);
    const files = ["rows.ndjson", "rows.db"].map((name) => `${folder}/${name}`).join(", ");
    assertMatch(text, new RegExp(`: 5 rows written to ${files}\n`));
    assertMatch(text, /^blocksweep: the reader of standard output closed it; .*\n/);
    const rows = (await Deno.readTextFile(`${folder}/rows.ndjson`)).trim().split("\n");
    using db = new DatabaseSync(`${folder}/rows.db`, { readOnly: true });
    const [{ known }] = db.prepare("select count(*) known from servers").all();
    assertEquals([rows.map((row) => JSON.parse(row).protocol), known], [
      Array(5).fill("raknet"),
      5,
    ]);
  }));

Deno.test("an export whose reader closes the pipe ends quietly, and continues with other outputs", () =>
  withList(async (list) => {
    const file = `${list}.csv`;
    const run = () => main(["export", list, "--format", "csv", "-o", "-", "-o", file]);
    const [code, text] = await withMessages(() => withFault("stdout", CLOSED, run));
    assertEquals(code, 0, text);
    assertMatch(text, /^blocksweep: the reader of standard output closed it; .*\n1 server of /);
    assertMatch(await Deno.readTextFile(file), /\n127\.0\.0\.1,7,raknet,/);
  }));

Deno.test("a full device ends a scan even if it has other outputs", () =>
  withList(async (list) => {
    const outputs = ["-o", "-", "-o", `${list}.ndjson`];
    const args = ["scan", "127.52.0.1", "--protocol", "raknet", "--cooldown", "200ms", ...outputs];
    // The header of a CSV file is written even without a row.
    const run = () => main([...args, "--format", "csv"]);
    const [code, text] = await withMessages(() => withFault("stdout", FULL, run));
    assertEquals([code, text.includes(MESSAGE)], [1, true], text);
  }));

Deno.test({
  name:
    "a scan continues when the reader of a named pipe closes it, and ends quietly without any reader (not on Windows)",
  ignore: Deno.build.os === "windows",
  fn: () =>
    withList(async (list) => {
      const folder = list.slice(0, -5);
      const [left, gate] = ["left", "gate"].map((name) => `${folder}/${name}`);
      await new Deno.Command("sh", { args: ["-c", `mkfifo ${left} ${gate}`] }).output();
      const plan = { servers: 5, range: { start: 0x7f340000, end: 0x7f340010 }, seed: 2 };
      const hosts = drawFleet({ ...plan, software: ["pocketmine"] });
      await using _fleet = await openFleet(hosts, { clock: systemClock, seed: 1 });
      const scan = (...paths: string[]) =>
        main([
          ...["scan", "127.52.0.0/28", "--protocol", "raknet", "--cooldown", "200ms"],
          ...["--format", "ndjson", ...paths.flatMap((path) => ["-o", path])],
        ]);
      const read = async () => {
        (await Deno.open(left)).close();
        // The scan opens this pipe after the other one, whose reader has closed it by then.
        return await Deno.readTextFile(gate);
      };
      const rows = `${folder}/rows.ndjson`;
      const [[code, text], taken] = await withMessages(() =>
        Promise.all([scan(left, gate, rows), read()])
      ).then(([[code, taken], text]) => [[code, text], taken] as const);
      assertEquals(code, 0, text);
      assertMatch(text, new RegExp(`: 5 rows written to ${gate}, ${rows}\n`));
      assertMatch(text, new RegExp(`blocksweep: the reader of "${left}" closed it; .*\n`));
      assertEquals(taken, await Deno.readTextFile(rows));
      assertEquals(taken.trim().split("\n").length, 5);
      const { write } = Deno.FsFile.prototype;
      const readers = Promise.all([Deno.open(left), Deno.open(gate)]);
      Deno.FsFile.prototype.write = () => Promise.reject(CLOSED);
      const ownLines = (text: string) => text.replace(/^blocksweep: waiting for .*\n/mg, "");
      const closed =
        `blocksweep: the reader of "${left}" closed it; rows go to the other outputs\n`;
      try {
        const [one, textOfOne] = await withMessages(() => scan(left));
        assertEquals([one, ownLines(textOfOne)], [1, ""]);
        const [two, textOfTwo] = await withMessages(() => scan(left, gate));
        assertEquals([two, ownLines(textOfTwo)], [1, closed]);
      } finally {
        Deno.FsFile.prototype.write = write;
        (await readers).forEach((reader) => reader.close());
      }
    }),
});

Deno.test("a database on a full device is a failure, in one line", () =>
  withList(async (list) => {
    const { exec } = DatabaseSync.prototype;
    DatabaseSync.prototype.exec = () => {
      throw new Error("database or disk is full");
    };
    try {
      const [code, text] = await withMessages(() => main(["prune", list, "--keep", "9d"]));
      const message = `blocksweep: Cannot open "${list}": database or disk is full\n`;
      assertEquals([code, text], [1, message]);
    } finally {
      DatabaseSync.prototype.exec = exec;
    }
  }));

Deno.test("a device that is full when a database is created is a failure, in one line", () =>
  withList(async (list) => {
    const { exec } = DatabaseSync.prototype;
    DatabaseSync.prototype.exec = function (sql) {
      if (sql.includes("create table")) throw new Error("database or disk is full");
      return exec.call(this, sql);
    };
    try {
      const around = {
        resolve: (path: string) => path,
        password: () => Promise.resolve(undefined),
      };
      const message = `Cannot open "${list}.db": database or disk is full`;
      await assertRejects(
        () => openStore(parseDatabaseLocation(`${list}.db`)!, around),
        StoreError,
        message,
      );
    } finally {
      DatabaseSync.prototype.exec = exec;
    }
  }));

Deno.test("a watch ends when its events cannot be printed", async () => {
  const event: WatchEvent = {
    ...{ event: "offline", at: 0, host: "127.0.0.1", port: 7, requested_as: null, misses: 3 },
  } as WatchEvent;
  await withFault("stdout", FULL, async () => {
    const printer = new EventPrinter(true);
    printer.add(event);
    await assertRejects(() => printer.printed(), WriteError, "Cannot write to standard output");
    assert(printer.signal.aborted);
  });
});

Deno.test("a fleet whose log cannot be written ends with a message", async () => {
  const path = await Deno.makeTempFile();
  const { writeSync } = Deno.FsFile.prototype;
  Deno.FsFile.prototype.writeSync = () => {
    throw FULL;
  };
  try {
    const witness = new WitnessLog(path);
    const endpoint = { address: 0x7f000001, port: 7 };
    for (let i = 0; i < 3000; i++) {
      witness.note(i, "in", endpoint, endpoint, new Uint8Array(64), false);
    }
    assertEquals(witness.failed.aborted, true); // no handler of datagrams threw an error
    assertThrows(
      () => witness[Symbol.dispose](),
      WriteError,
      `Cannot write to "${path}": No space`,
    );
  } finally {
    Deno.FsFile.prototype.writeSync = writeSync;
    await Deno.remove(path);
  }
});
