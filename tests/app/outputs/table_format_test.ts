/** Tables have the width of the terminal, for any texts of servers. */
import { assert, assertEquals } from "@std/assert";
import { readCommandLine } from "../../cli/command_line.ts";
import { storedServersTable } from "../../../src/app/databases/select_servers.ts";
import { planOutputs } from "../../../src/app/outputs/plan_outputs.ts";
import { fieldsTable, serverTable } from "../../../src/app/outputs/table_format.ts";
import { displayWidth } from "../../../src/core/display_width.ts";
import { emptyRecord, FIELDS, type ServerRecord } from "../../../src/core/record.ts";
import type { Format } from "../../../src/sinks/sink.ts";

const RECORD: ServerRecord = {
  ...emptyRecord({ address: 0xc0a80109, port: 19132 }, 1000),
  ...{ protocol: "raknet", protocols: ["raknet", "query"], edition: "bedrock", name: "Lobby" },
  ...{ players_online: 3, players_max: 20, latency_ms: 1.25, version: "1.21.50" },
};
const V6 = { ...RECORD, host: "2001:db8:1111:2222:3333:4444:5555:6666" };
const NASTY = "大人気サーバー\u001b[2J\r\n\u202e\u0007".repeat(200);
const STATE = { online: true, missed_scans: 0, first_seen: 0, probed_at: 0 };

const lines = ({ head, row }: Format, ...records: readonly ServerRecord[]) =>
  [head, ...records.map((record) => row(record, false))].map((line) => {
    assert(line.endsWith("\n") && line.indexOf("\n") === line.length - 1, line);
    return line.slice(0, -1);
  });
const titles = (format: Format) => format.head.trim().split(/ +/);

Deno.test("a wide table has the column for the edition, and names in full", () => {
  assertEquals(lines(serverTable(100), RECORD, { ...RECORD, software: "Nukkit", edition: null }), [
    "SERVER                PROTOCOLS     EDITION   PLAYERS   MS     VERSION      NAME",
    "192.168.1.9:19132     raknet+query  bedrock   3/20      1.3    1.21.50      Lobby",
    "192.168.1.9:19132     raknet+query            3/20      1.3    1.21.50      Lobby (Nukkit)",
  ]);
  const long = { ...RECORD, name: "x".repeat(500) };
  assert(lines(serverTable(Infinity), long)[1].endsWith("x".repeat(500))); // for a file
});

Deno.test("a server with only a protocol number has it as its version; stored ones have its name", () => {
  const known = { ...RECORD, version: null, protocol_version: 2225 };
  const records = [known, { ...known, protocol_version: 999 }];
  const shown = (format: Format) => {
    const [head, ...rows] = lines(format, ...records);
    const at = head.indexOf("VERSION");
    return rows.map((line) => line.slice(at, at + 13).trimEnd());
  };
  assertEquals(shown(serverTable(Infinity)), ["#2225", "#999"]);
  assertEquals(shown(storedServersTable(0, Infinity) as Format), ["1.26.60", "#999"]);
});

Deno.test("a narrow terminal loses columns, the edition first, and keeps address and name", () => {
  assertEquals(titles(serverTable(80)), [
    ...["SERVER", "PROTOCOLS", "PLAYERS", "VERSION", "NAME"],
  ]);
  assertEquals(titles(serverTable(60)), ["SERVER", "PLAYERS", "NAME"]);
  assertEquals(titles(storedServersTable(0, 80)), [
    ...["SERVER", "STATE", "LAST", "REPLY", "PLAYERS", "VERSION", "NAME"],
  ]);
  assertEquals(titles(storedServersTable(0, 40)), ["SERVER", "NAME"]);
});

Deno.test("no line is wider than the terminal, and no text moves the cursor", () => {
  const nasty = {
    ...RECORD,
    name: NASTY,
    version: NASTY,
    software: NASTY,
    map: NASTY,
    motd: NASTY,
  };
  const numbers = { ...nasty, version: "1.".repeat(500), host: V6.host };
  for (let columns = 1; columns <= 140; columns++) {
    const tables = [
      serverTable(columns),
      storedServersTable(0, columns),
      fieldsTable(FIELDS, columns),
      fieldsTable(FIELDS.slice(0, 6), columns),
    ];
    for (const table of tables) {
      for (
        const line of lines(table, ...[nasty, numbers, V6].map((one) => ({ ...one, ...STATE })))
      ) {
        assert(displayWidth(line) <= columns, `${columns}: ${line}`);
        assert(!/[\p{Cc}\u202e]/u.test(line), line);
      }
    }
  }
});

Deno.test("columns are aligned with their titles, also after wide characters", () => {
  const [head, row] = lines(serverTable(100), { ...RECORD, version: "本".repeat(9), name: "x" });
  assertEquals(displayWidth(row.slice(0, row.indexOf("x", 60))), head.indexOf("NAME"));
  assert(row.includes("本本本本本… "));
});

Deno.test("spacing marks take a column, combining marks none", () => {
  // Devanagari and Tamil vowel signs (Mc), and a virama and an anusvara (Mn).
  assertEquals(["का", "கோ", "क्", "कं", "e\u0301"].map(displayWidth), [2, 2, 1, 1, 1]);
  const name = "சேவையகம் काशीबाई".repeat(20);
  const [, row] = lines(serverTable(80), { ...RECORD, name });
  const columns = [...row].filter((one) => !/[\p{Mn}\p{Me}]/u.test(one)).length;
  assert(columns <= 80, row);
});

Deno.test("no cell contains an invisible character", () => {
  const unseen = "\u00ad\u{e0041}\u{e007f}\u034f\u3164\uffa0\u115f\u2800\u200b\ufe0f\u{e0100}";
  for (const name of [`a${unseen}b`, [...unseen].join("a"), unseen]) {
    for (const table of [serverTable(200), fieldsTable(FIELDS.slice(0, 12), 200)]) {
      const [, row] = lines(table, { ...RECORD, name, version: name, software: name });
      assert(!/\p{Default_Ignorable_Code_Point}|\u2800/u.test(row), JSON.stringify(row));
    }
  }
});

Deno.test("an address that fits is never cut", () => {
  const [, row] = lines(serverTable(80), V6);
  assert(row.startsWith(`[${V6.host}]:19132 `), row);
});

Deno.test("--fields selects and orders the columns of tables", () => {
  const plan = (...args: string[]) =>
    planOutputs(readCommandLine("scan", args).options, undefined)[0].format;
  const table = plan("--format", "table", "--fields", "port,name,players,host");
  assertEquals(lines(table, { ...RECORD, players: ["Ann", "Bob"] }), [
    "PORT  NAME                     PLAYERS      HOST",
    "19132 Lobby                    Ann, Bob     192.168.1.9",
  ]);
  assertEquals(titles(plan("--format", "table")).at(-1), "NAME");
});

Deno.test("in a narrow terminal all selected fields stay, with shorter cells", () => {
  const chosen = FIELDS.filter(({ name }) => ["host", "name", "motd", "version"].includes(name));
  assertEquals(titles(fieldsTable(chosen, 50)), ["HOST", "NAME", "MOTD", "VERSION"]);
});
