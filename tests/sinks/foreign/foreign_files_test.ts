/** Covers src/sinks/foreign/nmap_files.ts, src/sinks/foreign/xml_tags.ts and src/sinks/read_rows.ts. */
import { assert, assertEquals, assertRejects } from "@std/assert";
import fc from "npm:fast-check@4.10.2";
import { emptyRecord, FIELDS, serverId, type ServerRecord } from "../../../src/core/record.ts";
import { csvFormat } from "../../../src/sinks/csv.ts";
import { foreignLineReader, trimCommas } from "../../../src/sinks/foreign/foreign_files.ts";
import { jsonFormat, ndjsonFormat } from "../../../src/sinks/json.ts";
import { grepFormat, hostPortFormat } from "../../../src/sinks/text_formats.ts";
import { XmlError, XmlReader } from "../../../src/sinks/foreign/xml_tags.ts";
import { file, read, readAlike, readFile } from "./reading.ts";
import { PROTOCOLS } from "../../../src/protocols/list.ts";

Deno.test("masscan's JSON and list output is read", async () => {
  const expected = [4, 2, 3].map((host) => `10.77.0.${host}:25565`);
  const json = read(await file("masscan-json.txt"));
  assertEquals(json.map((one) => one.split(" ")[0]), expected);
  assertEquals(json[0], "10.77.0.4:25565 1795245523000");
  assertEquals(
    read(await file("masscan-list.txt")).map((one) => one.split(" ")[0]).sort(),
    expected.toSorted(),
  );
  assertEquals(
    read('{finished: 1}\n{ "ip": "::1", "ports": [ {"port": 7, "status": "closed"} ] },'),
    [],
  );
  assertEquals(read("banner tcp 80 10.0.0.1 1700000000 title x\n# end"), []);
});

Deno.test("zmap's CSV is read with any selection of fields", async () => {
  const plain = await file("zmap-plain.csv");
  assertEquals(
    read(plain, { seenAt: 5, port: 25565 }).toSorted(),
    [2, 3, 4].map((host) => `10.77.0.${host}:25565 5`),
  );
  assertEquals(read(plain), ["?", "?", "?"]); // without a port
  const fields = read(await file("zmap-fields.csv"));
  assertEquals(fields.length, 3); // one of the four rows is a refused connection
  assertEquals(fields.every((one) => /^10\.77\.0\.[234]:25565 17952455\d\d000$/.test(one)), true);
  assertEquals(read(await file("zmap-udp.csv")).map((one) => one.slice(0, -6)), [
    "10.77.0.3:19132 1795245",
  ]);
});

Deno.test("greppable lines of nmap, masscan and blocksweep are read", async () => {
  assertEquals(read(await file("nmap-grep.txt")), ["127.0.0.1:8099 5", "127.0.0.1:19132 5"]);
  assertEquals(read(await file("nmap-grep-ipv6.txt")), ["[::1]:8097 5"]);
  assertEquals(read(await file("masscan-grep.txt")), [
    "10.77.0.4:25565 1795319655000",
    "10.77.0.2:25565 1795319655000",
  ]);
  for (const host of ["127.0.0.1", "::1"]) {
    const own = { ...emptyRecord({ address: 1, port: 7 }, 9000), host };
    const id = serverId(own);
    for (const protocols of [["raknet"], ["slp"]]) {
      assertEquals(read(grepFormat(PROTOCOLS).row({ ...own, protocols }, true)), [`${id} 9000`]);
    }
  }
  const line =
    "Host: 10.0.0.1 (a)\tPorts: 1/open/tcp//x//y 1.0, 2|open|tcp/, 3/open|filtered/udp///," +
    " 4/open/sctp////, 5/open/udp////\tIgnored State: closed (9)";
  assertEquals(read(line), ["10.0.0.1:1 5", "10.0.0.1:5 5"]);
  assertEquals(read("Host: x ()\tPorts: 1/open/tcp////"), ["?"]);
  assertEquals(read("Host: 10.0.0.1 ()\tPorts: 0/open/tcp////"), ["?"]);
  assertEquals(read("Timestamp: 5\tPorts: 1/open/tcp////"), ["?"]);
});

Deno.test("naabu's lines are read; a host without a port is skipped", async () => {
  assertEquals(read(await file("naabu.txt")), [
    "10.77.0.2:25565 1795245527104",
    "10.77.0.3:25565 1795245527104",
    "10.77.0.3:19132 1795245527200",
  ]);
  assertEquals(read('{"ip":"10.0.0.1","port":70000}\n{"ip":"x","port":5}\n{"ip":"::1","port":5}'), [
    "?",
    "?",
    "[::1]:5 5",
  ]);
});

Deno.test("XML of nmap and masscan is read from chunks of any size", async () => {
  const files: readonly (readonly [name: string, servers: readonly string[]])[] = [
    ["nmap-xml", ["127.0.0.1:8099 1795319400000", "127.0.0.1:19132 1795319400000"]],
    ["nmap-xml-ipv6", ["[::1]:8097 1795319400000"]],
    ["masscan-xml", ["10.77.0.2:25565 1795319660000", "10.77.0.4:25565 1795319660000"]],
  ];
  for (const [name, servers] of files) {
    const text = await file(`${name}.txt`);
    for (const size of [1, 7, 4096, text.length]) {
      assertEquals(await readFile(text, size), servers, name);
    }
    for (let length = 1; length < text.trimEnd().length; length += 41) {
      const part = text.slice(0, length);
      const found = await readFile(part);
      assertEquals(found.pop(), `? ${part.split("\n").length}`); // an interrupted document
      assertEquals(found, servers.slice(0, found.length));
    }
  }
});

Deno.test("equivalent forms of XML are read, and dangerous XML is refused", async () => {
  const xml = (host: string, root = "nmaprun") => `<${root}><host>${host}</host></${root}>`;
  const open = (port: string, state = "open") =>
    `<ports><port portid='${port}' protocol="udp"><state state='${state}'/></port></ports>`;
  const address = "<address addrtype='mac' addr='00:11'/><address addr='10.0.0&#x2e;&#49;' />";
  assertEquals(await readFile(`\ufeff\n${xml(address + open("7"))}`), ["10.0.0.1:7 5"]);
  const more = `<!-- > "' - -- <a> --><?x "?>text &any; <a b="!" c='>"'\n/>`;
  assertEquals(await readFile(xml(address + more + open("7"))), ["10.0.0.1:7 5"]);
  for (const state of ["closed", "open|filtered"]) {
    assertEquals(await readFile(xml(address + open("7", state))), []);
  }
  for (const host of [open("7"), address + open("0"), address + open("x")]) {
    assertEquals(await readFile(`\n${xml(host)}`), ["? 2"]);
  }
  const refused: readonly (readonly [text: string, why: string])[] = [
    ["<html></html>", "its root element is <html>, and not <nmaprun>"],
    ['<!DOCTYPE a [<!ENTITY b "c">]>', "it has a DTD"],
    ["<nmaprun><![CDATA[x]]></nmaprun>", "it has a DTD"],
    [xml('<address addr="&x;"/>'), "the entity &x; is not predefined in XML"],
    [xml('<address addr="&#x110000;"/>'), "the entity &#x110000; is not"],
    [xml('<address addr="a&b"/>'), "the entity & is not"],
    [xml("<a>".repeat(65)), "more than 64 levels deep"],
    [xml("<a b=c>"), "a tag is malformed"],
    [xml("<>"), "a tag is malformed"],
    [xml("</b>"), "</b> closes no open element"],
    [xml("") + xml(""), "it has two root elements"],
    [`<nmaprun a="${"x".repeat(1 << 20)}">`, "a tag has more than 1048576 characters"],
  ];
  for (const [text, why] of refused) {
    const error = await assertRejects(() => readFile(`\n\n${text}`), XmlError, why);
    assert(error.message.startsWith("line 3: "), error.message);
  }
});

Deno.test("XML is read in linear time from chunks of any size", () => {
  const text = `<nmaprun>${"<a b='1'/> ".repeat(2000)}<!--${"-".repeat(20_000)}`;
  for (const size of [1, 100, text.length]) {
    let steps = 0;
    const counted = (part: string) => ({
      length: part.length,
      charCodeAt: (i: number) => (steps++, part.charCodeAt(i)),
      slice: (from: number, to?: number) => part.slice(from, to),
    });
    const reader = new XmlReader();
    let tags = 0;
    for (let at = 0; at < text.length; at += size) {
      for (const _ of reader.read(counted(text.slice(at, at + size)))) tags++;
    }
    assertEquals([steps, tags], [text.length, 2001]);
  }
});

Deno.test("commas at the ends of a line are removed in linear time", () => {
  for (const text of [", {} ,", "{}", " {}", ",{} x", `x${" ".repeat(1000)}y`, ",", ""]) {
    let steps = 0;
    const counted = {
      length: text.length,
      at: (i: number) => (steps++, text.at(i)),
      slice: (from: number, to: number) => (steps++, text.slice(from, to)),
    };
    assertEquals(trimCommas(counted), text.replace(/^,|,$/g, "").trim());
    assert(steps <= 3, `${steps} steps`);
  }
  assertEquals(read(`x${" ".repeat(1 << 20)}y`), ["?"]); // a regular expression needed quadratic time here
});

Deno.test("a line over the limit is skipped without buffering, and later lines are read", async () => {
  const text = `10.0.0.1:5\n${"x".repeat(5000)}\n\n10.0.0.1:6\n10.0.0.1:7${" ".repeat(5000)}`;
  for (const size of [1, 1000, text.length]) {
    assertEquals(await readFile(text, size, 100), [
      "10.0.0.1:5 5",
      "? 2",
      "10.0.0.1:6 5",
      "? 5",
    ]);
  }
  assertEquals(await readFile(""), []);
  assertEquals(await readFile(`${"x".repeat(100)}\n`, 100, 100), ["? 1"]);
});

Deno.test("blocksweep's own rows are read back unchanged from CSV and NDJSON", () => {
  const record: ServerRecord = {
    ...emptyRecord({ address: 1n, port: 7 }, 9),
    protocol: "raknet",
    protocols: ["raknet"],
    motd: "=a,b",
    joinable: false,
    guid: "1",
    plugins: [{ name: "x", version: null }],
    players: ["Ann"],
    latency_ms: 1.5,
    extras: { query: { form: "full", values: { a: "b" } } },
  };
  for (const format of [csvFormat(FIELDS), ndjsonFormat(FIELDS), jsonFormat(FIELDS)]) {
    const reader = foreignLineReader({ seenAt: 0 });
    const text = format.head + format.row(record, true) + format.row(record, false) + format.tail;
    const records = text.split("\n").flatMap((line) => {
      const servers = reader(line);
      assert(servers !== undefined && !("text" in servers), line);
      return servers.map((one) => one.record);
    });
    assertEquals(records, [record, record], format.name);
  }
  assertEquals(read(`${hostPortFormat.row(record, true)}127.0.0.1:25565\r\n`), [
    "[::1]:7 5",
    "127.0.0.1:25565 5",
  ]);
  const some = csvFormat(FIELDS.filter(({ name }) => ["host", "port"].includes(name)));
  assertEquals(read(some.head + some.row(record, true)), ["[::1]:7 5"]);
});

Deno.test("the standard output of masscan and nmap is read", async () => {
  const text = "Starting masscan 1.3.2 (http://bit.ly/14GZzcT) at 2026-11-20 10:00:00 GMT\n" +
    "Initiating SYN Stealth Scan\nScanning 1024 hosts [1 port/host]\n" +
    `Discovered open port 25565/tcp on 10.0.0.7${" ".repeat(30)}\r\n` +
    "Discovered open port 19132/udp on ::1\nDiscovered open port 0/udp on ::1\n";
  assertEquals(await readAlike(text), ["10.0.0.7:25565", "[::1]:19132", "? 6"]);
});

Deno.test("an IPv4-mapped address is its IPv4 address in every format", () => {
  const lines = [
    "[::ffff:10.0.0.7]:19132",
    '{"ip":"::ffff:10.0.0.7","port":19132}',
    '{"host":"::ffff:a00:7","port":19132,"seen_at":5}',
    "open tcp 19132 ::ffff:10.0.0.7 0",
    "host,port,seen_at\n::ffff:10.0.0.7,19132,5",
  ];
  for (const line of lines) {
    assertEquals(read(line).map((one) => one.split(" ")[0]), ["10.0.0.7:19132"], line);
  }
});

Deno.test("lines that are not rows are reported, and later lines are read", () => {
  const lines = [
    "10.0.0.300:5",
    "10.0.0.1:0",
    "name.example:5",
    "10.0.0.1",
    '{"ip":"x","ports":[{"port":5}]}',
    '{"ip":"10.0.0.1","ports":[{"port":99999}]}',
    '{"ip":"10.0.0.1","ports":[null]}',
    '{"ip":"10.0.0.1"}',
    '{"host":"10.0.0.1","port":"5"}',
    '{"host":"10.0.0.1","port":5,"motd":5}',
    '{"host":"::1","port":5,"plugins":[5]}',
    '{"host":"::1","port":5,"extras":[]}',
    '{"torn',
    "open tcp x 10.0.0.1 5",
    "open tcp 5",
    '"',
    "a,b,c",
  ];
  for (const line of lines) assertEquals(read(line), ["?"], line);
  assertEquals(read("host,port,seen_at,players\n::1,5,2\n::1,5,2,[\n::1,6,2,[]\n::1,x,2,[]"), [
    "?",
    "?",
    "[::1]:6 2",
    "?",
  ]);
});

Deno.test("no line makes the reader throw", () => {
  const part = fc.constantFrom(
    '{"ip":"10.0.0.1",',
    '"ports":',
    "[{",
    '"port":5',
    "}]",
    "}",
    "host,port",
    "saddr",
    "\n",
    "10.0.0.1:5",
    "open tcp 5 ",
    "null",
    "[",
    "]",
    ",",
    '"',
    "\0",
    "\ud800",
  );
  fc.assert(
    fc.property(
      fc.array(fc.oneof(part, fc.string({ maxLength: 5 })), { maxLength: 8 }),
      (parts) => {
        for (const one of read(parts.join(""))) {
          assertEquals(one === "?" || /^(\[[\da-f:]+\]|[\d.]+):\d{1,5} \d+$/.test(one), true, one);
        }
      },
    ),
    { seed: 5, numRuns: 5000 },
  );
});
