/** Covers src/app/targets/servers_in_files.ts. */
import { assertEquals, assertRejects } from "@std/assert";
import { readWatchTargets, type WatchSources } from "../../../src/app/targets/watch_targets.ts";
import { readServerRows } from "../../../src/app/targets/servers_in_files.ts";
import { InputError } from "../../../src/core/errors.ts";
import { PROTOCOLS } from "../../../src/protocols/list.ts";
import { emptyRecord, FIELDS, type ServerRecord } from "../../../src/core/record.ts";
import { csvFormat } from "../../../src/sinks/csv.ts";
import { ndjsonFormat } from "../../../src/sinks/json.ts";
import type { Format } from "../../../src/sinks/sink.ts";

const SQP: ServerRecord = {
  ...emptyRecord({ address: 0x7f000001, port: 9000 }, 5),
  ...{ protocol: "sqp", protocols: ["sqp"], motd: "=a", players: ["Ann"] },
  requested_as: "play.example.org",
};
const BARE = emptyRecord({ address: 0x7f000001, port: 19132 }, 5);
const BEHIND = { ...SQP, port: 9001, requested_as: "a.example SRV mc1.example.org:25570" };

/** The servers of a file with this text. */
async function serversOf(name: string, text: string, over: Partial<WatchSources> = {}) {
  const folder = await Deno.makeTempDir();
  try {
    await Deno.writeTextFile(`${folder}/${name}`, text);
    return await readWatchTargets({
      ...{ words: [`${folder}/${name}`], files: [], lists: [], optedOut: [], allowPrivate: false },
      ...{ protocols: PROTOCOLS, names: false, report: () => {}, note: () => {} },
      rules: { intervalMs: 60_000, downAfter: 3, scanId: "w", newEventId: () => "event" },
      lookups: { resolve: () => Promise.reject(new Error("no name is looked up")) },
      readRows: readServerRows,
      ...over,
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
    const [named] = await serversOf(name, text, { names: true });
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

Deno.test("watch takes over from a row that a server is offline", async () => {
  const text = JSON.stringify({ ...SQP, online: false, missed_scans: 4, last_seen: 7 });
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
