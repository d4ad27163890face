/** Covers src/fleet/judge/expected_rows.ts and src/fleet/manifest.ts. */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import {
  formatManifest,
  type ManifestEntry,
  parseManifest,
  withVerified,
} from "../../../src/fleet/manifest.ts";
import { drawFleet, manifestEntries } from "../../../src/fleet/simulate/draw_fleet.ts";
import {
  expectRow,
  findable,
  type ScannedSelection,
} from "../../../src/fleet/judge/expected_rows.ts";
import {
  isFlawless,
  readNdjson,
  verdictLines,
  verifyAgainstManifest,
} from "../../../src/fleet/judge/verify_rows.ts";
import { serverId, type ServerRecord } from "../../../src/core/record.ts";

const RANGE = { start: 0x7f100000, end: 0x7f110000 };
const ENTRIES = drawFleet({ servers: 300, hostile: 30, range: RANGE, seed: 6 })
  .map(({ entry }) => entry);
const ALL: ScannedSelection = {
  protocols: ["raknet", "nethernet", "slp", "query"],
  ports: (protocol) => protocol === "raknet" || protocol === "nethernet" ? [19132] : [25565],
  follow: true,
};

/** The records of a correct scan. */
function perfect(entries: readonly ManifestEntry[] = ENTRIES, scan = ALL): ServerRecord[] {
  return entries.filter((entry) => findable(entry, scan).length > 0).map((entry) => ({
    ...expectRow(entry, findable(entry, scan)),
    latency_ms: 1.5,
    seen_at: 1.8e12,
    scan_id: "01928d5e-0000-7000-8000-000000000000",
    alias_of: null,
  }));
}

const check = (rows: readonly ServerRecord[], scan = ALL) =>
  verifyAgainstManifest(ENTRIES, rows, scan, "ndjson");

Deno.test("verifyAgainstManifest() reports no error for a correct scan", () => {
  const rows = perfect();
  const listed = ENTRIES.filter(({ listed }) => listed).length;
  assertEquals(check(rows), {
    expected: listed,
    found: listed,
    right: listed,
    partial: 0,
    faults: [],
  });
});

Deno.test("verifyAgainstManifest() expects fewer rows of a scan with one protocol", () => {
  const scan = { ...ALL, protocols: ["raknet"], follow: false };
  const rows = perfect(ENTRIES, scan);
  assert(rows.length > 0 && rows.every(({ protocols }) => protocols.join() === "raknet"));
  assertEquals(check(rows, scan).faults, []);
});

Deno.test("verifyAgainstManifest() reports missing, duplicate, invented and opted-out rows", () => {
  const [first, second, ...rest] = perfect();
  const hidden = ENTRIES.find(({ listed, truth }) => !listed && "raknet" in truth)!;
  const { faults, found } = check([
    first,
    first,
    ...rest,
    { ...second, host: "127.99.0.1" },
    { ...second, host: hidden.host, port: hidden.port },
  ]);
  assertEquals(found, rest.length + 1);
  const has = (text: string) => assert(faults.some((fault) => fault.includes(text)), text);
  has("two rows");
  has(`${second.host}:${second.port}: missing`);
  has("127.99.0.1:");
  has("a row of a host that must not have one (bdsOptedOut)");
});

Deno.test("verifyAgainstManifest() compares every field", () => {
  const [first, ...rest] = perfect();
  for (const name of Object.keys(first) as (keyof ServerRecord)[]) {
    if (["host", "port"].includes(name)) continue; // a different host or port is a different server
    const wrong = { ...first, [name]: Array.isArray(first[name]) ? ["wrong"] : "wrong" };
    const { faults } = check([wrong as ServerRecord, ...rest]);
    assert(faults.length > 0, name);
  }
});

Deno.test("verifyAgainstManifest() counts a row with several faults once, and not as right", () => {
  const [first, second, ...rest] = perfect();
  const wrong = { ...first, latency_ms: -1, seen_at: 0, map: "wrong" };
  const verdict = check([wrong, second, second, ...rest]);
  assertEquals([verdict.found, verdict.right, verdict.faults.length], [
    rest.length + 2,
    rest.length,
    4,
  ]);
  assertStringIncludes(verdictLines("a.csv", verdict)[0], ", 2 wrong, 4 faults");
});

Deno.test("verifyAgainstManifest() distinguishes incomplete rows from wrong ones", () => {
  const rows = perfect();
  const both = rows.findIndex(({ protocols }) => protocols.length === 2);
  const entry = ENTRIES.find(({ host }) => host === rows[both].host)!;
  const half = { ...rows[both], ...expectRow(entry, rows[both].protocols.slice(0, 1)) };
  const verdict = check(rows.with(both, half));
  assertEquals([verdict.right, verdict.partial, verdict.faults], [rows.length - 1, 1, []]);
});

Deno.test("verifyAgainstManifest() excuses columns that lost replies would have filled", () => {
  const rows = perfect();
  const plain = rows.findIndex(({ flags }) => flags.length === 0);
  const verdictWith = (flag: string) => {
    const lossy = { ...rows[plain], map: null, flags: [flag] };
    const { right, partial, faults } = check(rows.with(plain, lossy));
    return [rows.length - right, partial, faults.length > 0];
  };
  for (const flag of ["truncated", "statusLost", "cutShort", "fullLost", "statLost"]) {
    assertEquals(verdictWith(flag), [1, 1, false], flag);
  }
  for (const flag of ["statusMalformed", "badUtf8"]) {
    assertEquals(verdictWith(flag), [1, 0, true], flag);
  }
});

Deno.test("verifyAgainstManifest() excuses a loss also of a server that always has another flag", () => {
  const rows = perfect();
  const flagged = rows.findIndex(({ flags }) => flags.includes("unterminated"));
  const checkWith = (flags: string[]) => {
    const { partial, faults } = check(rows.with(flagged, { ...rows[flagged], map: null, flags }));
    return [partial, faults.length > 0];
  };
  assertEquals(checkWith(["fullLost", "unterminated"]), [1, false]);
  assertEquals(checkWith(["unterminated"]), [0, true]);
});

Deno.test("a manifest is unchanged after formatting and parsing", () => {
  assertEquals(parseManifest(formatManifest(ENTRIES)), JSON.parse(JSON.stringify(ENTRIES)));
  assertEquals(readNdjson('{"host":"a"}\n{"host":"b"}\n').map(({ host }) => host), ["a", "b"]);
});

Deno.test("verifyAgainstManifest() expects the columns of verification only of a scan that verifies", () => {
  const scan = { ...ALL, verify: true };
  const rows = perfect(ENTRIES.map(withVerified), scan);
  assertEquals(check(rows, scan).faults, []);
  assert(rows.some(({ joinable }) => joinable) && rows.some(({ joinable }) => joinable === false));
  assert(rows.some(({ protocols, joinable }) => protocols[0] === "query" && joinable === null));
  assert(check(rows).faults.some((fault) => fault.includes("joinable is true, expected null")));
  assert(check(perfect(), scan).faults.some((fault) => fault.includes("expected 1400")));
});

Deno.test("verifyAgainstManifest() expects one alias of a server on two ports, and no other alias", () => {
  const plan = { servers: 1, range: RANGE, seed: 5, software: ["bdsTwoPorts"] };
  const entries = drawFleet(plan).map(({ entry }) => entry);
  const scan = { ...ALL, ports: () => [19132, 19133] };
  const [one, two] = perfect(entries, scan);
  const [first, second] = [entries[1].twin!, entries[0].twin!];
  const faults = (...rows: ServerRecord[]) =>
    verifyAgainstManifest(entries, rows, scan, "ndjson").faults.length;
  assertEquals(faults(one, { ...two, alias_of: first }), 0);
  assertEquals(faults({ ...one, alias_of: second }, two), 0);
  assertEquals(faults(one, two), 2);
  assertEquals(faults({ ...one, alias_of: second }, { ...two, alias_of: first }), 2);
  assertEquals(faults(one, { ...two, alias_of: "127.16.0.9:1" }), 1);
  assertEquals(faults(one), 1); // the other row is missing
  const [row] = perfect();
  assertEquals(
    check([{ ...row, alias_of: first }]).faults.filter((text) => text.includes("alias_of")).length,
    1,
  );
});

Deno.test("verifyAgainstManifest() expects aliases on all ports but one of a host that replies on every port", () => {
  const plan = { servers: 1, range: RANGE, seed: 5, software: ["bdsEveryPort"] };
  const entries = manifestEntries(drawFleet(plan));
  const scan = { ...ALL, ports: () => [19131, 19132, 19133] };
  const [row] = perfect(entries, scan);
  const [one, two] = [{ ...row, port: 19131 }, { ...row, port: 19133 }];
  const alias_of = serverId(one);
  const verdict = (...rows: ServerRecord[]) => verifyAgainstManifest(entries, rows, scan, "ndjson");
  assertEquals(verdict(one, { ...row, alias_of }, { ...two, alias_of }).faults, []);
  assertEquals(isFlawless(verdict(two)), true);
  assertEquals(verdict(one, two).faults.length, 1);
  assertEquals(verdict(one, { ...two, alias_of: "127.16.0.9:1" }).faults.length, 1);
  assertEquals(verdict({ ...one, motd: "other" }).faults.length, 1);
  assertEquals(verdict().faults.length, 1); // no row of the host
});
