/**
 * Covers src/store/rows/server_values.ts, src/store/rows/stored_record.ts,
 * src/store/rows/stored_values.ts and src/store/rows/content_hash.ts.
 */
import { assert, assertEquals, assertNotEquals } from "@std/assert";
import fc from "npm:fast-check@4.10.2";
import { FIELDS, type ServerRecord } from "../../src/core/record.ts";
import {
  nameKey,
  storable,
  storableJson,
  storableTime,
  storableUuid,
  versionKey,
} from "../../src/store/rows/stored_values.ts";
import { contentHash } from "../../src/store/rows/content_hash.ts";
import { identityOf } from "../../src/store/rows/identity.ts";
import { SERVER_COLUMNS, serverValues } from "../../src/store/rows/server_values.ts";
import { fieldOf, type ListedRecord, recordOf } from "../../src/store/rows/stored_record.ts";
import type { Row, Value } from "../../src/store/database/database.ts";
import { NASTY, record } from "./records.ts";

const STATE = { online: true, missed_scans: 0, first_seen: 5, probed_at: 9 };

/** A row in the form of a query for RECORD_COLUMNS. */
function rowOf(one: ServerRecord): Row {
  const values = serverValues(one, identityOf(one)!);
  const columns = SERVER_COLUMNS.map(([name], i): [string, Value] => [name, values.columns[i]]);
  return {
    ...Object.fromEntries(columns),
    host: values.columns[3],
    players_online: values.playersOnline,
    players_max: values.playersMax,
    players: values.players,
    latency_ms: one.latency_ms,
    seen_at: one.seen_at,
    scan_id: one.scan_id,
    ...STATE,
    online: 1,
    changed_at: 4,
    player_flags: null,
    players_at: 6,
  };
}

const storedHash = (one: ServerRecord) => String(rowOf(one).content);

Deno.test("a record is unchanged after conversion to columns and back", () => {
  const whole = (text: string) => text.replaceAll("\0", "");
  const plain = fc.string({ unit: "grapheme" }).map(whole);
  const names = fc.option(fc.array(plain, { maxLength: 3 }));
  const text = fc.option(fc.string({ unit: "grapheme" }).map((one) => one.replaceAll("\0", "")));
  const one = fc.record({
    motd: text,
    version: text,
    players: names,
    players_online: fc.option(fc.integer()),
    latency_ms: fc.option(fc.double({ noNaN: true, noDefaultInfinity: true })),
    joinable: fc.option(fc.boolean()),
    plugins: fc.option(fc.constant([{ name: "a", version: null }])),
    extras: fc.option(fc.constant({ query: { values: { x: "y" } } })),
    flags: fc.constantFrom([], ["motdNul"]),
  });
  fc.assert(
    fc.property(one, (rest) => {
      const whole = record(7, rest as Partial<ServerRecord>);
      assertEquals(recordOf(rowOf(whole)), {
        ...whole,
        ...STATE,
        changed_at: 4,
        players_at: whole.players === null ? null : 6,
        player_flags: null,
      });
    }),
    { seed: 4, numRuns: 1000 },
  );
});

Deno.test("every field has exactly one column", () => {
  const names = SERVER_COLUMNS.map(([name]) => name);
  assertEquals(new Set(names).size, names.length);
  const elsewhere = FIELDS.map(({ name }) => name as string).filter((name) =>
    !names.includes(name)
  );
  assertEquals(elsewhere, [
    ...["host", "players_online", "players_max", "players", "latency_ms", "seen_at", "scan_id"],
  ]);
});

Deno.test("stored text has no NUL and no lone surrogate", () => {
  for (const text of NASTY) {
    const stored = storable(text);
    assert(stored.isWellFormed() && !stored.includes("\0"));
    assertEquals(storable(stored), stored);
  }
  assertEquals(storable("a\0\ud800🦆"), "a␀\ufffd🦆");
});

Deno.test("counts that do not fit into 32 bits are clamped and flagged, and others are null", () => {
  for (const players_online of [NaN, Infinity, 2 ** 60, 1.5]) {
    assertEquals(rowOf(record(7, { players_online })).players_online, null);
  }
  const many = rowOf(record(7, { players_online: 2 ** 52, players_max: -(2 ** 40), flags: ["z"] }));
  assertEquals([many.players_online, many.players_max], [2 ** 31 - 1, -(2 ** 31)]);
  assertEquals(many.flags, '["countClamped","z"]');
  assertEquals(rowOf(record(7, { players_online: 2 ** 31 - 1 })).flags, "[]");
});

Deno.test("the content hash covers what a server publishes, except its players", () => {
  const hash = storedHash(record(7));
  assertEquals(hash.length, 16);
  const same = { players_online: 49, players: ["Ann"], latency_ms: 3, seen_at: 8, scan_id: "x" };
  assertEquals(storedHash(record(7, same)), hash);
  const others: Partial<ServerRecord>[] = [
    { motd: "§aServer 8" },
    { motd: "" },
    { motd: null },
    { version: "1" },
    { map: "1" },
    { players_max: 1 },
    { players_max: 10 },
    { plugins: [] },
    { joinable: false },
    { joinable: true },
    { protocols: ["raknet"] },
  ];
  const hashes = others.map((one) => storedHash(record(7, one)));
  assertEquals(new Set([hash, ...hashes]).size, others.length + 1);
  assertNotEquals(storedHash(record(7, { version: "a" })), storedHash(record(7, { map: "a" })));
});

Deno.test("a change of one character, at any position, changes the content hash", () => {
  fc.assert(
    fc.property(
      fc.string({ minLength: 1, maxLength: 20 }),
      fc.nat(),
      fc.nat(),
      (text, at, more) => {
        const place = at % text.length;
        const other = String.fromCharCode((text.charCodeAt(place) + 1 + more % 90) % 0x300 + 1);
        const changed = text.slice(0, place) + other + text.slice(place + 1);
        if (changed === text) return;
        assertNotEquals(
          storedHash(record(7, { motd: text })),
          storedHash(record(7, { motd: changed })),
        );
      },
    ),
    { seed: 6, numRuns: 20_000 },
  );
  const hashes = new Set(
    Array.from(
      { length: 50_000 },
      (_, i) => storedHash(record(7, { motd: String.fromCharCode(1 + i % 250, 1 + i / 250) })),
    ),
  );
  assertEquals(hashes.size, 50_000);
});

Deno.test("texts of each length that differ in one unit, or in the number of units, have other hashes", () => {
  const texts = Array.from(
    { length: 12 },
    (_, length) =>
      Array.from(
        { length: 2 ** length },
        (_, i) => i.toString(2).padStart(length, "0").slice(-length || 2),
      ),
  ).flat();
  const hashes = new Set(texts.map((text) => contentHash(text.replaceAll("0", "\0"))));
  assertEquals(hashes.size, new Set(texts).size);
});

Deno.test("the content hash differs between unknown and empty values, and between columns", () => {
  const empty = { edition: "", software: "", proxy: "", map: "", gamemode: "" };
  const names = Object.keys(empty) as (keyof typeof empty)[];
  const texts = [null, "", "a", "=", "a="];
  const hashes = new Set<string>();
  const records = names.flatMap((name) =>
    names.flatMap((other) =>
      texts.flatMap((text) =>
        texts.map((more) => record(7, { ...empty, [name]: text, [other]: more }))
      )
    )
  );
  const distinct = new Set(records.map((one) => JSON.stringify(names.map((name) => one[name]))));
  for (const one of records) hashes.add(storedHash(one));
  assertEquals(hashes.size, distinct.size);
});

Deno.test("stored JSON has no NUL and no lone surrogate, neither in values nor in keys", () => {
  for (const text of NASTY) {
    const stored = storableJson({ [text]: [text, { ["__proto__"]: text }], n: 1 });
    const parsed = JSON.parse(stored);
    assert(!/\\u0000|\\ud[89a-f]/.test(stored), stored.slice(0, 50));
    assertEquals(parsed[storable(text)][0], storable(text));
    assertEquals(parsed.n, 1);
    assertEquals(storableJson(parsed), stored);
  }
  assertEquals(storableJson({ a: "🦆" }), '{"a":"🦆"}');
});

Deno.test("times out of range, and identities of scans that are not UUIDs, are null", () => {
  for (const time of [-1, NaN, Infinity, 1.5, 1e15, null]) assertEquals(storableTime(time), null);
  assertEquals([0, 1.7e12, 253_402_300_799_999].map(storableTime), [
    0,
    1.7e12,
    253_402_300_799_999,
  ]);
  for (const id of ["", "scan-1", "'", "01a3156c-0000-7000-8000-00000000000g", null]) {
    assertEquals(storableUuid(id), null);
  }
  const id = "01A3156C-0000-7000-8000-0000000000FF";
  assertEquals(storableUuid(id), id.toLowerCase());
});

Deno.test("versions are sorted by their numbers, and names without case and width", () => {
  const versions = ["", "1", "1.9", "1.9.1", "1.21", "1.21.5", "1.21.50", "1.100", "2.0", "v1.2"];
  assertEquals(versions.toSorted((a, b) => versionKey(a) < versionKey(b) ? -1 : 1), versions);
  assertEquals(versionKey("1.021"), versionKey("1.21"));
  assertEquals([versionKey(null), nameKey(null)], ["", ""]);
  assertEquals(nameKey("  ＡBC Ä"), "abc ä");
  for (const text of NASTY) {
    for (const key of [versionKey(text), nameKey(text)]) {
      assert(key.isWellFormed() && !key.includes("\0") && key.length <= 200);
    }
  }
});

Deno.test("each cell that another program broke is reported, and counts as empty", () => {
  const row = rowOf(record(7, { players: ["Ann"], motd: "a" }));
  const broken = (cells: Row) => {
    const columns: string[] = [];
    const read = recordOf({ ...row, ...cells }, ({ key, column }) => {
      assertEquals(key, "127.0.0.1:7");
      columns.push(column);
    });
    return [columns, read] as const;
  };
  assertEquals(broken({}), [[], recordOf(row)]);
  const cases: [Partial<ListedRecord>, Value][] = [
    [{ players: null, players_at: null }, "{"],
    [{ players: null, players_at: null }, "[1]"],
    [{ plugins: null }, '[{"name":"a"}]'],
    [{ extras: null }, "[]"],
    [{ player_flags: null }, "[]"],
    [{ flags: [] }, '"a"'],
    [{ protocols: [] }, "null"],
    [{ players_max: null }, 2.5],
    [{ port: 0 }, "x"],
    [{ missed_scans: 0 }, 0.5],
    [{ first_seen: 0 }, -1],
    [{ probed_at: 0 }, 1e15],
    [{ changed_at: 0 }, "soon"],
  ];
  for (const [empty, cell] of cases) {
    const [column] = Object.keys(empty);
    assertEquals(broken({ [column]: cell } as Row), [[column], { ...recordOf(row), ...empty }]);
  }
  assertEquals([fieldOf("flags", '["cut"]'), fieldOf("players_max", 7)], [["cut"], 7]);
  assertEquals([fieldOf("flags", "["), fieldOf("players_max", 2.5)], [null, null]);
  const [columns, { host }] = broken({ host: "nowhere" });
  assertEquals([columns, host], [["address"], "nowhere"]);
});
