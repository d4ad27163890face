import { assert, assertEquals } from "@std/assert";
import { Random } from "../../../src/fleet/random.ts";
import { newTexts, TextReader, TextWriter } from "../../../src/web/server_index/text_column.ts";

/**
 * Places of the texts that contain a part, also of those that were moved; the number of a text is
 * its place.
 */
function search(reader: TextReader, part: string, count: number): number[] {
  const found = new Set<number>();
  const slots: number[] = [];
  reader.search(part, count, (row) => void slots.push(row), (id) => void found.add(id - 1));
  assertEquals(slots, [...new Set(slots)].sort((a, b) => a - b), "each place once, ascending");
  return [...new Set([...slots, ...found])].sort((a, b) => a - b);
}

Deno.test("parts of texts are found after any number of changes", () => {
  const random = new Random(7);
  const letters = ["a", "b", "c", "ä", "🦆", " "];
  const newText = (most: number) =>
    Array.from({ length: random.below(most) }, () => letters[random.below(letters.length)]).join(
      "",
    );
  const memory = newTexts(200);
  const [writer, reader] = [new TextWriter(memory), new TextReader(memory)];
  const texts: string[] = [];
  for (let i = 0; i < 200; i++) {
    texts.push(newText(20));
    writer.append(i, texts[i]);
  }
  for (let round = 0; round < 40; round++) {
    for (let i = 0; i < 10; i++) {
      const row = random.below(texts.length);
      texts[row] = newText(60);
      assert(writer.replace(row, row + 1, texts[row]));
    }
    for (const part of ["a", "ab", "bca", "ä", "🦆 ", "aabb", newText(6) || "c", "x"]) {
      const expected = [...texts.keys()].filter((row) => texts[row].includes(part));
      assertEquals(search(reader, part, texts.length), expected, `round ${round}: "${part}"`);
    }
  }
});

Deno.test("long texts are cut, and every server keeps a part of the room", () => {
  const count = 1000;
  const memory = newTexts(count);
  const [writer, reader] = [new TextWriter(memory), new TextReader(memory)];
  for (let row = 0; row < count; row++) {
    writer.append(row, row < 500 ? `long ${"m".repeat(5000)}` : `short ${row}`);
  }
  assertEquals(search(reader, "long", count).length, 500);
  assertEquals(search(reader, "short 9", count).length, 100);
});

Deno.test("without room for longer texts, a new server index is needed", () => {
  const memory = newTexts(1);
  const writer = new TextWriter(memory);
  writer.append(0, "a");
  const long = "m".repeat(2 ** 20);
  const written = Array.from({ length: 8 }, () => writer.replace(0, 1, long));
  assertEquals([written[0], written.at(-1)], [true, false]);
});
