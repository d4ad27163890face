import { assertEquals } from "@std/assert";
import { closestName } from "../../src/core/closest_name.ts";

Deno.test("closestName() finds misspelt names, not other words", () => {
  const names = ["rate", "retries", "seed", "shard", "shards"];
  assertEquals(["raet", "retrise", "sed", "shardz"].map((word) => closestName(word, names)), [
    "rate",
    "retries",
    "seed",
    "shard",
  ]);
  assertEquals([closestName("output", names), closestName("x", names)], [undefined, undefined]);
  assertEquals([closestName("age", ["name"]), closestName("foo", ["from"])], [
    undefined,
    undefined,
  ]);
});

Deno.test("closestName() never finds the opposite of a word", () => {
  for (const opposite of ["in", "ex"]) {
    assertEquals(closestName(`${opposite}clude`, ["exclude", "include"]), `${opposite}clude`);
  }
  assertEquals(closestName("offline", ["online"]), undefined);
  assertEquals(closestName("max-players", ["min-players"]), undefined);
});
