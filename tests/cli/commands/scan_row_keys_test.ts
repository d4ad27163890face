/** The rows of a scan that writes a database too, which stores more than a row has. */
import { DatabaseSync } from "node:sqlite";
import { assert, assertEquals } from "@std/assert";
import { main } from "../../../src/cli/mod.ts";
import { FIELDS } from "../../../src/core/record.ts";
import { recordSchema } from "../../../src/core/schema.ts";
import { drawFleet } from "../../../src/fleet/simulate/draw_fleet.ts";
import { openFleet } from "../../../src/fleet/simulate/open_fleet.ts";
import { systemClock } from "../../../src/net/clock.ts";
import { violations } from "../../classify/schema.ts";
import { withMessages, withResults } from "../failing_streams.ts";

const KEYS = ["schema", ...FIELDS.map(({ name }) => name)];
const HOSTS = drawFleet({
  servers: 4,
  range: { start: 0x7f300000, end: 0x7f300010 },
  seed: 3,
  software: ["pocketmine"],
});

Deno.test("beside a database, every output has the keys of the schema, and rows can be appended", async () => {
  const folder = await Deno.makeTempDir();
  const output = (name: string) => ["-o", `${folder}/${name}`];
  const scan = (...outputs: string[]) =>
    main([
      ...["scan", "127.48.0.0/28", "--protocol", "raknet", "--format", "ndjson", "--retries", "0"],
      ...["--timeout", "500ms", "--cooldown", "200ms", "--quiet", ...outputs],
    ]);
  try {
    await using _fleet = await openFleet(HOSTS, { clock: systemClock, seed: 1 });
    const files = [...output("rows.json"), ...output("rows.ndjson"), ...output("rows.db")];
    const [[code, printed], messages] = await withMessages(() =>
      withResults(() => scan("-o", "-", ...files))
    );
    assertEquals([code, messages], [0, ""]);
    const lines = await Deno.readTextFile(`${folder}/rows.ndjson`);
    assertEquals(printed, lines);
    const rows = lines.trim().split("\n").map((line) => JSON.parse(line));
    assertEquals(JSON.parse(await Deno.readTextFile(`${folder}/rows.json`)), rows);
    assertEquals(rows.length, 4);
    for (const row of rows) {
      assertEquals([Object.keys(row), violations(row, recordSchema())], [KEYS, []]);
    }
    using database = new DatabaseSync(`${folder}/rows.db`, { readOnly: true });
    assert(database.prepare("select * from replies").all().length >= 4, "replies are not stored");
    assertEquals(await scan(...output("rows.ndjson"), "--append"), 0);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});
