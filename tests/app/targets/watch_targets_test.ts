/** Covers src/app/targets/servers_in_files.ts and src/app/targets/watch_targets.ts. */
import { assertEquals, assertRejects, assertThrows } from "@std/assert";
import {
  readWatchTargets,
  type WatchSources,
  withoutOptedOut,
} from "../../../src/app/targets/watch_targets.ts";
import { WatchedServer } from "../../../src/watch/watched_server.ts";
import { withoutRows } from "../../../src/app/targets/servers_in_files.ts";
import { InputError } from "../../../src/core/errors.ts";
import { PROTOCOLS, usualProtocols } from "../../../src/protocols/list.ts";
import { emptyRecord, FIELDS, type ServerRecord } from "../../../src/core/record.ts";
import { csvFormat } from "../../../src/sinks/csv.ts";
import { jsonFormat, ndjsonFormat } from "../../../src/sinks/json.ts";
import { grepFormat, hostPortFormat } from "../../../src/sinks/text_formats.ts";
import { serverTable } from "../../../src/app/outputs/table_format.ts";
import type { Format } from "../../../src/sinks/sink.ts";

const SQP: ServerRecord = {
  ...emptyRecord({ address: 0x7f000001, port: 9000 }, 5),
  ...{ protocol: "sqp", protocols: ["sqp"], motd: "=a", players: ["Ann"] },
  requested_as: "play.example.org",
};
const BARE = emptyRecord({ address: 0x7f000001, port: 19132 }, 5);
const BEHIND = { ...SQP, port: 9001, requested_as: "a.example SRV mc1.example.org:25570" };

/** The servers of a file with this text. */
async function serversOf(
  name: string,
  text: string,
  over: (path: string) => Partial<WatchSources> = () => ({}),
) {
  const folder = await Deno.makeTempDir();
  try {
    await Deno.writeTextFile(`${folder}/${name}`, text);
    return await readWatchTargets({
      ...{ words: [`${folder}/${name}`], files: [], lists: [], optedOut: [], allowPrivate: false },
      ...{ protocols: PROTOCOLS, names: false, report: () => {}, note: () => {} },
      rules: {
        intervalMs: 60_000,
        downAfter: 3,
        scanId: "w",
        newEventId: () => "event",
        allProtocols: PROTOCOLS,
      },
      lookups: { resolve: () => Promise.reject(new Error("no name is looked up")) },
      ...over(`${folder}/${name}`),
    });
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

/** A file of rows, as a scan writes it. */
function fileOf({ head, row, tail }: Format, records: readonly ServerRecord[]): string {
  return head + records.map((record, i) => row(record, i === 0)).join("") + tail;
}

for (const [name, format] of [["a.ndjson", ndjsonFormat], ["a.csv", csvFormat]] as const) {
  Deno.test(`watch takes the state of the servers of ${name} from its rows`, async () => {
    const text = fileOf(format(FIELDS), [SQP, BARE, BEHIND]);
    const [sqp, bare, behind] = await serversOf(name, text);
    assertEquals([sqp.row?.protocols, sqp.row?.motd, sqp.row?.players], [["sqp"], "=a", null]);
    assertEquals([sqp.name, sqp.online, sqp.endpoint.port], ["play.example.org", true, 9000]);
    assertEquals([bare.row, bare.online, bare.name], [undefined, undefined, null]);
    assertEquals(behind.name, "a.example");
    const [named] = await serversOf(name, text, () => ({ names: true }));
    assertEquals(named.row?.players, ["Ann"]);
  });

  Deno.test(`watch skips an incomplete last row of ${name}, and reads files with selected columns`, async () => {
    const columns = ["host", "port", "protocols"];
    const fields = FIELDS.filter((field) => columns.includes(field.name));
    const text = fileOf(format(fields), [SQP, BEHIND]);
    const servers = await serversOf(name, text.trimEnd().slice(0, -4));
    const known = servers.map(({ endpoint, row }) => [endpoint.port, row?.protocols]);
    assertEquals(known, [[9000, ["sqp"]]]);
  });
}

Deno.test("two names of one address are two servers, and a repeated name is one server", async () => {
  const other = { ...SQP, requested_as: "other.example.org" };
  const bare = { ...SQP, requested_as: null };
  const rows = [SQP, other, bare, { ...other, requested_as: "Other.Example.org" }];
  const servers = await serversOf("a.jsonl", rows.map((one) => JSON.stringify(one)).join("\n"));
  assertEquals(servers.map(({ identity }) => identity.key), [
    "play.example.org:9000",
    "other.example.org:9000",
    "127.0.0.1:9000",
  ]);
});

const ENDPOINTS = [hostPortFormat, grepFormat(PROTOCOLS), serverTable(Infinity)];

for (const [i, format] of [jsonFormat(FIELDS), csvFormat(FIELDS), ...ENDPOINTS].entries()) {
  Deno.test(`watch and scan -iL read rows in the format ${format.name} by their content`, async () => {
    const text = fileOf(format, [SQP, BEHIND]);
    for (const name of ["rows.json", "rows", "rows.txt"]) {
      const servers = await serversOf(name, text, (path) => ({ words: [], files: [path] }));
      assertEquals(servers.map(({ endpoint }) => endpoint.port), [9000, 9001], name);
      const known = servers.map(({ row }) => row?.protocols);
      assertEquals(known, i < 2 ? [["sqp"], ["sqp"]] : [undefined, undefined]);
      assertEquals(servers.map((server) => server.firstDelayMs(Date.now(), () => 0.5)), [0, 0]);
    }
    const targets = (await withoutRows(text, "x")).split(/\s+/).filter((word) => word !== "");
    assertEquals(targets, ["127.0.0.1:9000", "127.0.0.1:9001"]);
  });
}

Deno.test("two servers with one link-local address in two zones are two servers", async () => {
  const link = 0xfe80n << 112n | 1n;
  const row = (zone: string) => ({
    ...emptyRecord({ address: link, port: 19132, zone }, 5),
    ...{ protocol: "raknet", protocols: ["raknet"] },
  });
  for (const [name, format] of [["a.ndjson", ndjsonFormat], ["a.csv", csvFormat]] as const) {
    const servers = await serversOf(name, fileOf(format(FIELDS), [row("eth0"), row("eth1")]));
    const shown = servers.map(({ endpoint, identity, subject }) => [
      endpoint.zone,
      identity.key,
      subject.host,
    ]);
    assertEquals(shown, [
      ["eth0", "[fe80::1%eth0]:19132", "fe80::1%eth0"],
      ["eth1", "[fe80::1%eth1]:19132", "fe80::1%eth1"],
    ]);
  }
  const words = ["[fe80::1%eth0]:7", "[fe80::1%eth1]:7"];
  const named = await serversOf("a", "", () => ({ words }));
  assertEquals(named.map(({ identity }) => identity.key), words);
});

Deno.test("a word with a suffix of an output is a file, and is not looked up", async () => {
  for (const name of ["rows.json", "rows.jsonl", "rows.gnmap"]) {
    assertEquals((await serversOf(name, '[\n{"host":"127.0.0.1","port":5}\n]\n')).length, 1, name);
  }
});

Deno.test("a list of targets has hosts without ports, several on a line, and comments", async () => {
  const text = "# known\n127.0.0.1:5, 127.0.0.2:6 # two\n127.0.0.3\n";
  const protocols = PROTOCOLS.filter(({ name }) => name === "raknet");
  const servers = await serversOf("rows.txt", text, () => ({ protocols }));
  assertEquals(servers.map(({ endpoint }) => endpoint.port), [5, 6, 19132]);
  assertEquals(await withoutRows(text, "x"), "\n127.0.0.1:5, 127.0.0.2:6 # two\n127.0.0.3");
});

Deno.test("a broken row is no target, and a host may be named host", async () => {
  const rows = "host,port\n127.0.0.1,5\n127.0.0.2\n";
  const reported: string[] = [];
  const report = (line: string) => void reported.push(line);
  assertEquals((await serversOf("a.csv", rows, () => ({ report }))).length, 1);
  assertEquals(reported.length, 1);
  assertEquals(await withoutRows("host\n10.0.0.1", "x"), "host\n10.0.0.1");
});

Deno.test("scan -iL reads XML and formatted JSON, and refuses a broken row with its line", async () => {
  const xml = '<?xml version="1.0"?>\n<nmaprun><host><address addr="10.0.0.7" addrtype="ipv4"/>\n' +
    '<ports><port protocol="udp" portid="19132"><state state="open"/></port></ports></host></nmaprun>';
  assertEquals(await withoutRows(xml, "x"), "\n\n10.0.0.7:19132");
  const json = JSON.stringify([{ ip: "10.0.0.7", ports: [{ port: 5 }] }], null, 2);
  assertEquals((await withoutRows(json, "x")).trim(), "10.0.0.7:5");
  const broken: readonly (readonly [text: string, why: string])[] = [
    ["<html>", 'Cannot read "x": line 1'],
    ["<nmaprun>", "x:1: Cannot read this row"],
    ["10.0.0.1:5\nhost,port\n10.0.0.1,x", "x:3: Cannot read this row"],
    ['\n{"ip":"10.0.0.1",', "x:2: Cannot read this row"],
  ];
  for (const [text, why] of broken) {
    await assertRejects(() => withoutRows(text, "x"), InputError, why);
  }
});

Deno.test("watch takes over from a row that a server is offline", async () => {
  const text = JSON.stringify({ ...SQP, online: false, missed_scans: 4, probed_at: 7 });
  const [server] = await serversOf("a.jsonl", text);
  assertEquals([server.online, server.misses], [false, server.rules.downAfter]);
});

Deno.test("watch refuses a file without a server, and XML of other programs", async () => {
  await assertRejects(
    () => serversOf("a.ndjson", "{}\n"),
    InputError,
    "there is no server that may be polled",
  );
  await assertRejects(() => serversOf("a.csv", "<html>\n"), InputError, 'a.csv": line 1');
});

Deno.test("servers whose addresses opted out are left out and counted, and at least one has to be left", () => {
  const rules = {
    ...{ intervalMs: 60_000, downAfter: 3, scanId: "w" },
    ...{ newEventId: () => "event", allProtocols: PROTOCOLS },
  };
  const servers = [1, 2, 3].map((port) =>
    new WatchedServer({ address: 0x0a000000 + port, port }, null, rules)
  );
  const lines: string[] = [];
  const without = (...addresses: number[]) => {
    const optedOut = addresses.map((address) => ({ start: address, end: address + 1 }));
    const left = withoutOptedOut(servers, optedOut, (line) => lines.push(line));
    return left.map(({ endpoint: { port } }) => port);
  };
  assertEquals([without(), lines.length], [[1, 2, 3], 0]);
  assertEquals(without(0x0a000001, 0x0a000003), [2]);
  assertEquals([lines.length, lines[0].includes("2 servers")], [1, true], lines[0]);
  assertThrows(() => without(0x0a000001, 0x0a000002, 0x0a000003), InputError, "opted out");
});

Deno.test("a watch leaves out names that are not found, with their lines, unless it is strict", async () => {
  const [notes, reports]: string[][] = [[], []];
  const resolve = (name: string) =>
    name === "play.example"
      ? Promise.resolve([0x7f000001])
      : Promise.reject(new InputError(`Cannot find host "${name}"`));
  const sources = (path: string) => ({
    words: ["off.example"],
    files: [path],
    allowPrivate: true,
    protocols: usualProtocols(PROTOCOLS),
    lookups: { resolve },
    report: (line: string) => reports.push(line),
    note: (line: string) => notes.push(line),
  });
  const list = "# mine\ndead.example:19132\nplay.example:19132\n";
  const servers = await serversOf("list", list, sources);
  assertEquals(servers.map(({ name }) => name), ["play.example"]);
  assertEquals(reports, ["blocksweep: left out 2 names that cannot be found"]);
  assertEquals(notes.map((note) => note.replace(/^.*\/(?=list:)/, "")), [
    'Cannot find host "off.example"',
    'list:2: Cannot find host "dead.example"',
  ]);
  const refuses = (text: string, over: Partial<WatchSources>, message: string) =>
    assertRejects(
      () => serversOf("list", text, (path) => ({ ...sources(path), ...over })),
      InputError,
      message,
    );
  await refuses(list, { strict: true }, "Cannot find 2 names");
  await refuses("\ndead.example", { words: [] }, 'list:2: Cannot find host "dead.example"');
  await refuses(
    "play.example\n10.0.0.0/24",
    {},
    'list:2: Cannot watch "10.0.0.0/24": it is a range',
  );
});
