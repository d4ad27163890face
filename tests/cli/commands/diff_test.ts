/** Covers src/cli/commands/diff/. */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { parse } from "@std/csv";
import { connectionEnvironment } from "../../../src/app/options/connection_environment.ts";
import { parseDatabaseLocation } from "../../../src/store/database_location.ts";
import { openStore } from "../../../src/store/open_store.ts";
import { Store } from "../../../src/store/store.ts";
import { record, scanId } from "../../store/records.ts";
import { main } from "../../../src/cli/mod.ts";
import { withFault, withMessages } from "../failing_streams.ts";
import { runHere } from "../run_here.ts";

const HOUR = 3_600_000;

/** Fills a database with two scans that differ. */
async function fill(path: string): Promise<void> {
  const environment = connectionEnvironment(() => {});
  await using database = await openStore(parseDatabaseLocation(path)!, environment);
  const store = new Store(database, () => Promise.resolve());
  const requested = [{ start: 0x7f000000, end: 0x7f000100 }];
  for (const [hour, ports] of [[1, [1, 2, 3]], [2, [1, 2, 4]]] as const) {
    const [id, at] = [scanId(hour), hour * HOUR];
    await store.begin({ id, at, config: "{}", addresses: { requested, excluded: [] } });
    await store.write(ports.map((port) =>
      record(port, {
        ...{ seen_at: at + 1, scan_id: id, name: "=1+1\u001b[2J" },
        motd: port === 2 && hour === 2 ? "\u001b[31m=2" : "old",
      })
    ));
    await store.end({
      ...{ id, since: at, at: at + 1000, state: "finished", isComplete: true, downAfter: 2 },
      coverage: { ranges: requested, includes: () => true },
      ...{ probesSent: 1, replies: 1, found: 3, packetLoss: 0.5 },
    });
  }
}

/** Makes a database of two scans that differ, and runs work in its folder. */
async function withScans(work: (path: string, folder: string) => Promise<void>): Promise<void> {
  const folder = await Deno.makeTempDir();
  try {
    const path = `${folder}/servers.db`;
    await fill(path);
    await work(path, folder);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

Deno.test("diff prints the counts and the differences of two scans, and texts of strangers harmless", () =>
  withScans(async (path) => {
    const { code, stdout } = await runHere(["diff", path]);
    assertEquals(code, 1);
    const lines = stdout.split("\n");
    assert(lines[0].startsWith(`from scan ${scanId(1)} of 1970-01-01 01:00:00 UTC`));
    assertEquals(
      lines[2],
      "1 new, 0 back, 1 lost (about 0.7 by packet loss), 1 changed, 1 unchanged",
    );
    assertEquals(lines.slice(5).map((line) => line.split(/\s+/).slice(0, 2).join(" ")), [
      ...["new 127.0.0.1:4", "lost 127.0.0.1:3", "changed 127.0.0.1:2", ""],
    ]);
    assert(lines[7].endsWith("motd: old -> ␛[31m=2"), lines[7]);
    assert(!stdout.includes("\u001b"));
    const named = await runHere(["diff", path, "first", "last"]);
    assertEquals([named.code, named.stdout], [1, stdout]);
    const same = await runHere(["diff", path, "last", "last"]);
    assertEquals(same.code, 0);
    assertStringIncludes(same.stdout, "0 new, 0 back, 0 lost, 0 changed, 3 unchanged");
  }));

Deno.test("diff writes CSV without formulas, and NDJSON with the counts first", () =>
  withScans(async (path, folder) => {
    const { code, stdout, stderr } = await runHere(["diff", path, "-o", `${folder}/d.csv`]);
    assertEquals([code, stdout], [1, ""]);
    assertStringIncludes(stderr, "1 new, 0 back, 1 lost");
    const rows = parse(await Deno.readTextFile(`${folder}/d.csv`), { skipFirstRow: true });
    assertEquals(rows.map(({ difference, column, new: now }) => [difference, column, now]), [
      ["new", "", ""],
      ["lost", "", ""],
      ["changed", "motd", "␛[31m=2"],
    ]);
    assertEquals(rows[0].name, "'=1+1␛[2J");
    const json = await runHere(["diff", path, "--json"]);
    const [summary, ...servers] = json.stdout.trim().split("\n").map((line) => JSON.parse(line));
    assertEquals(summary.summary, {
      ...{ from: summary.summary.from, to: summary.summary.to },
      ...{ new: 1, back: 0, lost: 1, changed: 1, lost_by_packet_loss: 0.666667 },
      ...{ unchanged: 1, not_asked: 0 },
    });
    assertEquals(servers.map(({ changes }) => changes), [{}, {}, {
      motd: ["old", "\u001b[31m=2"],
    }]);
    assert(!json.stdout.includes("\u001b"));
    await runHere(["diff", path, "-o", `${folder}/d.ndjson`]);
    assertEquals(await Deno.readTextFile(`${folder}/d.ndjson`), json.stdout);
  }));

Deno.test("diff compares databases and files, the older one first", () =>
  withScans(async (path, folder) => {
    await Deno.writeTextFile(`${folder}/old.txt`, "127.0.0.1:1\n127.0.0.1:9\n");
    const { code, stdout, stderr } = await runHere(["diff", `${folder}/old.txt`, path]);
    assertEquals(code, 1);
    assertStringIncludes(stderr, "old.txt: its rows have no columns of blocksweep beside");
    assertStringIncludes(stdout, "3 new, 0 back, 1 lost, 0 changed, 1 unchanged");
    const same = await runHere(["diff", path, path]);
    assertEquals(same.code, 0);
  }));

Deno.test("diff ends quietly with the code 2 when its reader closes the pipe", () =>
  withScans(async (path) => {
    const closed = new Deno.errors.BrokenPipe("Broken pipe (os error 32)");
    for (const words of [["diff", path], ["diff", path, "--json"]]) {
      assertEquals(await withMessages(() => withFault("stdout", closed, () => main(words))), [
        2,
        "",
      ]);
    }
  }));

Deno.test("errors of diff have the code 2, and name the input", () =>
  withScans(async (path, folder) => {
    for (
      const [words, text] of [
        [[], "Cannot compare nothing"],
        [[`${folder}/a.csv`], "name a second one"],
        [[`${folder}/a.csv`, path], `Cannot read "${folder}/a.csv"`],
        [[`${folder}/none.db`], "there is no such file"],
        [[path, "2020-01-01x"], "2020-01-01x"],
        [[path, "laste"], 'Cannot find "laste": no file has this name, and a scan is last, first'],
        [[path, "1971-01-01"], 'Cannot compare the scan "1971-01-01" with the last one: it is the'],
        [[path, "last", "first"], "name the earlier one first"],
        [[path, "1969-12-31"], "no scan had ended by then"],
        [[path, "first", "2026"], 'Cannot find the scan "2026"'],
        [["a.csv", "b.csv", "c.csv"], "scans are those of one database"],
        [[path, "-o", `${folder}/x.html`], "expected a file .csv or .ndjson"],
        [[path, "--json", "-o", `${folder}/x.csv`], "Cannot use --json"],
        [[path, "-o", `${folder}/none/x.csv`], `${folder}/none/x.csv`],
      ] as const
    ) {
      const { code, stdout, stderr } = await runHere(["diff", ...words]);
      assertEquals([code, stdout], [2, ""], stderr);
      assertStringIncludes(stderr, text);
    }
    await Deno.writeTextFile(`${folder}/broken.db`, "no database");
    assertEquals((await runHere(["diff", `${folder}/broken.db`])).code, 2);
  }));
