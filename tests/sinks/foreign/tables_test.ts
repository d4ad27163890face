/** Covers src/sinks/foreign/tables.ts and src/sinks/foreign/quoted_rows.ts. */
import { assert, assertEquals, assertThrows } from "@std/assert";
import { InputError } from "../../../src/core/errors.ts";
import { serverId } from "../../../src/core/record.ts";
import { csvFormat } from "../../../src/sinks/csv.ts";
import { type ChosenColumn, STATE_NAMES } from "../../../src/sinks/foreign/tables.ts";
import { STATE_FIELDS, STORED_FIELDS } from "../../../src/store/queries/stored_fields.ts";
import { foreignLineReader } from "../../../src/sinks/foreign/foreign_files.ts";
import { QuotedRows } from "../../../src/sinks/foreign/quoted_rows.ts";
import { readAlike } from "./reading.ts";

Deno.test("naabu's CSV is read by its addresses, also with repeated heads", async () => {
  const full = "host,ip,port,protocol,tls,cdn,cdn-name,timestamp\n" +
    ",10.0.0.7,25565,tcp,false,false,,2026-11-20 10:00:01.000000001 +0000 UTC\n" +
    "play.example.org,10.0.0.8,25566,tcp,false,false,,2026-11-20 10:00:02 +0000 UTC\n";
  assertEquals(await readAlike(full), ["10.0.0.7:25565", "10.0.0.8:25566"]);
  assertEquals(await readAlike("ip,port\n10.0.0.9,25565\nip,port\n10.0.0.10,19132\n"), [
    ...["10.0.0.9:25565", "10.0.0.10:19132"],
  ]);
});

Deno.test("lines of a host and a port are read with any separator, as zmap writes them without a head", async () => {
  for (const line of ["10.0.0.7,25565", "10.0.0.7,,,25565", "10.0.0.7\t25565", "10.0.0.7  25565"]) {
    assertEquals(await readAlike(line), ["10.0.0.7:25565"]);
  }
  assertEquals(await readAlike("::1;5"), ["[::1]:5"]);
  const read = foreignLineReader({ seenAt: 5 });
  assertEquals(read("play.example.org 25566"), { text: "play.example.org:25566" });
  assertEquals(read("10.0.0.1, 10.0.0.2"), { text: "10.0.0.1, 10.0.0.2" });
});

/** The servers of a table as endpoints or targets, each with its tags and notes; and what is ignored. */
function readTable(text: string, columns: readonly ChosenColumn[] = [], port?: number) {
  const ignored: string[] = [];
  const onIgnored = (names: readonly string[]) => void ignored.push(...names);
  const read = foreignLineReader({ seenAt: 5, columns, onIgnored, port });
  const rows = text.split("\n").flatMap((line) => {
    const found = read(line);
    if (found === undefined) return ["?"];
    const all = "text" in found
      ? [{ id: found.text, row: found.row }]
      : found.map(({ record, row }) => ({ id: serverId(record), row }));
    return all.map(({ id, row }) => [id, row?.tags, row?.notes].filter(Boolean).join(" / "));
  });
  return { rows, ignored };
}

Deno.test("a host and a port are found by the names of columns, in any order, case and with any separator", () => {
  const heads = [
    ["title,hostname,port", "A,10.0.0.7,5"],
    ["Port;IP;title", "5;10.0.0.7;A"],
    ["title\tAddress\tid", "A\t10.0.0.7:5\t1"],
    ["HOST PORT", "10.0.0.7   5"],
    ["name,Host,Port,region", '"x, y",10.0.0.7,5,eu'],
    ["sep=,\nhost,ip address,port", "home,10.0.0.7,5"],
    ["\ufeffServer;Port", "10.0.0.7;5"],
    ["id;Titel;IP-Adresse;Port;Tags", "1;A;10.0.0.7;5;eu"],
    ["Server IP,Port Number", "10.0.0.7,5"],
    ["ip,tcp_port\n,\n;;;;", "10.0.0.7,5"],
  ];
  for (const [head, row] of heads) {
    const [server] = readTable(`${head}\n${row}`).rows;
    assertEquals(server.split(" ")[0], "10.0.0.7:5", head);
  }
  assertEquals(readTable("id,hostname,port\n1,play.example.org,5\n2,,5\n3,a b,5\n4,x.org,0").rows, [
    ...["play.example.org:5", "?", "?", "?"],
  ]);
  assertEquals(readTable("id,hostname\n1,play.example.org\n2,10.0.0.7").rows, [
    ...["play.example.org", "10.0.0.7"],
  ]);
  assertEquals(readTable("id,hostname\n2,10.0.0.7", [], 5).rows, ["10.0.0.7:5"]);
  // lists of targets, not heads
  for (const text of ["host, 10.0.0.1", "server a.example, host", "server"]) {
    assertEquals(readTable(text).rows, [text]);
  }
});

Deno.test("a list without seen_at and protocols is the user's, whatever its columns are called", () => {
  const ignored: string[] = [];
  const onIgnored = (names: readonly string[]) => void ignored.push(...names);
  const lines = [
    ["name,host,port,tags", "Other,10.0.0.7,5,vip"],
    ['{"name":"Other","host":"10.0.0.7","port":5,"tags":"vip"}'],
  ];
  for (const list of lines) {
    const read = foreignLineReader({ seenAt: 9, onIgnored });
    const found = list.map(read).at(-1);
    assert(found !== undefined && !("text" in found));
    const [{ record, row }] = found;
    assertEquals([serverId(record), record.seen_at, record.name, row?.tags], [
      ...["10.0.0.7:5", 9, null, "vip"],
    ]);
  }
  assertEquals(ignored, ["name", "name"]);
});

Deno.test("a quoted cell may have line breaks, and an unclosed one is one line that cannot be read", async () => {
  const head = "ip,port,title\n";
  const rest = "10.0.0.8,6,B\n";
  const right = ["10.0.0.7:5", "10.0.0.8:6"];
  assertEquals(await readAlike(`${head}10.0.0.7,5,"A ""x\r\n\r\nb, c"\r\n${rest}`), right);
  assertEquals(await readAlike(`${head}10.0.0.7,5,"${"a\n".repeat(990)}"\n${rest}`), right);
  assertEquals(await readAlike(`${head}10.0.0.7,5,"A\n${rest}`), ["? 2", right[1]]);
  const open = `10.0.0.7,5,"A\n${rest.repeat(3)}`;
  const each = [right[1], right[1], right[1]];
  assertEquals(await readAlike(head + open + open), ["? 2", ...each, "? 6", ...each]);
  const many = await readAlike(`${head}10.0.0.7,5,"A\n${rest.repeat(1500)}`);
  assertEquals([many[0], many.length, many[1500]], ["? 2", 1501, right[1]]);
});

Deno.test("unclosed quotes are read in linear time", () => {
  for (const line of ['"', "x"]) {
    for (const count of [3000, 6000]) {
      let parsed = 0;
      const rows = new QuotedRows((text) => (parsed += text.length, undefined));
      const add = (number: number) => [...rows.add({ number, text: number === 1 ? '"' : line })];
      let read = Array.from({ length: count }, (_, i) => add(i + 1)).flat().length;
      while (rows.isHeld) read += [...rows.end()].length;
      assertEquals(read, count);
      assert(parsed <= 5 * count, `${parsed} characters of ${count}`);
    }
  }
});

Deno.test("columns that are not read are named, and may be chosen as tags and notes", () => {
  const text = 'title,hostname,port,tags,id\nLobby,10.0.0.7,5,eu;x,42\n"\'=A, B",10.0.0.8,6,,43';
  assertEquals(readTable(text), {
    rows: ["10.0.0.7:5 / eu;x", "10.0.0.8:6"],
    ignored: ["title", "id"],
  });
  const columns: ChosenColumn[] = [
    { role: "notes", column: "Title" },
    { role: "notes", column: "5" },
    { role: "tags", column: "id" },
  ];
  assertEquals(readTable(text, columns), {
    rows: ["10.0.0.7:5 / 42 / Lobby; 42", "10.0.0.8:6 / 43 / =A, B; 43"],
    ignored: ["tags"],
  });
});

Deno.test("chosen columns of a host and a port need no head, and have to exist", () => {
  const columns: ChosenColumn[] = [{ role: "host", column: "2" }, { role: "notes", column: "1" }];
  assertEquals(readTable("a\t10.0.0.7:5\nb\t10.0.0.8:6", columns).rows, [
    ...["10.0.0.7:5 / a", "10.0.0.8:6 / b"],
  ]);
  const german: ChosenColumn[] = [
    { role: "host", column: "Adresse" },
    { role: "port", column: "Anschluß" },
  ];
  assertEquals(readTable("Name;Adresse;Anschluß\nÄ;10.0.0.7;5", german), {
    rows: ["10.0.0.7:5"],
    ignored: ["name"],
  });
  for (const head of ["a,b", "ip,port"]) {
    assertThrows(() => readTable(head, german), InputError, 'without the column "Adresse"');
  }
});

Deno.test("the columns of an export are those that tables know", () => {
  assertEquals(STATE_NAMES, STATE_FIELDS.map(({ name }) => name));
  const own = csvFormat(STORED_FIELDS).head.trim();
  assertEquals(readTable(`${own}\n${own}`).ignored, []);
});

Deno.test("rows that a spreadsheet has saved are read right, or refused", async () => {
  const head = "host;port;guid;version;joinable;seen_at;players";
  const row = (guid: string, version = "1.21", seen = "1795245523000", joinable = "TRUE") =>
    `10.0.0.7;19132;${guid};${version};${joinable};${seen};"[""Ann""]"`;
  const right = [row("13876543210987654321"), row("", "", "5", "FALSE")];
  assertEquals(await readAlike([head, ...right].join("\r\n")), [
    "10.0.0.7:19132",
    "10.0.0.7:19132",
  ]);
  const changed = [
    row("1.38765E+19"),
    row("1,38765E+19"),
    row("13876543210987600000"),
    row("1", "20.01.2001"),
    row("1", "1/20/2001"),
    row("1", "20-Jan"),
    row("1", "1.21", "1.79525E+12"),
    row("1", "1.21", "1.795.245.523.000"),
    row("1", "1.21", "5", "WAHR"),
  ];
  for (const line of changed) assertEquals(await readAlike(`${head}\n${line}`), ["? 2"], line);
  // a program's own file may have such a GUID
  const own = "host,port,guid,joinable,seen_at\n::1,5,13876543210987600000,true,2\n";
  assertEquals(await readAlike(own), ["[::1]:5"]);
  assertEquals(await readAlike(own.replace("true", "TRUE")), ["? 2"]);
});
