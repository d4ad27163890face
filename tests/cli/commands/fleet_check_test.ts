/** `fleet --check` with rows of a perfect scan, and with faulty rows. */
import { assert, assertEquals } from "@std/assert";
import { main } from "../../../src/cli/mod.ts";
import { FIELDS, serverId, type ServerRecord } from "../../../src/core/record.ts";
import { expectRow, findable } from "../../../src/fleet/judge/expected_rows.ts";
import { formatManifest } from "../../../src/fleet/manifest.ts";
import { drawFleet } from "../../../src/fleet/simulate/draw_fleet.ts";
import { csvFormat } from "../../../src/sinks/csv.ts";
import { ndjsonFormat } from "../../../src/sinks/json.ts";
import { withMessages, withResults } from "../failing_streams.ts";

const ENTRIES = drawFleet({
  servers: 40,
  hostile: 5,
  range: { start: 0x7f100000, end: 0x7f110000 },
  seed: 5,
}).map(({ entry }) => entry);

/** The rows of a perfect scan in these protocols. */
function perfect(protocols: readonly string[]): ServerRecord[] {
  const ports = (protocol: string) =>
    protocol === "raknet" || protocol === "nethernet" ? [19132] : [25565];
  return ENTRIES.flatMap((entry) => {
    const found = findable(entry, { protocols, ports, follow: true });
    if (found.length === 0) return [];
    const scanned = { latency_ms: 1.5, seen_at: 1.8e12, alias_of: null };
    const scan_id = "01928d5e-0000-7000-8000-000000000000";
    return [{ ...expectRow(entry, found), ...scanned, scan_id }];
  });
}

/** Runs a test in a folder with the manifest and files of these rows. */
async function withFiles(
  rows: readonly ServerRecord[],
  test: (folder: string) => Promise<void>,
): Promise<void> {
  const folder = await Deno.makeTempDir();
  try {
    await Deno.writeTextFile(`${folder}/truth.ndjson`, formatManifest(ENTRIES));
    for (const format of [csvFormat(FIELDS), ndjsonFormat(FIELDS)]) {
      const text = format.head + rows.map((row) => format.row(row, false)).join("");
      await Deno.writeTextFile(`${folder}/rows.${format.name}`, text);
    }
    await test(folder);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

const USUAL = ["raknet", "nethernet", "slp", "query"];
const COUNT = perfect(USUAL).length;

/** The arguments that check both files. */
function checkBoth(folder: string, ...more: readonly string[]): string[] {
  const files = ["--check", `${folder}/rows.csv`, "--check", `${folder}/rows.ndjson`];
  return ["fleet", ...files, "--manifest", `${folder}/truth.ndjson`, ...more];
}

Deno.test("fleet --check finds nothing wrong with a perfect scan", () =>
  withFiles(perfect(USUAL), async (folder) => {
    const [code, text] = await withResults(() => main(checkBoth(folder)));
    const expected = ["csv", "ndjson"].map((name) =>
      `${folder}/rows.${name}: ${COUNT} of ${COUNT} servers found, ` +
      `${COUNT} rows right in every field, 0 faults\n`
    );
    assertEquals([code, text], [0, expected.join("")]);
  }));

Deno.test("fleet --check prints missing, invented and wrong rows, and exits with 1", () => {
  const [, second, ...rest] = perfect(USUAL);
  const wrong = { ...second, version: "9\u001b[2J" };
  const invented = { ...rest[0], host: "127.16.255.1" };
  return withFiles([wrong, ...rest, invented], async (folder) => {
    const [code, text] = await withResults(() => main(checkBoth(folder)));
    assertEquals(code, 1);
    assertEquals(text.match(/: missing /g)?.length, 2);
    assertEquals(text.match(/127\.16\.255\.1:\d+: invented/g)?.length, 2);
    assertEquals(text.match(/: version is "9/g)?.length, 2);
    assert(!text.includes("\u001b"), "an escape sequence reached the terminal");
  });
});

Deno.test("fleet --check prints keys that rows of scans and of databases do not have", () =>
  withFiles(perfect(USUAL), async (folder) => {
    const path = `${folder}/rows.ndjson`;
    const [first, ...rest] = (await Deno.readTextFile(path)).split("\n");
    const [online, raw] = ['"online":true', '"raw\\u001b":"AA=="'];
    const changed = [first.replace("{", `{${online},${raw},`), ...rest].join("\n");
    await Deno.writeTextFile(path, changed);
    const [code, text] = await withResults(() => main(checkBoth(folder)));
    assertEquals(code, 1);
    assertEquals(text.match(/ faults\n.*/gs), [
      ` faults\n${path}: ${COUNT} of ${COUNT} servers found, ${
        COUNT - 1
      } rows right in every field, ` +
      `1 wrong, 1 fault\n  ${serverId(JSON.parse(first))}: unknown key "raw\\u001b"\n`,
    ]);
  }));

Deno.test("fleet --check expects only the rows of the scanned protocol", () =>
  withFiles(perfect(["raknet"]), async (folder) => {
    const [all] = await withResults(() => main(checkBoth(folder)));
    const [one] = await withResults(() => main(checkBoth(folder, "--protocol", "raknet")));
    assertEquals([all, one], [1, 0]);
  }));

Deno.test("fleet --check refuses unreadable files and names the expected format", () =>
  withFiles(perfect(USUAL), async (folder) => {
    const [bad, csv] = [`${folder}/bad.ndjson`, `${folder}/bad.csv`];
    await Deno.writeTextFile(bad, "null\n");
    await Deno.writeTextFile(csv, "host,port\n127.0.0.1,x\n");
    const truth = `${folder}/truth.ndjson`;
    const refused: [string[], string][] = [
      [["--check", bad], "Cannot use --check: name the manifest with --manifest FILE"],
      [["--check", bad, "--manifest", truth], "line 1 is not a row of a scan"],
      [["--check", csv, "--manifest", truth], "line 2 is not a row of a scan"],
      [["--check", bad, "--manifest", bad], "line 1 is not a host of a fleet"],
      [["--check", `${folder}/none`, "--manifest", truth], 'Cannot read "'],
      [["--check", bad, "--manifest", truth, "--loss", "1"], "Cannot use --loss with --check"],
      [["--protocol", "raknet"], "Cannot use --protocol without --check"],
    ];
    for (const [args, message] of refused) {
      const [code, text] = await withMessages(() => main(["fleet", ...args]));
      assertEquals(code, 2, message);
      assert(text.includes(message), text);
    }
  }));
