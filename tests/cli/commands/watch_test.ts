/** Covers src/cli/commands/watch/watch.ts, src/cli/term/event_lines.ts and src/cli/term/watch_summary.ts. */
import { DatabaseSync } from "node:sqlite";
import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { formatEndpoint } from "../../../src/core/address.ts";
import { eventLine, EventPrinter } from "../../../src/cli/term/event_lines.ts";
import { displayWidth } from "../../../src/core/display_width.ts";
import { drawFleet } from "../../../src/fleet/simulate/draw_fleet.ts";
import { openFleet } from "../../../src/fleet/simulate/open_fleet.ts";
import { systemClock } from "../../../src/net/clock.ts";
import { emptyRecord } from "../../../src/core/record.ts";
import { createTables } from "../../../src/store/schema/create_tables.ts";
import { writeOptOuts } from "../../../src/store/writers/opt_outs.ts";
import { openSqlite } from "../../../src/store/database/sqlite.ts";
import type { WatchEvent } from "../../../src/store/events/watch_event.ts";
import { newWatchCounts } from "../../../src/watch/watch.ts";
import { watchSummary } from "../../../src/cli/term/watch_summary.ts";
import { SEEN, STATES } from "../../store/databases.ts";
import { PrintedText, run, start, until } from "../program.ts";

const COMMON = {
  ...{ at: 3_723_000, host: "127.0.0.1", port: 19132, requested_as: null, scan_id: "s" },
  ...{ id: "e", name: null },
};

Deno.test("events are printed as lines, with servers' text escaped", () => {
  const server = {
    ...emptyRecord({ address: 0x7f000001, port: 19132 }, 5),
    ...{ name: "evil\u001b[2J\nname", players_online: 3, players_max: 20, version: "1.21" },
  };
  const lines = ([
    { ...COMMON, event: "online", server, offline_ms: 90_000 },
    { ...COMMON, event: "offline", misses: 1, replied_at: null, requested_as: "a.example" },
    { ...COMMON, event: "changed", changes: { motd: ["a", null], players_max: [20, 30] } },
    { ...COMMON, event: "players", players_online: [2, 3], joined: ["Ann", "Bob"], left: ["Eve"] },
    { ...COMMON, event: "restarted", guid: ["1", "2"] },
  ] as WatchEvent[]).map((event) => eventLine(event));
  assertEquals(lines.slice(1), [
    "01:02:03Z  offline    127.0.0.1:19132 (a.example)  no reply to 1 poll",
    "01:02:03Z  changed    127.0.0.1:19132        motd a -> none, players_max 20 -> 30",
    "01:02:03Z  players    127.0.0.1:19132        2 -> 3 +Ann +Bob -Eve",
    "01:02:03Z  restarted  127.0.0.1:19132        GUID 1 -> 2",
  ]);
  assertEquals(
    lines[0].split(/ +/).slice(0, 5).join(" "),
    "01:02:03Z online 127.0.0.1:19132 3/20 1.21",
  );
  assert(lines[0].endsWith(" after 90 s"), lines[0]);
  assert(!/\p{Cc}/u.test(lines[0]), lines[0]);
});

Deno.test("the summary counts one of each in the singular", () => {
  const counts = { ...newWatchCounts(), polls: 1, replied: 1, events: 1 };
  assertEquals(
    watchSummary(1, 1, counts),
    "1 of 1 endpoint online; 1 poll, 1 with a reply; 1 event",
  );
});

/**
 * Characters that must not be written to a terminal unescaped: controls, separators, bidi controls.
 */
const RAW = "\u009b31m\u0090x\u009c\u0085\u007f\u202e\u2066\u200f\u061c\u2028\u2029\u001b";

Deno.test("events as JSON escape terminal control characters, and lose no data", async () => {
  const lines: string[] = [];
  const printer = new EventPrinter(true, (line) => Promise.resolve(void lines.push(line)));
  const event: WatchEvent = { ...COMMON, event: "changed", changes: { motd: [RAW, [RAW]] } };
  printer.add(event);
  await printer.printed();
  assertEquals(lines.map((line) => JSON.parse(line)), [{ schema: 1, ...event }]);
  assert(/^[ -~]+$/.test(lines[0]), lines[0]);
});

Deno.test("no server's text breaks the line of an event, or imitates another event", () => {
  const forged = `${" ".repeat(60)}01:02:03Z  offline    127.0.0.1:1  no answer`;
  const texts = [
    ...["x".repeat(30_000), "本".repeat(30_000), "e\u0301".repeat(9000), forged, RAW.repeat(99)],
    ...[forged.replaceAll(" ", "\u2800"), forged.replaceAll(" ", "\u3000"), `\n${forged}`],
    ...[`e${"\u0301".repeat(1380)}`, forged.replaceAll(" ", "\u3164"), "\u0915\u093e".repeat(200)],
  ];
  for (const text of texts) {
    const server = { ...emptyRecord({ address: 1, port: 1 }, 5), name: text, version: text };
    const reported = { ...COMMON, requested_as: text };
    const events = [
      { ...COMMON, event: "online", server, offline_ms: null },
      { ...reported, event: "offline", misses: 3, replied_at: null },
      { ...COMMON, event: "changed", changes: { motd: [text, text], plugins: [null, [text]] } },
      { ...COMMON, event: "players", players_online: [1, 2], joined: [text, text], left: [text] },
      { ...COMMON, event: "restarted", guid: [text, text] },
    ] as WatchEvent[];
    for (const event of events) {
      for (const columns of [20, 80, 132, 5000]) {
        const line = eventLine(event, columns);
        assert(displayWidth(line) <= Math.min(columns, 300), `${columns}: ${line}`);
        assert(!/\p{Cc}|\p{Bidi_Control}|[\u2028\u2029]/u.test(line), line);
        assert(!/\p{M}{5}/u.test(line), line);
        assertEquals(line.match(/\dZ\s{2}/g), columns < 11 ? null : ["3Z  "], line);
      }
    }
  }
});

Deno.test("watch reports servers of a file and of the command line, until Ctrl-C", async () => {
  const folder = await Deno.makeTempDir();
  try {
    const range = { start: 0x7f2c0000, end: 0x7f2c0100 };
    const hosts = drawFleet({ servers: 3, range, seed: 2, software: ["pocketmine"] });
    await using _fleet = await openFleet(hosts, { clock: systemClock, seed: 1 });
    const [first, second, third] = hosts.map(({ endpoint }) => formatEndpoint(endpoint));
    await Deno.writeTextFile(`${folder}/list.txt`, `${first}\n${second} # twice\n${first}\n`);
    const shy = ["127.44.7.7:19132", "127.44.7.8:19132"];
    await Deno.writeTextFile(`${folder}/list.txt`, `${shy[0]}\n`, { append: true });
    await Deno.writeTextFile(`${folder}/out.txt`, "127.44.7.0/24\n");
    const args = [
      ...["watch", `${folder}/list.txt`, third, shy[1], "--interval", "5s", "--protocol", "raknet"],
      ...["--opt-out-file", `${folder}/out.txt`],
    ];
    const permissions = ["--allow-net", `--allow-read=${folder}`, "--allow-env=INIT_CWD"];
    const child = start(args, { permissions });
    const reported = child.stderr.pipeThrough(new TextDecoderStream());
    const output = Array.fromAsync(reported).then((parts) => parts.join(""));
    let stdout = "";
    for await (const part of child.stdout.pipeThrough(new TextDecoderStream())) {
      stdout += part;
      if (stdout.split("\n").length > 3) child.kill("SIGINT");
    }
    const [{ code }, stderr] = await Promise.all([child.status, output]);
    assertEquals(code, 130, stderr); // the exit code of every command that Ctrl-C ends
    const events = stdout.trim().split("\n").map((line) => JSON.parse(line));
    assertEquals(
      events.map(({ event, schema }) => `${event} ${schema}`),
      Array(3).fill("online 1"),
    );
    assertEquals(
      events.map(({ host, port }) => `${host}:${port}`).toSorted(),
      [first, second, third].toSorted(),
    );
    assert(events.every(({ server }) => server.players === null));
    assertStringIncludes(stderr, "2 servers opted out and not watched");
    assertStringIncludes(stderr, "watching 3 endpoints, polled every 5 s");
    assertMatch(stderr, /3 of 3 endpoints online; 3 polls, 3 with a reply; 3 events/);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

for (
  const [args, message] of [
    [[], "Cannot watch: name servers"],
    [["127.0.0.1", "--interval", "4s"], "it must be at least 5s"],
    [["127.0.0.1", "--down-after", "0"], "a whole number from 1 to 100"],
    [["127.0.0.1", "--webhook", "ftp://x"], "a URL that starts with http: or https:"],
    [["no/such/file.ndjson"], 'Cannot read "no/such/file.ndjson"'],
    [["224.0.0.1:19132"], "never probed"],
    [["127.0.0.1", "--metrics", "0.0.0.0:9150", "--probe"], "without a token"],
    [["127.0.0.1", "--metrics", "9150", "--probe", "--probe-allow", "10.0.0.0/99"], "the prefix"],
    [["127.0.0.1", "--metrics-info"], "Cannot use --metrics-info without --metrics"],
    [["10.0.0.0/8"], "it is a range"],
  ] as const
) {
  Deno.test(`watch refuses ${args.join(" ") || "nothing"}`, async () => {
    const { code, stdout, stderr } = await run(["watch", ...args]);
    assertEquals([code, stdout], [2, ""]);
    assertStringIncludes(stderr, message);
  });
}

Deno.test("an address without a port is watched at each usual port, and all of these are counted", async () => {
  const child = start(["watch", "127.44.9.9", "--interval", "5s"]);
  const printed = new PrintedText(child);
  await printed.until("watching");
  child.kill("SIGINT");
  const stderr = await printed.rest();
  await child.stdout.cancel();
  assertEquals((await child.status).code, 130, stderr);
  assertStringIncludes(stderr, "watching 2 endpoints, polled every 5 s");
  assertStringIncludes(stderr, "0 of 2 endpoints online");
});

Deno.test("a watched database is kept up to date, and only later changes are reported", async () => {
  const folder = await Deno.makeTempDir();
  try {
    const range = { start: 0x7f2c0000, end: 0x7f2c0100 };
    const hosts = drawFleet({ servers: 6, range, seed: 2, software: ["pocketmine"] });
    await using _fleet = await openFleet(hosts, { clock: systemClock, seed: 1 });
    const list = `${folder}/a.db`;
    const QUICK = ["--cooldown", "200ms", "--timeout", "500ms", "-q"];
    await run(["scan", "127.44.0.0/24", "--protocol", "raknet,query", ...QUICK, "-o", list]);
    const [dead, back] = ["127.44.9.9:19132", formatEndpoint(hosts[2].endpoint)];
    {
      using db = new DatabaseSync(list);
      const change = (sql: string) => db.exec(sql);
      change("update server_state set probed_at = probed_at - 60000");
      const state = "update server_state set online = 0, missed_scans = 3 where server = ";
      change(`${state} (select id from servers where key = '${back}')`);
      const columnsOf = (table: string) =>
        db.prepare(`select name from pragma_table_info('${table}')`).all()
          .map(({ name }) => String(name)).join(", ");
      const [columns, states] = ["servers", "server_state"].map(columnsOf);
      change("create temp table one as select * from servers limit 1");
      change("create temp table two as select * from server_state limit 1");
      for (const [i, host] of ["127.44.9.9", "127.44.8.8"].entries()) {
        change(`update one set id = ${900 + i}, key = '${host}:19132', address = '${host}'`);
        change(`update two set server = ${900 + i}, missed_scans = 2, online = 1`);
        change(`insert into servers (${columns}) select ${columns} from one`);
        change(`insert into server_state (${states}) select ${states} from two`);
      }
    }
    const permissions = [
      ...["--allow-net", `--allow-read=${folder}`, `--allow-write=${folder}`],
      "--allow-env=INIT_CWD,HOME",
    ];
    await Deno.writeTextFile(`${folder}/out.txt`, "127.44.8.0/24\n");
    const options = ["--interval", "5s", "--timeout", "300ms", "--opt-out-file"];
    const child = start(["watch", list, ...options, `${folder}/out.txt`], { permissions });
    const output = new Response(child.stderr).text();
    let [stdout, ended] = ["", false];
    for await (const part of child.stdout.pipeThrough(new TextDecoderStream())) {
      stdout += part;
      if (stdout.split("\n").length > 2 && !ended) {
        ended = true; // a second signal would end the watch at once
        child.kill("SIGINT");
      }
    }
    const [{ code }, stderr] = await Promise.all([child.status, output]);
    assertEquals(code, 130, stderr); // the exit code of every command that Ctrl-C ends
    const events = stdout.trim().split("\n").map((line) => JSON.parse(line));
    assertEquals(
      events.map(({ event, host, port }) => `${event} ${host}:${port}`).toSorted(),
      [`offline ${dead}`, `online ${back}`],
    );
    assertStringIncludes(stderr, "1 server opted out and not watched");
    assertStringIncludes(stderr, "6 of 7 endpoints online");
    using db = new DatabaseSync(list);
    const all = (sql: string) => db.prepare(sql).all().map((row) => ({ ...row }));
    assertEquals(all(`select id from ${STATES} where online = 0`), [{
      id: dead,
    }]);
    assertEquals(all(`select missed_scans from ${STATES} where host = '127.44.8.8'`), [{
      missed_scans: 2,
    }]);
    assertEquals(
      all("select kind, state, found from scans where kind = 'watch'"),
      [{ kind: "watch", state: "finished", found: 6 }],
    );
    const [{ n, online }] = all(
      `select count(*) as n, sum(online) as online from ${SEEN} where kind = 'watch'`,
    );
    assertEquals(Number(n) - Number(online), 1);
    // One of each server that replied, and one at the end with the polls since.
    assert(Number(online) >= 1 && Number(online) <= 12, String(online));
    // Without --names the watch leaves the names of the scan, with their times.
    const named = all(
      "select p.seen_at < t.replied_at as is_earlier from server_state t " +
        "join server_players p on p.server = t.server " +
        "where t.scan in (select id from scans where kind = 'watch')",
    );
    assert(named.length > 0 && named.every(({ is_earlier: isEarlier }) => isEarlier === 1));
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

Deno.test("a server that opts out is marked in the database, and not watched again", async () => {
  const folder = await Deno.makeTempDir();
  try {
    const range = { start: 0x7f580000, end: 0x7f580010 };
    const [bds, shy] = ["bds", "bdsOptedOut"].map((name) =>
      drawFleet({ servers: 1, range, seed: 2, software: [name] })[0]
    );
    const id = formatEndpoint(bds.endpoint);
    const list = `${folder}/a.db`;
    const options = ["--opt-out-file", `${folder}/out.txt`];
    const permissions = [
      ...["--allow-net", `--allow-read=${folder}`, `--allow-write=${folder}`],
      "--allow-env=INIT_CWD,HOME",
    ];
    {
      await using _fleet = await openFleet([bds], { clock: systemClock, seed: 1 });
      const quick = ["--cooldown", "200ms", "-q", "-o", list, ...options];
      await run(["scan", id, "--protocol", "raknet", ...quick]);
    }
    await using _fleet = await openFleet([{ ...shy, endpoint: bds.endpoint }], {
      clock: systemClock,
      seed: 1,
    });
    const child = start(["watch", list, "--interval", "5s", ...options], { permissions });
    const output = new Response(child.stderr).text();
    let stdout = "";
    for await (const part of child.stdout.pipeThrough(new TextDecoderStream())) {
      stdout += part;
      child.kill("SIGINT");
    }
    const [{ code }, stderr] = await Promise.all([child.status, output]);
    assertEquals([code, JSON.parse(stdout).event], [130, "opted_out"], stderr);
    {
      using db = new DatabaseSync(list);
      const marked = db.prepare("select address from opt_outs").all()
        .map(({ address }) => address);
      assertEquals(marked, [id.split(":")[0]]);
    }
    const again = await run(["watch", list, ...options]);
    assertEquals(again.code, 2);
    assertStringIncludes(again.stderr, "there is no server that may be polled");
    const named = await run(["watch", id, "-o", list, ...options]);
    assertEquals(named.code, 2);
    assertStringIncludes(named.stderr, "Cannot watch: every named server opted out");
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

/** Whether a program has a SQLite file open. While it has, the write-ahead log exists. */
function isOpen(list: string): boolean {
  try {
    return Deno.statSync(`${list}-wal`).isFile;
  } catch {
    return false;
  }
}

Deno.test("a watch whose database is locked at its start is recorded when the lock is released", async () => {
  const folder = await Deno.makeTempDir();
  try {
    const range = { start: 0x7f590000, end: 0x7f590010 };
    const hosts = drawFleet({ servers: 1, range, seed: 2, software: ["pocketmine"] });
    await using _fleet = await openFleet(hosts, { clock: systemClock, seed: 1 });
    const list = `${folder}/a.db`;
    {
      await using made = openSqlite(list);
      await createTables(made);
    }
    const child = start(["watch", list, "-iL", "-", "--interval", "5s"], { stdin: "" });
    let looks = 0; // the watch then checks the version of the file, which a lock would delay
    await until(child, () => isOpen(list) && ++looks > 20);
    const printed = new PrintedText(child);
    {
      using db = new DatabaseSync(list);
      db.exec("begin immediate");
      const writer = child.stdin.getWriter();
      await writer.write(new TextEncoder().encode(formatEndpoint(hosts[0].endpoint)));
      await writer.close();
      await printed.until("will try to write again");
      db.exec("rollback");
      const events = new PrintedText(child, child.stdout);
      await events.until("\n");
      child.kill("SIGINT");
      assertEquals(JSON.parse(await events.rest()).event, "online");
    }
    const stderr = await printed.rest();
    assertEquals((await child.status).code, 130, stderr);
    assertStringIncludes(stderr, "another program is writing to it; the watch continues");
    using db = new DatabaseSync(list);
    const [scan] = db.prepare("select kind, state, found from scans").all();
    assertEquals({ ...scan }, { kind: "watch", state: "finished", found: 1 });
    assertEquals(db.prepare("select at from observations").all().length, 1);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

Deno.test("a watch that refuses an argument creates no database, and skips servers that opted out", async () => {
  const folder = await Deno.makeTempDir();
  try {
    for (const word of ["127.0.0.1:99999", "10.0.0.0/8", `${folder}/none.txt`]) {
      const { code } = await run(["watch", word, "127.0.0.1", "-o", `${folder}/new.db`]);
      assertEquals([code, [...Deno.readDirSync(folder)]], [2, []], word);
    }
    const list = `${folder}/a.db`;
    {
      await using database = openSqlite(list);
      await createTables(database);
      await writeOptOuts(database, [{ address: 0x7f2c0909, at: 1 }]);
    }
    const { code, stderr } = await run(["watch", "127.44.9.9", "-o", list]);
    assertEquals([code, stderr.split("\n")], [2, [
      "blocksweep: 2 servers opted out and not watched",
      "blocksweep: Cannot watch: every named server opted out",
      "",
    ]]);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});
