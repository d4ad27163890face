import { assertEquals, assertThrows } from "@std/assert";
import { isScanName, namedScan } from "../../../src/app/databases/named_scans.ts";
import { InputError } from "../../../src/core/errors.ts";

const at = (text: string) => Date.parse(text);
const NOW = at("2026-11-29T12:00:00Z");

const SCANS = [
  ["019a9c0d-0003-7000-8000-000000000001", "2026-11-29T10:00:00Z"],
  ["019a9c0d-0002-7000-8000-000000000001", "2026-11-28T22:00:00Z"],
  ["019a9b00-0001-7000-8000-000000000001", "2026-11-28T10:00:00Z"],
  ["01980000-0000-7000-8000-000000000001", "2026-11-20T10:00:00Z"],
].map(([id, time], number) => ({ number, id, startedAt: at(time), endedAt: at(time) + 3_600_000 }));

Deno.test("a word, a time or the start of an identity names a scan that has ended by then", () => {
  for (
    const [word, index] of [
      ...[["last", 0], ["first", 3], ["yesterday", 1], ["1h", 0], ["59m", 0], ["24h", 2]] as const,
      ...[["2026-11-28", 1], ["2026-11-20", 3], ["2026-11-27", 3], ["2d", 3]] as const,
      ...[["2026-11-28T23:00Z", 1], ["2026-11-28T22:59Z", 2], ["019a9c0d-0002", 1]] as const,
      ...[["019A9B00", 2], [SCANS[0].id, 0]] as const,
    ]
  ) assertEquals(namedScan(word, SCANS, NOW), SCANS[index], word);
});

Deno.test("an error names the word, and why no scan is meant", () => {
  for (
    const [word, why] of [
      ["2026-11-19", "no scan had ended by then; the first one ended at 2026-11-20T11:00:00.000Z"],
      ["019a9c0d", "2 scans have IDs that begin so"],
      ["aaaaaaaa", "no finished scan has this ID"],
      ["019a", "expected last, first, yesterday"],
      ["2026-13-01", "expected last"],
      ["servers.csv", "expected last"],
    ]
  ) {
    const error = assertThrows(() => namedScan(word, SCANS, NOW), InputError, why);
    assertEquals(error.message.includes(`"${word}"`), true);
  }
  assertThrows(() => namedScan("last", [], NOW), InputError, "no scan of the database has ended");
});

Deno.test("files are no names of scans", () => {
  assertEquals(["a.db", "old.csv", "./last", "-", ""].map(isScanName), [
    ...[false, false, false, false, false],
  ]);
});
