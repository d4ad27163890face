import { assert, assertEquals } from "@std/assert";
import {
  CostsByLevel,
  levelBelow,
  LEVELS,
  scoreOf,
  waterLevel,
} from "../../../src/discovery/pass/water_level.ts";
import { chance } from "../small_world.ts";

Deno.test("levels ascend, and the level below a score is the highest that is not above it", () => {
  for (let level = 1; level < LEVELS; level++) assert(scoreOf(level) > scoreOf(level - 1));
  for (let i = 0; i < 1000; i++) {
    const score = 2 ** (-40 * chance(i, 0));
    const level = levelBelow(score);
    assert(scoreOf(level) <= Math.fround(score) && Math.fround(score) < scoreOf(level + 1));
  }
  assertEquals([levelBelow(0), levelBelow(1e-30), levelBelow(100)], [0, 0, LEVELS - 1]);
});

Deno.test("the water level chooses what a sort by score chooses", () => {
  for (let seed = 0; seed < 20; seed++) {
    const costs = new CostsByLevel();
    const all = Array.from({ length: 500 }, (_, i) => ({
      score: Math.fround(2 ** (-30 * chance(i, seed))),
      cost: 1 + Math.floor(64 * chance(i, seed + 100)),
    }));
    const scores = Float32Array.from(all, ({ score }) => score);
    costs.addAll(new Uint32Array(scores.buffer), Uint16Array.from(all, ({ cost }) => cost), 500);
    const above = costs.cumulative();
    const budget = Math.floor(20_000 * chance(seed, 3));
    const level = waterLevel(budget, (at) => above[at]);
    const sorted = all.toSorted((a, b) => b.score - a.score);
    let sum = 0;
    const first = sorted.findIndex(({ cost }) => (sum += cost) > budget);
    const chosen = all.filter(({ score }) => levelBelow(score) >= level);
    // the sort chooses at most the candidates of one level more
    assert(chosen.every((one) => first < 0 || sorted.indexOf(one) < first));
    if (first >= 0) assertEquals(levelBelow(sorted[first].score), level - 1);
    else assertEquals([level, chosen.length], [0, all.length]);
  }
});
