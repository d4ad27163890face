/** What --no-players omits from outputs, for all protocols: src/protocols/declared_facts.ts. */
import { DatabaseSync } from "node:sqlite";
import { assert, assertEquals } from "@std/assert";
import { main } from "../../../src/cli/mod.ts";
import { drawFleet } from "../../../src/fleet/simulate/draw_fleet.ts";
import { openFleet } from "../../../src/fleet/simulate/open_fleet.ts";
import { readNdjson } from "../../../src/fleet/judge/verify_rows.ts";
import { systemClock } from "../../../src/net/clock.ts";
import { PROTOCOLS } from "../../../src/protocols/list.ts";
import { withMessages, withResults } from "../failing_streams.ts";

const HOSTS = drawFleet({
  servers: 40,
  range: { start: 0x7f2a0000, end: 0x7f2a0040 },
  seed: 3,
  software: ["sqpFull", "paper", "vanillaString", "pocketmine"],
});
/** Names that occur only in lists of players. */
const NAMES = ["barneygale", "Vivalahelvig"];
/** An output in each format that contains more than endpoints. */
const OUTPUTS = ["rows.csv", "rows.ndjson", "rows.json", "rows.db"];

const namesPlayers = (text: string) => NAMES.some((name) => text.includes(name));

/** Scans the fleet into a folder; returns the printed table and the text of each output. */
async function scan(folder: string, ...more: string[]): Promise<Record<string, string>> {
  const args = [
    ...["scan", "127.42.0.0/26", "--protocol", PROTOCOLS.map(({ name }) => name).join()],
    ...["-p", "9000,19132,25565", "--cooldown", "1s", "--timeout", "2s", "--retries", "0"],
    ...["--host-rate", "off", "--quiet", "--format", "table", "-o", "-", ...more],
    ...OUTPUTS.flatMap((name) => ["-o", `${folder}/${name}`]),
  ];
  const [[code, table], messages] = await withMessages(() => withResults(() => main(args)));
  assertEquals([code, messages], [0, ""]);
  const texts: Record<string, string> = { table };
  for await (const { name } of Deno.readDir(folder)) {
    texts[name] = new TextDecoder("latin1").decode(await Deno.readFile(`${folder}/${name}`));
  }
  return texts;
}

/** The raw replies in a database, and whether any of them contains names of players. */
function repliesIn(folder: string): { readonly count: number; readonly named: boolean } {
  using database = new DatabaseSync(`${folder}/rows.db`, { readOnly: true });
  const replies = database.prepare("select data from replies").all() as { data: Uint8Array }[];
  const texts = replies.map(({ data }) => new TextDecoder("latin1").decode(data));
  return { count: replies.length, named: texts.some(namesPlayers) };
}

Deno.test("--no-players keeps names of players out of every output, for all protocols", async () => {
  const [named, nameless] = [await Deno.makeTempDir(), await Deno.makeTempDir()];
  try {
    await using _fleet = await openFleet(HOSTS, { clock: systemClock, seed: 1 });
    const all = await scan(named);
    assertEquals(OUTPUTS.filter((name) => !namesPlayers(all[name])), []);
    assert(repliesIn(named).named);
    const rows = readNdjson(all["rows.ndjson"]);
    const bringNames = PROTOCOLS.map(({ name }) => name).filter((name) =>
      rows.some(({ protocols, players }) => protocols[0] === name && players?.includes(NAMES[0]))
    );
    // Query servers are beside the first two kinds
    assertEquals(bringNames, ["raknet", "slp", "sqp"]);

    const texts = await scan(nameless, "--no-players");
    assertEquals(readNdjson(texts["rows.ndjson"]).length, rows.length);
    assertEquals(Object.keys(texts).filter((name) => namesPlayers(texts[name])), []);
    assertEquals(repliesIn(nameless), { count: 0, named: false });
  } finally {
    await Deno.remove(named, { recursive: true });
    await Deno.remove(nameless, { recursive: true });
  }
});
