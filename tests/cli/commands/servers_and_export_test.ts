/**
 * Covers src/cli/commands/history.ts, src/cli/commands/import.ts and src/cli/commands/prune.ts.
 */
import { DatabaseSync } from "node:sqlite";
import { assertEquals, assertStringIncludes, assertThrows } from "@std/assert";
import { InputError } from "../../../src/core/errors.ts";
import { UNWATCHED } from "../../../src/store/uptime/uptime_of_polls.ts";
import { historyLines, observationBars } from "../../../src/cli/commands/history.ts";
import { ago, storedServersTable } from "../../../src/app/databases/select_servers.ts";
import { PAST_TIME } from "../../../src/app/options/domain_value_types.ts";
import type { Observation } from "../../../src/store/history_queries.ts";
import { record, scanId } from "../../store/records.ts";
import { run, start } from "../program.ts";
import { runHere } from "../run_here.ts";

/** The permissions of the tasks. */
const READ = ["--allow-read", "--allow-env=INIT_CWD"];
const WRITE = [...READ, "--allow-write"];

Deno.test("--since takes several forms, and refuses others by name", () => {
  const now = Date.parse("2026-01-31T08:00:00Z");
  const since = (text: string) => PAST_TIME.parse(text, { option: "--since", allProtocols: [] });
  for (const text of ["24h", "1d", "1440m", "2026-01-30T08:00Z", "2026-01-30T09:00+01:00"]) {
    assertEquals(since(text)(now), now - 86_400_000, text);
  }
  assertEquals(since("2026-01-30")(now), now - 115_200_000);
  assertEquals(since(String(now))(0), now);
  for (const text of ["", "3", "yesterday", "5w", "2026-13-01", "-1h", "1.5h"]) {
    assertThrows(() => since(text), InputError, `Cannot use --since "${text}"`);
  }
});

const seen = (players: (number | null | undefined)[]): Observation[] =>
  players.map((one, i) => ({
    ...{ seen_at: 1000 * i, online: one !== undefined, players_online: one ?? null, scan_id: "s" },
    ...{ players_max: 20, latency_ms: 1.25, content_hash: i < 3 ? "a" : "b" },
  }));

Deno.test("a sparkline has a bar for each reply, and none without a reply", () => {
  assertEquals(observationBars(seen([0, 1, 4, 8, undefined, null, 7]), 8), "▁▂▅█ ·█");
  assertEquals(observationBars(seen([0, 0]), 0), "▁▁");
  const many = observationBars(seen(Array.from({ length: 1000 }, (_, i) => i === 500 ? 9 : 1)), 9);
  assertEquals([many.length <= 60, many.includes("█")], [true, true]);
});

Deno.test("a history is a table that shows when the content changed", () => {
  const lines = historyLines("127.0.0.1:1", seen([3, undefined, 4, 5]));
  assertEquals(lines, [
    "127.0.0.1:1: replied in 3 of 4 observations (75 %)",
    "players: ▅ ▇█ (maximum 5)",
    "",
    "TIME (UTC)           STATE     PLAYERS      MS      CHANGED",
    "1970-01-01 00:00:00  online    3/20         1.3",
    "1970-01-01 00:00:01  no reply",
    "1970-01-01 00:00:02  online    4/20         1.3",
    "1970-01-01 00:00:03  online    5/20         1.3     yes",
  ]);
  const watched = (watchedS: number, onlineS: number, watchedShare: number) => ({
    ...UNWATCHED,
    ...{ watchedS, onlineS, watchedShare, polls: watchedS / 60 },
  });
  const uptime = {
    "24h": watched(0, 0, 0),
    "7d": watched(36_000, 36_000, 0.06),
    "30d": watched(999_960, 999_959, 1),
  };
  const expected = "uptime: 100 % of the 6 % watched (600 polls) in 7d, " +
    "> 99.99 % of the 100 % watched (16,666 polls) in 30d";
  assertEquals(historyLines("127.0.0.1:1", seen([3]), uptime)[1], expected);
  assertEquals(historyLines("::1", []), ["::1", "no observations"]);
});

Deno.test("the table of a database shows the state of servers, and no name breaks its lines", () => {
  const state = { online: false, missed_scans: 12, first_seen: 0, probed_at: 0 };
  const table = storedServersTable(1000 + 7_200_000, Infinity);
  const row = table.row(
    { ...record(1, { name: "\u001b[2J\nx", version: "本".repeat(9) }), ...state } as never,
    true,
  );
  assertEquals(
    table.head + row,
    "SERVER                STATE   LAST REPLY MISSED EDITION   PLAYERS   VERSION      SOFTWARE       NAME\n" +
      "127.0.0.1:1           offline 2h         12               1/?       本本本本本…                 ␛[2J␊x\n",
  );
  assertEquals([0, 99, 100, 5999, 6000, 259_200].map((s) => ago(0, 1000 * s)), [
    ...["0s", "99s", "1m", "99m", "1h", "3d"],
  ]);
});

Deno.test("a database is unchanged after export and import", async () => {
  const folder = await Deno.makeTempDir();
  const files = ["a.csv", "a.ndjson", "a.json", "a.txt"].map((name) => `${folder}/${name}`);
  const program = async (args: string[], permissions = READ) => {
    const { code, stdout, stderr } = await run(args, { permissions });
    assertEquals([code, stderr.includes("blocksweep:")], [0, false], stderr);
    return { stdout, stderr };
  };
  try {
    const rows = [1, 2, 3].map((port) => ({
      ...record(port, { players_online: port, name: `s${port}`, players: ["Ann", `p${port}`] }),
      players_at: port === 2 ? 400 : null, // null: with the reply, which is of second 1
    }));
    const text = rows.map((row) => `${JSON.stringify(row)}\n`).join("") + "torn {\n";
    await Deno.writeTextFile(`${folder}/rows.ndjson`, text);
    await Deno.writeTextFile(`${folder}/more.txt`, "127.0.0.1:1\n[::1]:9\n");
    const list = `${folder}/one.db`;
    const printed = await program(
      ["import", list, `${folder}/rows.ndjson`, `${folder}/more.txt`],
      WRITE,
    );
    assertStringIncludes(printed.stderr, "rows.ndjson: 3 servers, 3 of them new, or newer");
    assertStringIncludes(
      printed.stderr,
      "ignored 1 line that cannot be read, the first in line 4",
    );
    assertStringIncludes(printed.stderr, "more.txt: 2 servers, 1 of them new");
    const json = await program(["servers", list, "--json"]);
    assertEquals(json, await program(["servers", list, "--format", "ndjson"]));
    assertStringIncludes(json.stdout, '{"schema":1,"host":');
    const shown = await program(["servers", list, "--format", "hostport", "--limit", "2"]);
    assertEquals(shown.stdout, "127.0.0.1:3\n127.0.0.1:2\n");
    assertEquals(
      shown.stderr,
      `the first 2 of 4 servers of "${list}"; raise --limit for more, or continue with --after SERVER\n`,
    );
    const next = ["servers", list, "--format", "hostport", "--limit", "1", "--after"];
    assertEquals((await program([...next, "127.0.0.1:2"])).stdout, "127.0.0.1:1\n");
    assertEquals((await program([...next, "[::1]:9"])).stdout, "");
    const missing = await run([...next, "127.0.0.1:4"], { permissions: READ });
    assertEquals([missing.code, missing.stdout], [2, ""]);
    assertStringIncludes(missing.stderr, "127.0.0.1:4");
    const everything = await program(["servers", list, "--format", "hostport", "--limit", "4"]);
    assertEquals(everything.stderr, `4 servers of "${list}"\n`);
    await program(["export", list, "-q", ...files.flatMap((one) => ["-o", one])], WRITE);
    const exported = await program(["export", list, "--online", "--format", "ndjson", "-q"]);
    assertEquals(exported.stdout.split("\n").length, 4);
    assertEquals((await Deno.readTextFile(files[3])).split("\n").toSorted().slice(1), [
      ...["127.0.0.1:1", "127.0.0.1:2", "127.0.0.1:3", "[::1]:9"],
    ]);
    // The other databases get the rows later.
    const withoutTimes = (rows: string) => rows.replace(/"changed_at":\d+,/g, "");
    const whole = withoutTimes(await Deno.readTextFile(files[1]));
    assertEquals([...whole.matchAll(/"players_at":([^,]+)/g)].map(([, at]) => at), [
      ...["1000", "400", "1000", "null"],
    ]);
    for (const file of files.slice(0, 3)) {
      await program(["import", `${file}.db`, file, "-q"], WRITE);
      const again = await program(["export", `${file}.db`, "-q", "--format", "ndjson"]);
      assertEquals(withoutTimes(again.stdout), whole, file);
    }
    const masscan = { "-oD": files[1], "-oJ": files[2], "-oL": files[3], "-oG": undefined };
    for (const [option, same] of Object.entries(masscan)) {
      const path = `${folder}/rows`;
      await program(["export", list, "-q", option, path], WRITE);
      const written = await Deno.readTextFile(path);
      if (same === undefined) assertStringIncludes(written, "Host: 127.0.0.1 ()\tPorts: 1/");
      else assertEquals(written, await Deno.readTextFile(same), option);
    }
    const history = await program(["history", list, "127.0.0.1:3", "--json"]);
    assertEquals(JSON.parse(history.stdout).players_online, 3);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

Deno.test("servers with names are imported, and their history is found by name and by address", async () => {
  const folder = await Deno.makeTempDir();
  try {
    const list = `${folder}/a.db`;
    const names = [null, "a.example", "b.example SRV mc.example:7"];
    const rows = [
      ...names.map((requested_as) => record(7, { requested_as, scan_id: scanId(1) })),
      record(8, { host: "127.0.0.2", requested_as: "Bücher.example.", scan_id: scanId(1) }),
      record(9, { host: "127.0.0.3", scan_id: "an identity of others" }),
    ];
    await Deno.writeTextFile(
      `${folder}/a.ndjson`,
      rows.map((row) => JSON.stringify(row)).join("\n"),
    );
    const imported = await run(["import", list, `${folder}/a.ndjson`], { permissions: WRITE });
    assertStringIncludes(imported.stderr, "5 servers, 5 of them new");
    const shown = async (server: string) => {
      const { stdout, stderr } = await run(["history", list, server], { permissions: READ });
      return stdout === "" ? stderr : stdout.split("\n")[0];
    };
    const ended = ": replied in 1 of 1 observation (100 %)";
    for (
      const [named, key] of [
        ["127.0.0.1:7", "127.0.0.1:7"],
        ["A.example.", "a.example:7"],
        ["a.example:7", "a.example:7"],
        ["b.example", "b.example"],
        ["bücher.example", "xn--bcher-kva.example:8"],
        ["127.0.0.2", "xn--bcher-kva.example:8"],
        ["127.0.0.2:8", "xn--bcher-kva.example:8"],
      ]
    ) assertEquals(await shown(named), key + ended);
    assertEquals(await shown("127.0.0.3"), "127.0.0.3:9");
    assertStringIncludes(
      await shown("127.0.0.1"),
      "has this host only as 127.0.0.1:7, a.example:7, b.example\n",
    );
    assertStringIncludes(await shown("a.example:9"), "has this host only with port 7\n");
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

Deno.test("unusable databases and servers are named in an error, with exit code 2", async () => {
  const folder = await Deno.makeTempDir();
  try {
    await Deno.writeTextFile(`${folder}/bad.xml`, "<nmaprun>\n<host a=5>");
    await Deno.writeTextFile(`${folder}/bad.txt`, "what\never\n");
    await Deno.writeTextFile(`${folder}/a.txt`, "127.0.0.1:1\n127.0.0.1:2\n");
    const list = `${folder}/a.db`;
    assertEquals((await run(["import", list, `${folder}/a.txt`], { permissions: WRITE })).code, 0);
    const bad: [string[], string][] = [
      [["servers"], "Cannot run without a database"],
      [["servers", "a.csv"], 'Cannot use "a.csv": name a database first'],
      [
        ["servers", list, "sky", "portt:1"],
        'Cannot use "portt:1" in a search: write one of version:',
      ],
      [["export", list, "version:1.9..1.8"], 'Cannot use "version:1.9..1.8" in a search: write a '],
      [["servers", list, "country:DE"], "countries and operators without --geoip FILE.mmdb"],
      [["servers", list, "saw:lost"], "no scan into"],
      [
        ["servers", list, "scan:019c15a0-7c00-7000-8000-000000000001"],
        "Cannot find the scan 019c15a0",
      ],
      [["history", list, "port:1,2"], '"port:1,2" matches 127.0.0.1:1, 127.0.0.1:2; name one'],
      [["history", list, "port:3"], 'Cannot find "port:3": it is not in'],
      [["servers", list, "sky", "--text", "sky"], 'words and an option for the filter "text"'],
      [
        ["servers", list, "postgres://ann:s3cret word@host/a"],
        'Cannot use "postgres://ann@host/a": write',
      ],
      [["servers", `${folder}/none.db`], "there is no such file"],
      [["servers", list, "--json", "--format", "csv"], "Cannot use --json with --format csv"],
      [["servers", list, "--sort", "plyers"], "did you mean players?"],
      [["export", list, "--fields", "onlin"], 'did you mean "online"?'],
      [["export", list, "-o", "b.db"], 'Cannot export to "b.db", which is a database'],
      [["export", list, "-oJ", "b.db"], 'Cannot use -oJ "b.db": it names a database'],
      [["export", list, "-oJ", list], `Cannot write to "${list}": export reads it`],
      [["scan", "127.0.0.1", "-oD", list], `Cannot use -oD "${list}": it names a database`],
      [["export", list, "-o", "b.csv", "-oJ", "./b.csv"], "Cannot write two outputs to"],
      [["history", list], "name a server, as HOST:PORT"],
      [["history", list, "name.example"], "it is not in"],
      [["history", list, "no name"], 'Cannot find "no name": no server of'],
      [["history", list, "127.0.0.9"], "it is not in"],
      [["history", list, "127.0.0.1"], "has this host only with port 1, 2"],
      [["import", list], "Cannot import"],
      [["import", list, `${folder}/none`], `Cannot read "${folder}/none"`],
      [["import", list, `${folder}/bad.txt`], "2 lines that cannot be read, the first in line 1"],
      [
        ["import", list, `${folder}/bad.xml`],
        'bad.xml": line 2: a tag is malformed; only the XML of',
      ],
    ];
    for (const [args, message] of bad) {
      const { code, stdout, stderr } = await runHere(args);
      assertEquals([code, stdout], [2, ""], args.join(" "));
      assertStringIncludes(stderr, message);
    }
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

Deno.test("no command creates a database after a typing error or a failed import", async () => {
  const folder = await Deno.makeTempDir();
  try {
    const [bad, xml, good] = ["bad.txt", "bad.xml", "good.txt"].map((name) => `${folder}/${name}`);
    await Deno.writeTextFile(bad, "what\never\n");
    await Deno.writeTextFile(xml, "<nmaprun>\n<host a=5>");
    await Deno.writeTextFile(good, "127.0.0.1:1\n");
    await Deno.writeTextFile(`${folder}/empty.db`, "");
    const typo = `${folder}/typo.db`;
    const failing: [string[], string][] = [
      [["watch", typo], `Cannot open "${typo}": there is no such file`],
      [["watch", typo, "-o", `${folder}/new.db`], `Cannot open "${typo}": there is no such file`],
      [["watch", typo, "-o", typo], `Cannot open "${typo}": there is no such file`],
      [["watch", `${folder}/empty.db`], 'empty.db": it has no tables of blocksweep'],
      [["prune", typo, "--keep", "90d"], `Cannot open "${typo}": there is no such file`],
      [["import", typo, bad], "2 lines that cannot be read"],
      [["import", typo, xml], "a tag is malformed"],
      [["import", typo, bad, good], "2 lines that cannot be read"],
    ];
    for (const [args, message] of failing) {
      const { code, stdout, stderr } = await run(args, { permissions: WRITE });
      assertEquals([code, stdout], [2, ""], args.join(" "));
      assertStringIncludes(stderr, message);
      const left = await Array.fromAsync(Deno.readDir(folder), ({ name }) => name);
      assertEquals(left.toSorted(), ["bad.txt", "bad.xml", "empty.db", "good.txt"], args.join(" "));
      assertEquals((await Deno.stat(`${folder}/empty.db`)).size, 0);
    }
    assertEquals((await run(["import", typo, good], { permissions: WRITE })).code, 0);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

Deno.test("an export ends with a message when the database fails, and without one when the pipe is closed", async () => {
  const folder = await Deno.makeTempDir();
  try {
    const list = `${folder}/a.db`;
    const lines = Array.from({ length: 20_000 }, (_, i) => `127.0.${i >> 8}.${i & 255}:7`);
    await Deno.writeTextFile(`${folder}/a.txt`, lines.join("\n"));
    assertEquals((await run(["import", list, `${folder}/a.txt`], { permissions: WRITE })).code, 0);
    const child = start(["export", list, "-q", "--format", "ndjson"], { permissions: READ });
    const reader = child.stdout.getReader();
    await reader.read();
    await reader.cancel();
    const stderr = await new Response(child.stderr).text();
    assertEquals((await child.status).code, 1);
    assertEquals(stderr, "");
    const file = await Deno.open(list, { write: true });
    await file.seek(409_600, Deno.SeekMode.Start);
    await file.write(new Uint8Array(200_000).fill(0xff));
    file.close();
    const broken = await run(["export", list, "--format", "hostport"], { permissions: READ });
    assertEquals(broken.code, 1);
    assertStringIncludes(broken.stderr, `blocksweep: Cannot read "${list}": `);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

Deno.test("old observations are pruned by prune, and at the end of a scan with --keep", async () => {
  const folder = await Deno.makeTempDir();
  try {
    const list = `${folder}/a.db`;
    const HOUR = 3_600_000;
    const old = Math.floor(Date.now() / (24 * HOUR)) * 24 * HOUR - 48 * HOUR;
    const rows = [1, 2, 3, HOUR + 1].map((ms, i) =>
      JSON.stringify(record(7, { seen_at: old + ms, scan_id: scanId(i) }))
    );
    await Deno.writeTextFile(`${folder}/rows.ndjson`, `${rows.join("\n")}\n`);
    const seen = () => {
      using db = new DatabaseSync(list);
      return db.prepare("select at from observations order by 1").all()
        .map(({ at }) => Number(at) - old);
    };
    for (const row of rows) {
      await Deno.writeTextFile(`${folder}/rows.ndjson`, `${row}\n`);
      await run(["import", list, `${folder}/rows.ndjson`], { permissions: WRITE });
    }
    assertEquals(seen(), [1, 2, 3, HOUR + 1]);
    for (
      const [limit, note] of [["3", "the last 3 of 4 observations; raise --limit for more\n"], [
        "4",
        "",
      ]]
    ) {
      const history = await run(["history", list, "127.0.0.1", "--json", "--limit", limit]);
      assertEquals([history.code, history.stderr], [0, note]);
    }
    const no = await run(["prune", list, "--keep", "90d"], { permissions: WRITE });
    assertEquals([no.code, no.stderr], [0, `"${list}": 0 observations pruned\n`]);
    const hours = await run(["prune", list, "--keep", "24h"], { permissions: WRITE });
    assertEquals([hours.code, hours.stderr], [
      0,
      `"${list}": 2 observations pruned\n`,
    ]);
    assertEquals(seen(), [3, HOUR + 1]);
    const scan = ["scan", "127.53.0.1", "-p", "7", "--protocol", "raknet", "--cooldown", "1ms"];
    const days = await run([...scan, "-o", list, "--keep", "1h"]);
    assertStringIncludes(days.stderr, `"${list}": 1 observation pruned`);
    assertEquals(seen(), [HOUR + 1]);
    for (const keep of [[], ["--keep", "90"], ["--keep", "0d"]]) {
      assertEquals((await run(["prune", list, ...keep], { permissions: WRITE })).code, 2);
    }
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

Deno.test("servers are selected by port, network and flag, and texts by the index of --text-index", async () => {
  const folder = await Deno.makeTempDir();
  try {
    const list = `${folder}/a.db`;
    const rows = [1, 2, 3].map((n) =>
      record(n, { host: `127.0.${n}.1`, name: `Skyblock ${n}`, flags: n === 3 ? ["cutShort"] : [] })
    );
    await Deno.writeTextFile(
      `${folder}/rows.ndjson`,
      rows.map((row) => `${JSON.stringify({ ...row, tags: [`${row.port}`] })}\n`).join(""),
    );
    const options = ["import", list, `${folder}/rows.ndjson`, "-q", "--text-index", "--tag", "all"];
    assertEquals((await run(options, { permissions: WRITE })).code, 0);
    using database = new DatabaseSync(list);
    const sql = "select rowid as id from server_text where server_text match 'kyb' order by id";
    assertEquals(database.prepare(sql).all().map(({ id }) => id), [1, 2, 3]);
    for (
      const [selected, found] of [
        [["--port", "2"], "127.0.2.1:2\n"],
        [["--port", "1,3", "--flag", "cutShort,hidden"], "127.0.3.1:3\n"],
        [["--network", "127.0.1.0/24,127.0.3.1"], "127.0.3.1:3\n127.0.1.1:1\n"],
        [["--max-players", "2", "--min-players", "2"], "127.0.2.1:2\n"],
        [["--offline"], ""],
        [["--edition", "java,bedrock", "--confidence", "A"], ""],
        [["--protocol", "query", "--no-aliases", "--port", "1"], "127.0.1.1:1\n"],
        [["--network", "127.0.2.0/23"], "127.0.3.1:3\n127.0.2.1:2\n"],
        [["--flag", "cutShort"], "127.0.3.1:3\n"],
        [["--text", "BLOCK 1"], "127.0.1.1:1\n"],
        [["--tag", "3"], "127.0.3.1:3\n"],
        [["--tag", "3", "--tag", "all", "--port", "1,3"], "127.0.3.1:3\n127.0.1.1:1\n"],
        [["--tag", "none"], ""],
      ] as const
    ) {
      const args = ["servers", list, "--format", "hostport", "-q", ...selected];
      assertEquals((await run(args, { permissions: READ })).stdout, found);
    }
    for (
      const [options, reason] of [
        [["--online", "--offline"], "Cannot use --online with --offline"],
        [["--min-players", "2", "--max-players", "1"], "--max-players 1: it is larger"],
        [["--port", ","], 'Cannot use --port ",": expected one value or more'],
        [
          ["--tag", " a"],
          'Cannot use --tag " a": expected 1 to 64 visible characters',
        ],
        [["--port", "1,x"], 'Cannot use --port "x": expected a whole number from 1 to 65535'],
      ] as const
    ) {
      const refused = await run(["servers", list, ...options], { permissions: READ });
      assertEquals(refused.code, 2);
      assertStringIncludes(refused.stderr, reason);
    }
    for (const text of ["example.org", "127.0.0.0/8:25565"]) {
      const refused = await run(["servers", list, "--network", text], { permissions: READ });
      assertEquals(refused.code, 2);
      const expected =
        `Cannot use --network "${text}": expected a network, for example 192.0.2.0/24`;
      assertStringIncludes(refused.stderr, expected);
    }
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

Deno.test("--partition-by-month is refused for SQLite, and creates no file", async () => {
  const folder = await Deno.makeTempDir();
  try {
    await Deno.writeTextFile(`${folder}/more.txt`, "127.0.0.1:1\n");
    const args = ["import", `${folder}/a.db`, `${folder}/more.txt`, "--partition-by-month"];
    const { code, stderr } = await run(args, { permissions: WRITE });
    assertEquals(code, 2);
    const expected =
      `Cannot partition "${folder}/a.db" by month: --partition-by-month needs PostgreSQL`;
    assertStringIncludes(stderr, expected);
    assertEquals([...Deno.readDirSync(folder)].map(({ name }) => name), ["more.txt"]);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});
