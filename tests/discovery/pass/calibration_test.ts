import { assert, assertAlmostEquals } from "@std/assert";
import { Calibration } from "../../../src/discovery/pass/calibration.ts";

Deno.test("without results a score is what it comes to", () => {
  const calibration = new Calibration();
  for (const value of [1e-12, 3e-5, 0.001, 0.7]) {
    assertAlmostEquals(calibration.inverse(value) / value, 1, 1e-6);
  }
});

Deno.test("a score that comes to half of it is needed twice as high", () => {
  const calibration = new Calibration();
  for (let power = -40; power < 0; power++) calibration.add(1.5 * 2 ** power, 4997, 9997);
  for (const value of [1e-9, 3e-5, 0.001]) {
    assertAlmostEquals(calibration.inverse(value) / (2 * value), 1, 0.01);
  }
});

Deno.test("higher values need higher scores, whatever was found", () => {
  const calibration = new Calibration();
  // high scores come to far less than low ones
  for (let power = -20; power < 0; power++) calibration.add(1.5 * 2 ** power, 1, 2 ** (power + 25));
  let before = 0;
  for (let value = 1e-10; value < 1; value *= 1.1) {
    const score = calibration.inverse(value);
    assert(score >= before, `${value} needs ${score}`);
    before = score;
  }
});

Deno.test("what was found long ago is forgotten", () => {
  const calibration = new Calibration();
  calibration.add(0.001, 0, 1000);
  const score = calibration.inverse(0.001);
  assert(score > 0.0015);
  for (let pass = 0; pass < 300; pass++) calibration.age();
  assertAlmostEquals(calibration.inverse(0.001), 0.001, 1e-6);
});
