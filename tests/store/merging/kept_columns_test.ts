/** Which columns a row keeps when a scan does not query them. */
import { assertEquals, assertNotEquals } from "@std/assert";
import { parseAddress } from "../../../src/core/address.ts";
import { emptyRecord, type ServerRecord } from "../../../src/core/record.ts";
import { PROTOCOLS } from "../../../src/protocols/list.ts";
import type { Database } from "../../../src/store/database/database.ts";
import type { InterviewScope } from "../../../src/store/merging/kept_columns.ts";
import { writeImportedRecords } from "../../../src/store/writers/import_writer.ts";
import { Store } from "../../../src/store/store.ts";
import { all, onEngines, SEEN, storedServers } from "../databases.ts";
import { record, scanId } from "../records.ts";

const USUAL: InterviewScope = {
  allProtocols: PROTOCOLS,
  protocols: ["raknet", "slp", "query"],
  follow: true,
  verify: false,
};

/** Writes the records of several scans in turn, and reads the resulting row. */
async function after(
  database: Database,
  ...scans: readonly (readonly [Partial<ServerRecord>, InterviewScope])[]
) {
  for (const [i, [rest, queried]] of scans.entries()) {
    const store = new Store(database, () => Promise.resolve(), queried);
    await store.write([
      record(1, { seen_at: 1000 + i, scan_id: scanId(i), ...rest }),
      record(2, { seen_at: 1000 + i, scan_id: scanId(i) }),
    ]);
  }
  return (await storedServers(database)).find(({ port }) => port === 1)!;
}

const hashes = (database: Database) =>
  all(
    database,
    `select distinct content from ${SEEN} where server_id = '127.0.0.1:1'`,
  );

onEngines(
  "the columns that an added protocol verifies are kept when a scan does not verify",
  async (db) => {
    const [raknet, ...others] = PROTOCOLS;
    const verify = { ...raknet.verify!, columns: ["map"] as const };
    const scope = { ...USUAL, allProtocols: [{ ...raknet, verify }, ...others] };
    const first = { map: "world", joinable: true };
    const { map, joinable } = await after(db, [first, { ...scope, verify: true }], [
      { map: null, joinable: null },
      scope,
    ]);
    assertEquals([map, joinable], ["world", null]);
  },
);

onEngines("columns of verification are kept when a scan does not verify", async (db) => {
  const verified = { joinable: true, mtu: 1400, raknet_protocol: 11 };
  const row = await after(db, [verified, { ...USUAL, verify: true }], [{}, USUAL], [{}, USUAL]);
  assertEquals([row.joinable, row.mtu, row.raknet_protocol], [true, 1400, 11]);
  assertEquals([row.seen_at, row.scan_id], [1002, scanId(2)]);
  assertEquals((await hashes(db)).length, 1); // the content is unchanged
  const again = await after(db, [{ seen_at: 2000 }, { ...USUAL, verify: true }]);
  assertEquals([again.joinable, again.mtu], [null, null]); // verified, without a result
});

onEngines(
  "a server without a verifiable protocol loses the columns of verification",
  async (db) => {
    const java = { protocol: "slp", protocols: ["slp"] };
    const row = await after(db, [{ joinable: true }, USUAL], [java, USUAL]);
    assertEquals([row.joinable, row.protocols], [null, ["slp"]]);
  },
);

onEngines("a first reply that lost parts fills the row of an imported endpoint", async (db) => {
  const endpoint = emptyRecord({ address: parseAddress("127.0.0.1")!, port: 1 }, 1000);
  const state = { online: false, missed_scans: 0, first_seen: 1000, probed_at: 1000 };
  const imported = { ...endpoint, ...state, changed_at: 1000, players_at: null };
  await writeImportedRecords(db, [imported], PROTOCOLS);
  const published = { name: "first", version: "1.21", flags: ["statLost"], seen_at: 2000 };
  const keepsAll = { ...USUAL, downAfter: 3, dropped: () => [] };
  const { name, version, flags } = await after(db, [published, keepsAll]);
  assertEquals([name, version, flags], ["first", "1.21", ["statLost"]]);
});

onEngines("columns of protocols that a scan does not query are kept", async (db) => {
  const whole = {
    protocols: ["raknet", "slp", "query"],
    plugins: [{ name: "A", version: null }],
    favicon_hash: "ab",
    extras: { query: { a: "1" }, raknet: { b: "2" } },
    latency_ms: 7,
  };
  const part = { protocols: ["raknet"], motd: "new", extras: { raknet: { b: "3" } } };
  const raknet = { ...USUAL, protocols: ["raknet"] };
  const row = await after(db, [whole, USUAL], [part, raknet], [part, raknet]);
  assertEquals([row.protocol, row.protocols], ["raknet", ["raknet", "slp", "query"]]);
  assertEquals([row.plugins, row.favicon_hash, row.motd], [whole.plugins, "ab", "new"]);
  assertEquals(row.extras, { query: { a: "1" }, raknet: { b: "3" } });
  assertEquals(row.latency_ms, null); // never from an earlier scan
  const queried = await after(db, [{ ...part, seen_at: 5000 }, USUAL]);
  assertEquals([queried.protocols, queried.plugins, queried.favicon_hash], [
    ["raknet"],
    null,
    null,
  ]);
  assertNotEquals((await hashes(db)).length, 1);
});

onEngines("columns of protocols that a known server was not sent are kept", async (db) => {
  const whole = {
    protocols: ["raknet", "query"],
    map: "world",
    motd: "old",
    extras: { query: { a: "1" }, raknet: { b: "2" } },
  };
  const part = { protocols: ["raknet"], motd: "new", extras: { raknet: { b: "3" } } };
  const of = (names: string[]) => ({
    ...USUAL,
    protocolsFor: ({ port }: ServerRecord) => port === 1 ? names : undefined,
  });
  const row = await after(db, [whole, USUAL], [part, of(["raknet"])]);
  assertEquals([row.protocols, row.map, row.motd], [["raknet", "query"], "world", "new"]);
  assertEquals(row.extras, { query: { a: "1" }, raknet: { b: "3" } });
  const queried = await after(db, [{ ...part, seen_at: 5000 }, of(["raknet", "query"])]);
  assertEquals([queried.protocols, queried.map], [["raknet"], null]);
  const again = await after(db, [{ ...whole, seen_at: 6000 }, USUAL]);
  assertEquals(again.map, "world");
  const other = await after(db, [{ ...part, seen_at: 7000 }, {
    ...USUAL,
    protocolsFor: ({ port }) => port === 2 ? ["raknet"] : undefined,
  }]);
  assertEquals([other.protocols, other.map], [["raknet"], null]); // queried like any other target
});

onEngines("without follow-ups, only protocols that replied count as queried", async (db) => {
  const whole = { protocols: ["raknet", "query"], map: "world" };
  const part = { protocols: ["raknet"] };
  const row = await after(db, [whole, USUAL], [part, { ...USUAL, follow: false }]);
  assertEquals([row.protocols, row.map], [["raknet", "query"], "world"]);
});

const NUKKIT = {
  protocols: ["raknet", "query"],
  plugins: [{ name: "A", version: null }],
  software: "Nukkit 1.0",
  software_confidence: "A",
  joinable: true,
  mtu: 1400,
  extras: { raknet: {}, query: { a: "1" } },
};
const CUT = { protocols: ["raknet"], extras: { raknet: {} }, flags: ["cutShort"] };

onEngines(
  "an interview that was cut short keeps the columns of protocols that were not sent",
  async (db) => {
    const verifying = { ...USUAL, verify: true };
    const row = await after(db, [NUKKIT, verifying], [CUT, verifying]);
    assertEquals([row.protocols, row.plugins, row.software, row.joinable, row.mtu], [
      ["raknet", "query"],
      NUKKIT.plugins,
      "Nukkit 1.0",
      true,
      1400,
    ]);
    assertEquals([row.flags, row.extras], [["cutShort"], NUKKIT.extras]);
    const whole = await after(db, [{ ...CUT, flags: [], seen_at: 5000 }, verifying]);
    assertEquals([whole.protocols, whole.plugins, whole.joinable], [["raknet"], null, null]);
  },
);

onEngines("a software's version is kept when the new reply has its name only", async (db) => {
  const reported = (software: string) => ({ ...CUT, software, software_confidence: "C" });
  const row = await after(db, [NUKKIT, USUAL], [reported("Nukkit"), USUAL]);
  assertEquals([row.software, row.software_confidence], ["Nukkit 1.0", "A"]);
  const other = await after(db, [{ ...reported("NukkitX"), seen_at: 5000 }, USUAL]);
  assertEquals([other.software, other.software_confidence], ["NukkitX", "C"]);
  const queried = await after(db, [{ ...reported("Nukkit"), flags: [], seen_at: 6000 }, USUAL]);
  assertEquals([queried.software, queried.software_confidence], ["Nukkit", "C"]);
});

onEngines(
  "a row has either SQP or protocols that suppress SQP, as in the last reply",
  async (db) => {
    const unity = { protocol: "sqp", protocols: ["sqp"] };
    const sqp = { ...USUAL, protocols: ["sqp"] };
    const bedrock = await after(db, [unity, sqp], [{ protocols: ["raknet"] }, USUAL]);
    assertEquals(bedrock.protocols, ["raknet"]);
    const turned = await after(db, [{ ...unity, seen_at: 5000 }, sqp]);
    assertEquals(turned.protocols, ["sqp"]);
  },
);

onEngines("an older record takes no columns from a newer row", async (db) => {
  const row = await after(
    db,
    [{ joinable: true, seen_at: 9000 }, { ...USUAL, verify: true }],
    [{ seen_at: 10 }, USUAL],
  );
  assertEquals([row.joinable, row.seen_at], [true, 9000]);
});

/** A server that speaks two protocols, its reply without Query, and a scan that queries both. */
const WHOLE = {
  protocols: ["raknet", "query"],
  motd: "Hi",
  map: "world",
  extras: { raknet: {}, query: { a: "1" } },
};
const PART = { protocols: ["raknet"], motd: "Hi", extras: { raknet: {} } };
const PATIENT: InterviewScope = { ...USUAL, downAfter: 3 };
const hour = 3_600_000;

/** The kinds of a server's events, without the first. */
const kindsOf = async (database: Database) =>
  (await all(
    database,
    "select kind from events where server = (select id from servers where key = '127.0.0.1:1')",
  )).slice(1).map(({ kind }) => kind);

onEngines(
  "a protocol that does not reply to single scans keeps its values, and no event reports a change",
  async (db) => {
    const scans = [WHOLE, PART, PART, WHOLE, PART, PART].map((rest, i) =>
      [{ ...rest, seen_at: Date.now() + i * hour }, PATIENT] as const
    );
    const row = await after(db, ...scans);
    assertEquals([row.protocols, row.map], [["raknet", "query"], "world"]);
    assertEquals([await kindsOf(db), (await hashes(db)).length], [[], 1]);
    const third = await after(db, [{ ...PART, seen_at: Date.now() + 9 * hour }, PATIENT]);
    assertEquals([third.protocols, third.map, third.extras], [["raknet"], null, { raknet: {} }]);
    assertEquals([await kindsOf(db), (await hashes(db)).length], [["changed"], 2]);
  },
);

onEngines("scans that run at the same time count one missing reply", async (db) => {
  const now = Date.now();
  await after(db, [{ ...WHOLE, seen_at: now - 3000 }, PATIENT]);
  for (const ago of [2000, 1900, 1800, 1700]) {
    await after(db, [{ ...PART, seen_at: now - ago }, PATIENT]);
  }
  const row = await after(db, [{ ...PART, seen_at: now - 1600 }, PATIENT]);
  assertEquals([row.protocols, await kindsOf(db)], [["raknet", "query"], []]);
  const later = await after(
    db,
    ...[1, 2].map((i) => [{ ...PART, seen_at: now + i * hour }, PATIENT] as const),
  );
  assertEquals([later.protocols, await kindsOf(db)], [["raknet"], ["changed"]]);
});

onEngines("a scan that does not query a protocol neither counts nor resets it", async (db) => {
  const raknet = { ...PATIENT, protocols: ["raknet"] };
  const scopes = [PATIENT, PATIENT, raknet, PATIENT, raknet, raknet, PATIENT];
  const rows = [];
  for (const [i, scope] of scopes.entries()) {
    const rest = i === 0 ? WHOLE : PART;
    rows.push(await after(db, [{ ...rest, seen_at: Date.now() + i * hour }, scope]));
  }
  const both = ["raknet", "query"];
  const expected = [both, both, both, both, both, both, ["raknet"]];
  assertEquals(rows.map(({ protocols }) => protocols), expected);
});

onEngines("replies that all lost parts keep the columns that one of them has", async (db) => {
  const whole = { ...WHOLE, version: "1.21" };
  const scan = (at: number, rest: Partial<ServerRecord>) =>
    [{ ...whole, ...rest, seen_at: Date.now() + at * hour }, PATIENT] as const;
  const changes = () =>
    all(
      db,
      "select e.kind from events e join servers s on s.id = e.server " +
        "where s.port = 1 and e.kind = 'changed'",
    );
  const flags = ["truncated"];
  const lossy = [{ map: null }, { version: null }, { map: null, motd: null }];
  const row = await after(db, ...lossy.map((lost, i) => scan(i, { ...lost, flags })));
  assertEquals([row.map, row.version, row.motd], ["world", "1.21", "Hi"]);
  await after(db, scan(4, {}));
  assertEquals(await changes(), []);
  await after(db, scan(5, { map: "nether" }));
  assertEquals((await changes()).length, 1);
});

onEngines(
  "a reply with a lost part changes nothing but players, until enough in a row",
  async (db) => {
    const lossy = { ...WHOLE, map: null, flags: ["fullLost"], players_online: 7 };
    const scans = [WHOLE, lossy, lossy].map((rest, i) =>
      [{ ...rest, seen_at: Date.now() + i * hour }, PATIENT] as const
    );
    const row = await after(db, ...scans);
    assertEquals([row.map, row.flags, row.players_online], ["world", [], 7]);
    const third = await after(db, [{ ...lossy, seen_at: Date.now() + 9 * hour }, PATIENT]);
    assertEquals([third.map, third.flags], [null, ["fullLost"]]);
  },
);

onEngines("a suppressed protocol loses its values at once", async (db) => {
  const sqp = { protocol: "sqp", protocols: ["sqp"], map: "x" };
  const scope = { ...PATIENT, protocols: ["raknet", "sqp"] };
  const row = await after(db, [sqp, scope], [{ protocols: ["raknet"], map: null }, scope]);
  assertEquals([row.protocols, row.map], [["raknet"], null]);
});
