import { assertEquals } from "@std/assert";
import fc from "npm:fast-check@4.10.2";
import { emptyRecord, FIELDS, serverId, type ServerRecord } from "../../src/record.ts";
import { csvFormat } from "../../src/sinks/csv.ts";
import { type Assumptions, foreignReader } from "../../src/sinks/foreign.ts";
import { jsonFormat, ndjsonFormat } from "../../src/sinks/json.ts";
import { listFormat } from "../../src/sinks/lines.ts";

/** Servers of a text, with the time of each; lines that cannot be read are `?`. */
function read(text: string, assumed: Assumptions = { seenAt: 5 }): string[] {
  const reader = foreignReader(assumed);
  return text.split("\n").flatMap((line) =>
    reader(line)?.map(({ record }) => `${serverId(record)} ${record.seen_at}`) ?? ["?"]
  );
}

// Written by masscan 1.3.2 and zmap 2.1.1 about three servers in a network namespace.
const file = (name: string) => Deno.readTextFile(new URL(`./foreign/${name}`, import.meta.url));

Deno.test("what masscan wrote is read, as JSON and as lines", async () => {
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

Deno.test("what zmap wrote is read, with the fields that were chosen", async () => {
  const plain = await file("zmap-plain.csv");
  assertEquals(
    read(plain, { seenAt: 5, port: 25565 }).toSorted(),
    [2, 3, 4].map((host) => `10.77.0.${host}:25565 5`),
  );
  assertEquals(read(plain), ["?", "?", "?"]); // no port is known
  const fields = read(await file("zmap-fields.csv"));
  assertEquals(fields.length, 3); // one of four refused
  assertEquals(fields.every((one) => /^10\.77\.0\.[234]:25565 17952455\d\d000$/.test(one)), true);
  assertEquals(read(await file("zmap-udp.csv")).map((one) => one.slice(0, -6)), [
    "10.77.0.3:19132 1795245",
  ]);
});

Deno.test("our own rows come back as they were, from every format that holds them", () => {
  const record: ServerRecord = {
    ...emptyRecord({ address: 1n, port: 7 }, 9),
    ...{ protocol: "raknet", protocols: ["raknet"], motd: "=a,b", joinable: false, guid: "1" },
    ...{ plugins: [{ name: "x", version: null }], players: ["Ann"], latency_ms: 1.5 },
    extras: { query: { form: "full", values: { a: "b" } } },
  };
  for (const format of [csvFormat(FIELDS), ndjsonFormat(FIELDS), jsonFormat(FIELDS)]) {
    const reader = foreignReader({ seenAt: 0 });
    const text = format.head + format.row(record, true) + format.row(record, false) + format.tail;
    const records = text.split("\n").flatMap((line) => reader(line)!.map((one) => one.record));
    assertEquals(records, [record, record], format.name);
  }
  assertEquals(read(`${listFormat.row(record, true)}127.0.0.1:25565\r\n`), [
    "[::1]:7 5",
    "127.0.0.1:25565 5",
  ]);
  const some = csvFormat(FIELDS.filter(({ name }) => ["host", "port"].includes(name)));
  assertEquals(read(some.head + some.row(record, true)), ["[::1]:7 0"]);
});

Deno.test("what is no row cannot be read, and stops nothing", () => {
  const lines = [
    ...[
      "10.0.0.300:5",
      "10.0.0.1:0",
      "name.example:5",
      "10.0.0.1",
      '{"ip":"x","ports":[{"port":5}]}',
    ],
    ...['{"ip":"10.0.0.1","ports":[{"port":99999}]}', '{"ip":"10.0.0.1","ports":[null]}'],
    ...[
      '{"ip":"10.0.0.1"}',
      '{"host":"10.0.0.1","port":"5"}',
      '{"host":"10.0.0.1","port":5,"motd":5}',
    ],
    ...['{"host":"::1","port":5,"plugins":[5]}', '{"host":"::1","port":5,"extras":[]}', '{"torn'],
    ...["open tcp x 10.0.0.1 5", "open tcp 5", '"', "a,b,c"],
  ];
  for (const line of lines) assertEquals(read(line), ["?"], line);
  assertEquals(read("host,port,players\n::1,5\n::1,5,[\n::1,6,[]\n::1,x,[]"), [
    "?",
    "?",
    "[::1]:6 0",
    "?",
  ]);
});

Deno.test("no line throws", () => {
  const part = fc.constantFrom(
    ...['{"ip":"10.0.0.1",', '"ports":', "[{", '"port":5', "}]", "}", "host,port", "saddr", "\n"],
    ...["10.0.0.1:5", "open tcp 5 ", "null", "[", "]", ",", '"', "\0", "\ud800"],
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
