/** Covers src/scan/rows/row_thread.ts, src/scan/rows/row_worker.ts and src/sinks/text_formats.ts. */
import { assertEquals, assertRejects } from "@std/assert";
import { FIELDS } from "../../../src/core/record.ts";
import { Random } from "../../../src/fleet/random.ts";
import { PROTOCOLS } from "../../../src/protocols/list.ts";
import { encodePong } from "../../../src/protocols/raknet/mod.ts";
import { Aliases, type AliasState } from "../../../src/scan/rows/aliases.ts";
import { rowsMaker } from "../../../src/scan/rows/made_rows.ts";
import { RowMaker, type RowSource } from "../../../src/scan/rows/row_maker.ts";
import { RowThread } from "../../../src/scan/rows/row_thread.ts";
import { formatOf, type FormatSpec, TEXT_FORMATS } from "../../../src/sinks/text_formats.ts";

const OPTIONS = { scanId: "01928d5e-0000-7000-8000-000000000000", players: true };
const KEY = Uint8Array.of(1, 2, 3, 4, 5, 6, 7, 8);
const COLUMNS = FIELDS.map(({ name }) => name);
const FORMATS: readonly FormatSpec[] = [
  ...Object.keys(TEXT_FORMATS).map((name) => ({
    name: name as FormatSpec["name"],
    columns: COLUMNS,
  })),
  { name: "ndjson", columns: ["port", "host", "motd"] },
  { name: "csv", columns: ["motd", "host"] },
];

const TEXTS = [
  "MCPE;Dedicated Server;766;1.21.50;3;10;5335687477053034848;level;Survival;1;19132;19133;",
  "MCPE;§aA\\;b\u2028c\ufeff=1;766;v1.21.50;;;x;PocketMine-MP;",
  "MCCPP;Demo;",
  "other game",
  "",
];

/** A source: a pong with the text of a server or with random bytes, or a decoded reply. */
function drawSource(random: Random, i: number): RowSource {
  const text = random.below(3) === 0
    ? Uint8Array.from({ length: random.below(300) }, () => random.below(256))
    : new TextEncoder().encode(TEXTS[random.below(TEXTS.length)]);
  const guid = 0x1000000000000000n | BigInt(random.below(500));
  const statement = { columns: { motd: `Java ${i}`, version: "1.21" }, flags: [], facts: {} };
  return {
    endpoint: {
      address: i % 9 === 0 ? BigInt(i) + (0x2001n << 112n) : 0xc0000000 + i,
      port: 19132,
    },
    seenAt: 1_700_000_000_000 + i,
    latencyMs: i % 5 === 0 ? null : i / 7,
    requestedAs: i % 11 === 0 ? "play.example.org" : null,
    isCutShort: i % 13 === 0,
    replies: i % 4 === 0
      ? [{ protocol: "slp", statement }]
      : { protocol: "raknet", raw: encodePong({ advertise: false, time: 1n, guid, text }) },
  };
}

function newMaker(): RowMaker {
  return new RowMaker({ ...OPTIONS, allProtocols: PROTOCOLS }, new Aliases(KEY, PROTOCOLS));
}

Deno.test("a thread makes the rows that the main thread would make, in every format", async () => {
  const random = new Random(3);
  const sources = Array.from({ length: 3000 }, (_, i) => drawSource(random, i));
  const makeRows = rowsMaker(newMaker(), FORMATS.map((spec) => formatOf(spec, PROTOCOLS)));
  const thread = new RowThread({ ...OPTIONS, key: KEY, formats: FORMATS });
  try {
    const earlier = newMaker();
    const begun = sources.slice(0, 1000);
    begun.forEach((source) => earlier.make(source));
    thread.begin(earlier.aliases.state);
    assertEquals(thread.isReady, false);
    makeRows(begun);
    let aliases = 0;
    for (let from = 1000; from < sources.length; from += 400) {
      const batch = sources.slice(from, from + 400);
      const rows = makeRows(batch);
      aliases += rows.aliases;
      assertEquals(await thread.make(batch), rows);
    }
    assertEquals([thread.isReady, aliases > 500], [true, true]);
  } finally {
    thread.close();
  }
});

Deno.test("when the thread dies, it makes no rows any longer", async () => {
  const thread = new RowThread({ ...OPTIONS, key: KEY, formats: FORMATS });
  thread.begin({} as AliasState);
  const rows = [thread.make([]), thread.make([])];
  for (const one of rows) await assertRejects(() => one, Error, "Cannot make rows any longer: ");
  await assertRejects(() => thread.make([]), Error, "Cannot make rows any longer: ");
  thread.close();
});
