import { assert, assertEquals } from "@std/assert";
import { mapSteps, stepOf } from "../../../src/web/browser/map_scale.ts";
import { MAP_LAYERS } from "../../../src/web/queries/schemas.ts";

Deno.test("each count has a colour, the highest one the strongest", () => {
  for (const most of [0, 1, 2, 5, 6, 17, 100, 65_536, 1e9]) {
    const steps = mapSteps("servers", most);
    assertEquals(
      steps.map(({ from }) => from),
      steps.map(({ from }) => from).sort((a, b) => a - b),
    );
    assertEquals(new Set(steps.map(({ from }) => from)).size, steps.length);
    assertEquals(stepOf(steps, 0), undefined);
    assert(stepOf(steps, 1) !== undefined);
    assertEquals(stepOf(steps, Math.max(most, 5))?.color, 5);
  }
});

Deno.test("the labels of counts name all values", () => {
  assertEquals(mapSteps("online", 5).map(({ label }) => label), ["1", "2", "3", "4 and more"]);
  assertEquals(mapSteps("servers", 1000).map(({ label }) => label), [
    ...["1 to 3", "4 to 15", "16 to 62", "63 to 250", "251 and more"],
  ]);
});

Deno.test("all layers have ascending steps with colours 0 to 5", () => {
  for (const layer of MAP_LAYERS) {
    const steps = mapSteps(layer, 50);
    for (const [i, { from, color }] of steps.entries()) {
      assert(color >= 0 && color <= 5);
      assert(i === 0 || from > steps[i - 1].from, layer);
    }
  }
});

Deno.test("recent probes are strong, and scanned space has its own steps", () => {
  assertEquals(
    [0, 60, 61, 1440, 1441, 99_999].map((age) => stepOf(mapSteps("age", 9), age)?.color),
    [
      ...[5, 5, 4, 4, 3, 1],
    ],
  );
  assertEquals([1, 2, 3, 4, 6].map((space) => stepOf(mapSteps("scanned", 9), space)?.isHatched), [
    ...[undefined, true, true, undefined, true],
  ]);
});
