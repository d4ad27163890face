import { assertEquals } from "@std/assert";
import {
  DictionaryReader,
  DictionaryWriter,
  newDictionary,
  UNKNOWN_NUMBER,
} from "../../../src/web/server_index/dictionary.ts";

const TEXTS = ["", "Paper", "🦆 Ärger", "__proto__", "null", "m".repeat(65_536)];

Deno.test("a dictionary gives each text a number, and readers see texts that are added later", () => {
  const memory = newDictionary();
  const [writer, reader] = [new DictionaryWriter(memory), new DictionaryReader(memory)];
  assertEquals([reader.size, writer.codeOf(null), reader.textOf(UNKNOWN_NUMBER)], [
    1,
    UNKNOWN_NUMBER,
    null,
  ]);
  for (const text of TEXTS) {
    const code = writer.codeOf(text);
    assertEquals([writer.codeOf(text), reader.textOf(code), reader.textOf(code)], [
      code,
      text,
      text,
    ]);
  }
  assertEquals(reader.size, TEXTS.length + 1);
  const found = reader.codesWith((text) => text.startsWith("P") || text === "");
  assertEquals([...found], [0, 1, 1, 0, 0, 0, 0]);
});

Deno.test("a text that does not fit counts as unknown", () => {
  const memory = newDictionary();
  const writer = new DictionaryWriter(memory, 3);
  assertEquals(["a", "b", "c", "a"].map((text) => writer.codeOf(text)), [1, 2, UNKNOWN_NUMBER, 1]);
  const large = new DictionaryWriter(newDictionary());
  const half = "x".repeat(2 ** 23);
  assertEquals([half, `${half}y`, "z"].map((text) => large.codeOf(text)), [1, UNKNOWN_NUMBER, 2]);
});
