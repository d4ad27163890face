/** Covers src/sinks/csv.ts, src/sinks/text_formats.ts and src/sinks/sink.ts. */
import { assert, assertEquals } from "@std/assert";
import { parse } from "@std/csv";
import fc from "npm:fast-check@4.10.2";
import { readCsv } from "../../src/fleet/judge/verify_rows.ts";
import { emptyRecord, FIELDS, type ServerRecord } from "../../src/core/record.ts";
import { csvFormat, guardText, unguardText } from "../../src/sinks/csv.ts";
import { jsonFormat, ndjsonFormat } from "../../src/sinks/json.ts";
import { grepFormat, hostPortFormat } from "../../src/sinks/text_formats.ts";
import { PROTOCOLS } from "../../src/protocols/list.ts";

const RECORD: ServerRecord = {
  ...emptyRecord({ address: 0x7f000001, port: 19132 }, 1_700_000_000_123),
  protocol: "raknet",
  protocols: ["raknet", "query"],
  name: 'A "best", server',
  motd: '§aA\u0000 "best", server\r\n=x',
  players_online: 0,
  players: ["Ann", "=cmd|' /C calc'!A0"],
  plugins: [{ name: "Vault", version: null }],
  flags: ["motdNul"],
  joinable: false,
  latency_ms: 1.25,
  extras: { query: { form: "full", values: { x: "\u2028" } } },
};

const csv = csvFormat(FIELDS);

Deno.test("CSV has a column per field, and empty cells for null", () => {
  const [row] = parse(csv.head + csv.row(RECORD, true), { skipFirstRow: true });
  assertEquals(Object.keys(row), FIELDS.map(({ name }) => name as string));
  assertEquals([row.host, row.port, row.latency_ms, row.joinable], [
    "127.0.0.1",
    "19132",
    "1.25",
    "false",
  ]);
  assertEquals([row.players_online, row.players_max, row.version], ["0", "", ""]);
  assertEquals(row.protocols, '["raknet","query"]');
  assertEquals(row.plugins, '[{"name":"Vault","version":null}]');
  assertEquals(row.motd, '§aA␀ "best", server␍␊=x');
  assertEquals(JSON.parse(row.extras), RECORD.extras);
});

Deno.test("CSV has one line per record for any text of a server", () => {
  const nasty = fc.string({ unit: "binary", maxLength: 40 });
  fc.assert(
    fc.property(nasty, fc.array(nasty, { maxLength: 3 }), (motd, players) => {
      const line = csv.row({ ...RECORD, motd, players, version: motd, map: motd }, true);
      assert(line.endsWith("\r\n"));
      assert(!/[\p{Cc}\u2028\u2029]/u.test(line.slice(0, -2)), JSON.stringify(line));
      assertEquals(parse(line)[0].length, FIELDS.length);
    }),
    { seed: 1, numRuns: 2000 },
  );
});

Deno.test("no CSV cell is a spreadsheet formula", () => {
  const signs = ["=", "+", "-", "@", "＝", "＋", "－", "＠"];
  const start = fc.constantFrom(...signs, " =", "\u200b=", "\t", "\r", "'", "''", "");
  fc.assert(
    fc.property(fc.tuple(start, fc.string({ maxLength: 10 })).map(([a, b]) => a + b), (text) => {
      const [cells] = parse(csv.row({ ...RECORD, name: text, motd: text, software: text }, true));
      for (const cell of cells) assert(!/^[\s\u200b]*[=+\-@＝＋－＠\t\r]/.test(cell), cell);
    }),
    { seed: 2, numRuns: 2000 },
  );
});

Deno.test("unguardText() reverses guardText()", () => {
  fc.assert(
    fc.property(fc.string({ unit: fc.constantFrom(..."'=+-@ab01.＝＠ \u200b") }), (text) => {
      assertEquals(unguardText(guardText(text)), text);
    }),
    { seed: 3, numRuns: 2000 },
  );
  assertEquals([guardText("-1"), guardText("'=x"), guardText("it's")], ["'-1", "''=x", "it's"]);
});

Deno.test("csv-text has no text that looks like a number or a date, and is read back unchanged", () => {
  const format = csvFormat(FIELDS, true);
  const texts = [
    "13876543210987654321",
    "1.20",
    "20/1/2001",
    "1e5",
    "12:30",
    "'7",
    "''7",
    "7 x",
    "x",
    "=1",
  ];
  for (const text of texts) {
    const record = {
      ...RECORD,
      host: "10.0.0.7",
      alias_of: "10.0.0.7:5",
      guid: "7",
      version: text,
    };
    const row = { ...record, name: text, motd: text };
    const [cells] = parse(format.row(row, true));
    const wanted = ["guid", "version", "name", "motd"];
    for (const name of wanted) {
      const cell = cells[FIELDS.findIndex((field) => field.name === name)];
      assert(!/^[\d=].*\d$/.test(cell), cell);
    }
    assertEquals([cells[0], cells[FIELDS.findIndex(({ name }) => name === "alias_of")]], [
      ...["10.0.0.7", "10.0.0.7:5"],
    ]);
    assertEquals(readCsv(format.head + format.row(row, true)), [row]);
    const plain = { ...row, version: "x" };
    assertEquals(readCsv(csv.head + csv.row(plain, true)), [plain]);
  }
});

Deno.test("CSV is read back unchanged, except for control characters", () => {
  const record = { ...RECORD, motd: "'-§aA", players: ["Ann"] };
  assertEquals(readCsv(csv.head + csv.row(record, true)), [record]);
});

Deno.test("NDJSON is exact, with terminal control characters escaped", () => {
  const format = ndjsonFormat(FIELDS);
  const line = format.row({ ...RECORD, name: "a\u009bb\u202ec\u007f" }, true);
  assert(line.endsWith("\n") && !line.slice(0, -1).includes("\n"));
  assert(!/[\p{Cc}\u2028-\u202e]/u.test(line.slice(0, -1)));
  const { schema, ...rest } = JSON.parse(line);
  assertEquals([schema, rest], [1, { ...RECORD, name: "a\u009bb\u202ec\u007f" }]);
});

Deno.test("JSON output is one array, also without records", () => {
  const format = jsonFormat(FIELDS);
  assertEquals(JSON.parse(format.head + format.tail), []);
  const rows = format.row(RECORD, true) + format.row(RECORD, false);
  assertEquals(JSON.parse(format.head + rows + format.tail).length, 2);
});

Deno.test("selected fields are written in the selected order", () => {
  const fields = ["port", "host"].map((name) => FIELDS.find((field) => field.name === name)!);
  assertEquals(
    csvFormat(fields).head + csvFormat(fields).row(RECORD, true),
    "port,host\r\n19132,127.0.0.1\r\n",
  );
  assertEquals(
    ndjsonFormat(fields).row(RECORD, true),
    '{"schema":1,"port":19132,"host":"127.0.0.1"}\n',
  );
});

Deno.test("the formats hostport and grep write one line per server", () => {
  assertEquals(hostPortFormat.row({ ...RECORD, host: "::1" }, true), "[::1]:19132\n");
  assertEquals(
    grepFormat(PROTOCOLS).row(RECORD, true),
    "Timestamp: 1700000000\tHost: 127.0.0.1 ()\tPorts: 19132/open/udp//raknet//\n",
  );
});

Deno.test("a greppable line has the transport of the protocol that it names", () => {
  const line = (...protocols: string[]) => {
    const row = { ...RECORD, protocol: protocols[0], protocols };
    return grepFormat(PROTOCOLS).row(row, true).split("\t")[2].trimEnd();
  };
  assertEquals(line("raknet", "nethernet"), "Ports: 19132/open/udp//raknet//");
  assertEquals(line("nethernet"), "Ports: 19132/open/tcp//nethernet//");
  assertEquals(line("slp", "query"), "Ports: 19132/open/tcp//slp//");
});
