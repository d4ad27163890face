import { assert, assertEquals } from "@std/assert";
import { main } from "../../../src/cli/mod.ts";
import { LatestRows } from "../../../src/app/outputs/latest_rows.ts";
import { SoftwareTally } from "../../../src/app/outputs/software_tally.ts";
import { emptyRecord, type ServerRecord } from "../../../src/core/record.ts";
import { rowsMaker } from "../../../src/scan/rows/made_rows.ts";
import type { RowMaker, RowSource } from "../../../src/scan/rows/row_maker.ts";
import { withMessages } from "../../cli/failing_streams.ts";

const row = (over: Partial<ServerRecord>): ServerRecord => ({
  ...emptyRecord({ address: 1, port: 1 }, 0),
  ...over,
});

Deno.test("rows are counted by software and by version, the most frequent first", async () => {
  const tally = new SoftwareTally();
  assertEquals(tally.lines(), []);
  await tally.write([
    row({ software: "Paper", version: "1.21.4" }),
    row({ software: "Paper", version: "1.20.1" }),
    row({ software: "BDS", version: "1.20.1" }),
    row({ software: null, version: "" }),
  ]);
  assertEquals(tally.lines(), [
    "software: 2 × Paper, 1 × BDS, 1 unknown",
    "versions: 2 × 1.20.1, 1 × 1.21.4, 1 unknown",
  ]);
  assertEquals(
    tally.lines("of this run")[0],
    "software of this run: 2 × Paper, 1 × BDS, 1 unknown",
  );
});

Deno.test("rows that a thread made count like others, and the latest are shown", async () => {
  const rows = Array.from({ length: 3000 }, (_, i) =>
    row({
      port: i,
      software: i % 3 === 0 ? null : i % 3 === 1 ? "Paper" : "BDS",
      version: i % 2 === 0 ? `${i}` : "",
    }));
  const [tally, made] = [new SoftwareTally(), new SoftwareTally()];
  const latest = new LatestRows(3);
  const maker = { make: (record: ServerRecord) => record } as unknown as RowMaker;
  const makeRows = rowsMaker(maker, []);
  for (let from = 0; from < rows.length; from += 7) {
    const batch = rows.slice(from, from + 7);
    await tally.write(batch);
    const madeRows = makeRows(batch as unknown as RowSource[]);
    await made.writeMade(madeRows);
    await latest.writeMade(madeRows);
  }
  assertEquals(made.lines(), tally.lines());
  assertEquals(latest.rows.map(({ port }) => port), [2999, 2998, 2997]);
});

Deno.test("one row of another software is counted as `1 other`", async () => {
  const tally = new SoftwareTally();
  for (const software of "abcdefg") await tally.write([row({ software })]);
  assert(tally.lines()[0].endsWith("1 × f, 1 other"), tally.lines()[0]);
});

Deno.test("invented versions exhaust neither memory nor the line", async () => {
  const tally = new SoftwareTally();
  for (let i = 0; i < 5000; i++) {
    await tally.write([row({ software: "x", version: `${i} \u001b[2J${"v".repeat(10_000)}` })]);
  }
  const [, versions] = tally.lines();
  assert(versions.length < 500 && !versions.includes("\u001b"), versions);
  assert(versions.endsWith(", 4,994 others"), versions);
});

Deno.test("the table of servers ends with the counts", async () => {
  const folder = await Deno.makeTempDir();
  const { write } = Deno.stdout;
  try {
    const rows = ["Paper", "Paper", "BDS"].map((software, i) =>
      JSON.stringify({
        ...row({ software, version: "1.21", protocol: "raknet", protocols: ["raknet"] }),
        ...{ schema: 1, port: i + 1, seen_at: 1 },
      })
    );
    await Deno.writeTextFile(`${folder}/x.ndjson`, rows.join("\n"));
    assertEquals(await main(["import", `${folder}/x.db`, `${folder}/x.ndjson`, "-q"]), 0);
    Deno.stdout.write = (bytes) => Promise.resolve(bytes.length);
    const list = (format: string) =>
      withMessages(() => main(["servers", `${folder}/x.db`, "--format", format]));
    const [code, text] = await list("table");
    assertEquals([code, text.split("\n").slice(1)], [0, [
      "software: 2 × Paper, 1 × BDS",
      "versions: 3 × 1.21",
      "",
    ]]);
    // an output for programs has only rows
    assertEquals((await list("ndjson"))[1].split("\n").length, 2);
  } finally {
    Deno.stdout.write = write;
    await Deno.remove(folder, { recursive: true });
  }
});
