import { assert, assertEquals, assertNotEquals } from "@std/assert";
import fc from "npm:fast-check@4.10.2";
import { FIELDS, type ServerRecord } from "../../src/core/record.ts";
import {
  recordOf,
  SERVER_COLUMNS,
  serverValues,
  storable,
} from "../../src/store/server_columns.ts";
import type { Row } from "../../src/store/database/database.ts";
import { NASTY, record } from "./records.ts";

const STATE = { online: true, failures: 0, first_seen: 5, last_seen: 9 };

function rowOf(one: ServerRecord): Row {
  const values = serverValues(one, "id", STATE);
  return Object.fromEntries(SERVER_COLUMNS.map(([name], i) => [name, values[i]]));
}

const contentHash = (one: ServerRecord) => String(rowOf(one).content_hash);

Deno.test("a record is unchanged after conversion to columns and back", () => {
  const names = fc.option(fc.array(fc.string({ unit: "binary" }), { maxLength: 3 }));
  const text = fc.option(fc.string({ unit: "grapheme" }).map((one) => one.replaceAll("\0", "")));
  const one = fc.record({
    motd: text,
    version: text,
    players: names,
    players_online: fc.option(fc.maxSafeInteger()),
    latency_ms: fc.option(fc.double({ noNaN: true, noDefaultInfinity: true })),
    joinable: fc.option(fc.boolean()),
    plugins: fc.option(fc.constant([{ name: "a\0", version: null }])),
    extras: fc.option(fc.constant({ query: { values: { x: "\ud800\0" } } })),
    flags: fc.constantFrom([], ["motdNul"]),
  });
  fc.assert(
    fc.property(one, (rest) => {
      const whole = record(7, rest as Partial<ServerRecord>);
      assertEquals(recordOf(rowOf(whole)), { ...whole, ...STATE });
    }),
    { seed: 4, numRuns: 1000 },
  );
});

Deno.test("every field has exactly one column", () => {
  const names = SERVER_COLUMNS.map(([name]) => name);
  assertEquals(new Set(names).size, names.length);
  assert(names.length > FIELDS.length);
});

Deno.test("stored text has no NUL and no lone surrogate", () => {
  for (const text of NASTY) {
    const stored = storable(text);
    assert(stored.isWellFormed() && !stored.includes("\0"));
    assertEquals(storable(stored), stored);
  }
  assertEquals(storable("a\0\ud800🦆"), "a␀\ufffd🦆");
});

Deno.test("numbers that a bigint cannot hold are stored as null", () => {
  for (const players_online of [NaN, Infinity, 2 ** 60, 1.5]) {
    assertEquals(rowOf(record(7, { players_online })).players_online, null);
  }
  assertEquals(rowOf(record(7, { players_online: 2 ** 52 })).players_online, 2 ** 52);
});

Deno.test("the content hash covers what a server publishes, except its players", () => {
  const hash = contentHash(record(7));
  assertEquals(hash.length, 16);
  const same = { players_online: 49, players: ["Ann"], latency_ms: 3, seen_at: 8, scan_id: "x" };
  assertEquals(contentHash(record(7, same)), hash);
  const others: Partial<ServerRecord>[] = [
    { motd: "§aServer 8" },
    { motd: "" },
    { version: "1" },
    { map: "1" },
    { players_max: 1 },
    { players_max: 10 },
    { plugins: [] },
    { joinable: false },
    { joinable: true },
    { protocols: ["raknet"] },
  ];
  const hashes = others.map((one) => contentHash(record(7, one)));
  assertEquals(new Set([hash, ...hashes]).size, others.length + 1);
  assertNotEquals(contentHash(record(7, { version: "a" })), contentHash(record(7, { map: "a" })));
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
          contentHash(record(7, { motd: text })),
          contentHash(record(7, { motd: changed })),
        );
      },
    ),
    { seed: 6, numRuns: 20_000 },
  );
  const hashes = new Set(
    Array.from(
      { length: 50_000 },
      (_, i) => contentHash(record(7, { motd: String.fromCharCode(1 + i % 250, 1 + i / 250) })),
    ),
  );
  assertEquals(hashes.size, 50_000);
});
