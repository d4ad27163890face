/** Covers src/app/databases/. */
import { assertEquals, assertStringIncludes } from "@std/assert";
import { DatabaseSync } from "node:sqlite";
import { formatConfig } from "../../../src/app/options/config_file.ts";
import { readArgs } from "../../../src/cli/options/parse_arguments.ts";
import { readCommandLine, readOptions } from "../../cli/command_line.ts";
import { connectionEnvironment } from "../../../src/app/options/connection_environment.ts";
import { planDatabases } from "../../../src/app/databases/database_plan.ts";
import { ScanDatabases } from "../../../src/app/scan/scan_databases.ts";
import { endRow, progressNumbers } from "../../../src/app/scan/scan_rows.ts";
import { onInterrupt } from "../../../src/app/interrupt_signals.ts";
import { WatchDatabases } from "../../../src/app/watch/watch_databases.ts";
import { drawFleet } from "../../../src/fleet/simulate/draw_fleet.ts";
import { openFleet } from "../../../src/fleet/simulate/open_fleet.ts";
import { readNdjson } from "../../../src/fleet/judge/verify_rows.ts";
import { systemClock } from "../../../src/net/clock.ts";
import { PROTOCOLS } from "../../../src/protocols/list.ts";
import { FIELDS, serverId, type ServerRecord } from "../../../src/core/record.ts";
import { selectionFor } from "../../scan/scan_harness.ts";
import type { ScanEnd } from "../../../src/scan/setup/scan_setup.ts";
import { type EndReason, newState } from "../../../src/scan/setup/scan_state.ts";
import { storable } from "../../../src/store/rows/stored_values.ts";
import { openSqlite } from "../../../src/store/database/sqlite.ts";
import { compose } from "../../../src/targets/compose.ts";
import { all, storedServers } from "../../store/databases.ts";
import { record, scanId, watchId } from "../../store/records.ts";
import { finish, PrintedText, run, start } from "../../cli/program.ts";
import { longTest } from "../../long.ts";

const RANGE = "127.34.0.0/26";
const FLEET = { servers: 30, hostile: 5, range: { start: 0x7f220000, end: 0x7f220040 }, seed: 8 };
const QUICK = ["--cooldown", "200ms", "--timeout", "2s"];

/** The rows of a database, in the order of their ids. */
async function listOf(path: string) {
  await using database = openSqlite(path, { readOnly: true });
  return await storedServers(database);
}

/** The fields of a record, as a database stores them. */
function fieldsOf(record: ServerRecord): unknown[] {
  return FIELDS.map(({ name }) => {
    const value = record[name];
    return typeof value === "string" ? storable(value) : value;
  });
}

Deno.test("a scan writes the same rows to a database and a file; a server that stops replying stays, and goes offline", async () => {
  const folder = await Deno.makeTempDir();
  try {
    const [list, file] = [`${folder}/a.db`, `${folder}/a.ndjson`];
    {
      await using _fleet = await openFleet(drawFleet(FLEET), { clock: systemClock, seed: 1 });
      const first = await run(["scan", RANGE, ...QUICK, "-o", list, "-o", file]);
      assertEquals(first.code, 0, first.stderr);
      assertStringIncludes(first.stderr, `${folder}/a.db`);
    }
    const rows = readNdjson(await Deno.readTextFile(file));
    const stored = await listOf(list);
    const sorted = rows.toSorted((a, b) => serverId(a) < serverId(b) ? -1 : 1);
    assertEquals(rows.length, 30);
    assertEquals(stored.map(fieldsOf), sorted.map(fieldsOf));
    assertEquals(stored.every(({ online, missed_scans: missed }) => online && missed === 0), true);

    {
      await using database = openSqlite(list, { readOnly: true });
      const icons = await all(database, "select hash, hex(data) as data from favicons");
      assertEquals(
        new Set(icons.map(({ hash }) => hash)),
        new Set(
          rows.filter(({ extras }) => Number(extras?.slp?.favicon_size ?? Infinity) <= 65_536)
            .map((row) => row.favicon_hash),
        ),
      );
      for (const { hash, data } of icons) {
        const digest = await crypto.subtle.digest("SHA-256", Uint8Array.fromHex(String(data)));
        assertEquals(new Uint8Array(digest).toHex(), hash);
      }
      const replies = await all(
        database,
        "select key || ' ' || replies.protocol as id from replies join servers on id = server",
      );
      assertEquals(
        new Set(replies.map(({ id }) => id)),
        new Set(rows.flatMap((row) => row.protocols.map((name) => `${serverId(row)} ${name}`))),
      );
    }

    const second = await run(["scan", RANGE, ...QUICK, "--down-after", "2", "-o", list]);
    assertEquals([second.code, second.stdout], [0, ""]);
    assertStringIncludes(second.stderr, "a.db: 30 known servers did not reply");
    const part = await run([
      "scan",
      "127.34.0.0/27",
      ...QUICK,
      "-q",
      "--down-after",
      "2",
      "-o",
      list,
    ]);
    assertEquals([part.code, part.stderr], [0, ""]);
    const now = await listOf(list);
    assertEquals(now.length, 30);
    for (const { host, online, missed_scans: missed, motd } of now) {
      const twice = Number(host.split(".")[3]) < 32;
      assertEquals([online, missed], [!twice, twice ? 2 : 1], host);
      assertEquals(motd, stored.find((row) => row.host === host)!.motd);
    }

    const known = await run(["scan", "--rescan", list, ...QUICK, "-q", "-o", list]);
    assertEquals([known.code, known.stderr], [0, ""]);
    await using database = openSqlite(list, { readOnly: true });
    const inPart = now.filter(({ missed_scans: missed }) => missed === 2).length;
    const scans = await all(database, "select members from scans order by id");
    const none = { found: 0, new: 0, back: 0, changed: 0, missed: 0, lost: 0 };
    const counts = scans.map(({ members }) => JSON.parse(String(members)));
    assertEquals(counts, [
      { ...none, found: 30, new: 30 },
      { ...none, missed: 30, lost: 30 },
      { ...none, missed: inPart }, // the others were not asked
      { ...none, missed: 30 },
    ]);
    const events = await all(
      database,
      "select kind, count(*) as n from events where kind <> 'offline' group by kind order by kind",
    );
    assertEquals(events, [{ kind: "lost", n: 30 }, { kind: "scan_summary", n: 1 }]);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

Deno.test("a scan judges the numbers of players, at most once a day", async () => {
  const folder = await Deno.makeTempDir();
  try {
    const list = `${folder}/a.db`;
    await using _fleet = await openFleet(drawFleet(FLEET), { clock: systemClock, seed: 1 });
    const scan = async () => {
      const { code, stderr } = await run(["scan", RANGE, ...QUICK, "-q", "-o", list]);
      assertEquals([code, stderr], [0, ""]);
    };
    await scan();
    const flagged = async (change: string, ...values: number[]) => {
      await using database = openSqlite(list);
      await database.run(change, values);
      return await all(
        database,
        "select server from server_flags where flag = 'playersAboveSlots'",
      );
    };
    const now = Date.now();
    await flagged(
      "insert into observations (at, server, scan, players_online, players_max, online, content) " +
        "with recursive hours(i) as (select 1 union all select i + 1 from hours where i < 10) " +
        "select ? - i * 3600000, 1, 1, 49999, 500, 1, x'00' from hours",
      now,
    );
    await scan();
    assertEquals(await flagged("update rollup_state set judged_at = ?", now - 2 * 86_400_000), []);
    await scan();
    assertEquals((await flagged("select 1")).length, 1);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

Deno.test("an unusable database ends a scan before its first probe, and before a file is truncated", async () => {
  const folder = await Deno.makeTempDir();
  try {
    await Deno.writeTextFile(`${folder}/rows.csv`, "precious");
    await Deno.writeTextFile(`${folder}/bad.db`, "no database. ".repeat(100));
    const scan = (...outputs: string[]) =>
      run(["scan", "127.0.0.1", ...QUICK, ...outputs.flatMap((one) => ["-o", one])]);
    const bad = await scan(`${folder}/rows.csv`, `sqlite:${folder}/bad.db`);
    assertEquals([bad.code, bad.stdout], [2, ""]);
    assertStringIncludes(
      bad.stderr,
      `Cannot open "${folder}/bad.db": it is not an SQLite database`,
    );
    assertEquals(await Deno.readTextFile(`${folder}/rows.csv`), "precious");
    const twice = await scan(`${folder}/a.db`, `sqlite:${folder}/a.db`);
    assertStringIncludes(twice.stderr, "Cannot write two outputs to");
    const down = await run(["scan", "127.0.0.1", "--down-after", "0", "-o", `${folder}/a.db`]);
    assertStringIncludes(down.stderr, 'Cannot use --down-after "0"');
    const plan = await run(["scan", "127.0.0.1", "--dry-run", "-o", `${folder}/a.db`]);
    assertStringIncludes(plan.stdout, `${folder}/a.db (sqlite)`);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

longTest(
  "a database that another program locks during a scan gets every row exactly once",
  async () => {
    const folder = await Deno.makeTempDir();
    try {
      const [list, file] = [`${folder}/a.db`, `${folder}/a.ndjson`];
      await using _fleet = await openFleet(drawFleet({ ...FLEET, hostile: 0 }), {
        ...{ clock: systemClock, seed: 1 },
      });
      const child = start(["scan", RANGE, ...QUICK, "--rate", "100", "-o", list, "-o", file]);
      let ended = false;
      const finished = finish(child).finally(() => ended = true);
      const lines = async () =>
        (await Deno.readTextFile(file).catch(() => "")).split("\n").length - 1;
      const untilRows = async (count: number) => {
        while (!ended && await lines() < count) await new Promise((go) => setTimeout(go, 20));
      };
      await untilRows(4);
      using other = new DatabaseSync(list);
      other.exec("pragma busy_timeout = 1000; begin immediate");
      await untilRows(await lines() + 8);
      other.exec("commit");
      const { code, stderr } = await finished;
      assertEquals(code, 0, stderr);
      assertStringIncludes(
        stderr,
        "is unavailable (another program is writing to it): rows are kept in",
      );
      assertStringIncludes(stderr, `blocksweep: "${list}" is available again: `);
      const rows = readNdjson(await Deno.readTextFile(file)).map(serverId).toSorted();
      const stored = await listOf(list);
      assertEquals([stored.map(serverId).toSorted(), rows.length], [rows, 30]);
      const [{ n }] = other.prepare("select count(*) as n from observations").all();
      assertEquals(n, 30);
      const left = (await Array.fromAsync(Deno.readDir(folder))).map(({ name }) => name);
      assertEquals(left.filter((name) => name.startsWith("spill")), []);
    } finally {
      await Deno.remove(folder, { recursive: true });
    }
  },
);

longTest(
  "a database that is locked when a command starts ends the command before anything is sent or truncated",
  async () => {
    const folder = await Deno.makeTempDir();
    try {
      const list = `${folder}/a.db`;
      await Deno.writeTextFile(`${folder}/a.csv`, "127.0.0.1:5\n");
      assertEquals((await run(["import", list, `${folder}/a.csv`])).code, 0);
      using other = new DatabaseSync(list);
      other.exec("begin immediate");
      const commands = [
        ["scan", "127.0.0.1", "-o", list, "-o", `${folder}/a.csv`],
        ["import", list, `${folder}/a.csv`],
        ["prune", list, "--keep", "9d"],
      ];
      const results = await Promise.all(commands.map((args) => run(args)));
      for (const [i, { code, stderr, stdout }] of results.entries()) {
        const error = `blocksweep: Cannot open "${list}": another program is writing to it\n`;
        assertEquals([code, stderr, stdout], [2, error, ""], commands[i].join(" "));
      }
      assertEquals(await Deno.readTextFile(`${folder}/a.csv`), "127.0.0.1:5\n");
    } finally {
      await Deno.remove(folder, { recursive: true });
    }
  },
);

Deno.test("Ctrl-C while another program keeps a database locked ends a scan as interrupted", async () => {
  const folder = await Deno.makeTempDir();
  const unresponsive = Deno.listenDatagram({
    transport: "udp",
    hostname: "127.46.0.2",
    port: 19132,
  });
  try {
    const list = `${folder}/a.db`;
    const child = start(["scan", "127.46.0.2", "--protocol", "raknet", "-o", list]);
    const ended = finish(child);
    await Promise.race([unresponsive.receive(), ended]); // by now the database is open
    using other = new DatabaseSync(list);
    other.exec("pragma busy_timeout = 1000; begin immediate");
    child.kill("SIGINT");
    const { code, stderr } = await ended;
    assertEquals([code, /^interrupted in /m.test(stderr)], [130, true], stderr);
    assertStringIncludes(stderr, "all rows were written, but not the end of the scan");
    assertStringIncludes(stderr, `scan --resume ${list}.checkpoint`);
  } finally {
    unresponsive.close();
    await Deno.remove(folder, { recursive: true });
  }
});

Deno.test("the end of a scan is recorded in every database, even if another program has locked one", async () => {
  const folder = await Deno.makeTempDir();
  const unresponsive = Deno.listenDatagram({
    transport: "udp",
    hostname: "127.46.0.4",
    port: 19132,
  });
  try {
    const lists = ["a", "b"].map((name) => `${folder}/${name}.db`);
    const outputs = lists.flatMap((list) => ["-o", list]);
    const child = start(["scan", "127.46.0.4", "--protocol", "raknet", ...outputs]);
    const ended = finish(child);
    await Promise.race([unresponsive.receive(), ended]); // by now the databases are open
    using other = new DatabaseSync(lists[0]);
    other.exec("pragma busy_timeout = 1000; begin immediate");
    child.kill("SIGINT");
    const { stderr } = await ended;
    assertStringIncludes(stderr, `Cannot write to "${lists[0]}"`);
    using second = new DatabaseSync(lists[1]);
    const states = second.prepare("select state from scans").all().map(({ state }) => state);
    assertEquals(states, ["interrupted"], stderr);
  } finally {
    unresponsive.close();
    await Deno.remove(folder, { recursive: true });
  }
});

Deno.test("a watch waits for a database that is locked when it starts, and Ctrl-C ends the wait", async () => {
  const folder = await Deno.makeTempDir();
  try {
    const list = `${folder}/a.db`;
    await Deno.writeTextFile(`${folder}/a.csv`, "127.46.0.1:5\n");
    assertEquals((await run(["import", list, `${folder}/a.csv`])).code, 0);
    using other = new DatabaseSync(list);
    for (const freed of [false, true]) {
      other.exec("begin immediate");
      const child = start(["watch", list]);
      const printed = new PrintedText(child);
      await printed.until("waiting until the lock is released");
      if (freed) {
        other.exec("commit");
        await printed.until("watching 1 endpoint");
      }
      child.kill("SIGINT");
      const stderr = await printed.rest();
      await child.stdout.cancel();
      assertEquals((await child.status).code, 130, stderr);
      assertEquals(stderr.includes("Cannot"), false, stderr);
      if (other.isTransaction) other.exec("commit");
    }
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

Deno.test("the end of a watch is recorded in every database, even if another program has locked one", async () => {
  const folder = await Deno.makeTempDir();
  try {
    const paths = ["a", "b"].map((name) => `${folder}/${name}.db`);
    const args = ["127.0.0.1:1", ...paths.flatMap((path) => ["-o", path])];
    const { words, options, given } = readCommandLine("watch", args);
    const rules = {
      intervalMs: 60_000,
      downAfter: 3,
      scanId: watchId(1),
      newEventId: () => "event",
      allProtocols: PROTOCOLS,
    };
    await using lists = await WatchDatabases.open({ ...options, words }, rules, {
      warn: () => {},
      listenForInterrupt: () => onInterrupt(() => {}),
      clock: systemClock,
    });
    await lists.openOutputs();
    await lists.begin(formatConfig("watch", given));
    using other = new DatabaseSync(paths[0]);
    other.exec("begin immediate");
    assertEquals(await lists.end(), [
      `blocksweep: Cannot write to "${paths[0]}": another program is writing to it`,
    ]);
    other.exec("commit");
    await using database = openSqlite(paths[1], { readOnly: true });
    assertEquals(await all(database, "select state from scans"), [{ state: "finished" }]);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

/**
 * Ends a scan of one known server without a row. Returns the number of the server's missed scans.
 *
 * @param flooding Hosts that flooded.
 */
async function missedAfter(
  path: string,
  reason: EndReason,
  flooding: readonly string[] = [],
): Promise<unknown> {
  const values = readArgs("scan", ["127.0.0.1", "-o", path]);
  const protocols = PROTOCOLS.filter(({ name }) => name === "raknet");
  const addresses = compose([{ range: { start: 0x7f000001, end: 0x7f000002 }, port: undefined }], {
    ...{ never: [], private: [], chosen: [] },
  });
  const selection = selectionFor({ addresses, protocols, ports: () => [9] });
  const scope = { allProtocols: PROTOCOLS, protocols: ["raknet"], follow: true, verify: false };
  const plan = planDatabases(readOptions("scan", values));
  await using stores = await ScanDatabases.open(plan, {
    spill: `${path}.spill`,
    report: () => {},
    scope,
    environment: connectionEnvironment(() => {}),
    clock: systemClock,
  });
  await stores.begin({ id: scanId(2), at: 2000, config: formatConfig("scan", values) });
  const state = newState(scanId(2), 0);
  state.floods.addresses.push(...flooding);
  await stores.end(
    endRow(state, { reason } as ScanEnd, { since: 2000, selection, resumed: false }),
  );
  await using database = openSqlite(path, { readOnly: true });
  return (await all(database, "select missed_scans from server_state"))[0].missed_scans;
}

Deno.test("a scan that was short of descriptors, or flooded, counts no failures of known servers", async () => {
  const folder = await Deno.makeTempDir();
  try {
    const path = `${folder}/a.db`;
    const plan = planDatabases(readCommandLine("scan", ["127.0.0.1", "-o", path]).options);
    const scope = { allProtocols: PROTOCOLS, protocols: ["raknet"], follow: true, verify: false };
    {
      await using stores = await ScanDatabases.open(plan, {
        spill: `${path}.spill`,
        report: () => {},
        scope,
        environment: connectionEnvironment(() => {}),
        clock: systemClock,
      });
      const [sink] = stores.sinks;
      await stores.begin({ id: scanId(1), at: 1000, config: "{}" });
      await sink.write([record(9)]);
      await sink.flush();
    }
    assertEquals(await missedAfter(path, "incomplete"), 0);
    {
      await using database = openSqlite(path, { readOnly: true });
      const [scan] = await all(database, `select state from scans where uuid = '${scanId(2)}'`);
      assertEquals(scan.state, "interrupted"); // the scan can be resumed
    }
    assertEquals(await missedAfter(path, "done", ["127.0.0.1"]), 0);
    assertEquals(await missedAfter(path, "done"), 1);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

Deno.test("the replies of a scan are all datagrams, and the valid replies over TCP", () => {
  const state = newState(scanId(1), 0);
  state.tcp.counts.valid = 2;
  state.tcp.counts.invalid = 7;
  state.tcp.sent = 9;
  state.replies.valid = 3;
  state.replies.forged = 4;
  const { replies, probesSent } = progressNumbers(state);
  assertEquals([replies, probesSent], [9, 9]);
});
