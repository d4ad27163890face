import { assertEquals } from "@std/assert";
import { closest } from "../../src/core/closest_name.ts";

Deno.test("closest() finds slips, not other words", () => {
  const names = ["rate", "retries", "seed", "shard", "shards"];
  assertEquals(["raet", "retrise", "sed", "shardz"].map((word) => closest(word, names)), [
    ...["rate", "retries", "seed", "shard"],
  ]);
  assertEquals([closest("output", names), closest("x", names)], [undefined, undefined]);
});

Deno.test("closest() never finds the opposite of a word", () => {
  for (const opposite of ["in", "ex"]) {
    assertEquals(closest(`${opposite}clude`, ["exclude", "include"]), `${opposite}clude`);
  }
});
