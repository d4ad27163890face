/** Covers the period of `/servers/{id}` and `/api/servers/{id}/history`. */
import { assertEquals, assertThrows } from "@std/assert";
import { fittingLength, periodOf } from "../../../src/web/queries/common_parameters.ts";
import { ParameterError } from "../../../src/web/queries/parameters.ts";
import { fakeData, NOW } from "../fake_data.ts";
import { clientOf } from "../http/client.ts";

const DAY = 86_400_000;

Deno.test("a history without an end ends now, and no history ends long after now", () => {
  assertEquals(periodOf(undefined, undefined, NOW), { from: NOW - 7 * DAY, to: NOW });
  assertEquals(periodOf(NOW - DAY, undefined, NOW), { from: NOW - DAY, to: NOW });
  assertEquals(periodOf(NOW - 30 * DAY, undefined, NOW), { from: NOW - 30 * DAY, to: NOW });
  assertEquals(periodOf(undefined, NOW - DAY, NOW), { from: NOW - 8 * DAY, to: NOW - DAY });
  const ahead = NOW + 60_000; // the clock of a database may be ahead
  assertEquals(periodOf(NOW, 40_000_000_000_000, NOW), { from: NOW, to: ahead });
  assertEquals(periodOf(NOW, NOW + 1, NOW), { from: NOW, to: NOW + 1 });
  assertThrows(() => periodOf(ahead, 8_640_000_000_000_000, NOW), ParameterError, "not before to");
  assertThrows(() => periodOf(NOW + 1, undefined, NOW), ParameterError, "not before to");
});

Deno.test("the end of a history is no later than the last time of the API", async () => {
  const asked: number[] = [];
  const history = (_: number, from: number, to: number) => {
    asked.push(to);
    return Promise.resolve({ from, to, step: 0, points: [], unwatched: [], peak: null });
  };
  const get = clientOf({ data: fakeData({ history }) });
  const latest = 8_640_000_000_000_000;
  for (const path of ["/servers/1", "/api/servers/1/history"]) {
    assertEquals((await get(`GET ${path}?from=${latest}`)).status, 400, path);
    assertEquals((await get(`GET ${path}?from=${NOW - DAY}`)).status, 200, path);
  }
  assertEquals(asked, [NOW, NOW]);
});

Deno.test("a page without a period shows no week of ten minutes of data", async () => {
  const HOUR = DAY / 24;
  const ages = [600_000, HOUR, HOUR + 1, 2 * DAY, 7 * DAY];
  assertEquals(ages.map((age) => fittingLength(NOW - age, NOW)), [
    HOUR,
    HOUR,
    DAY,
    7 * DAY,
    7 * DAY,
  ]);
  assertEquals(fittingLength(null, NOW), 7 * DAY);
  const asked: number[] = [];
  const get = clientOf({
    data: fakeData({
      observedSince: () => Promise.resolve(NOW - 600_000),
      history: (_, from, to) => {
        asked.push(from);
        return Promise.resolve({ from, to, step: 0, points: [], unwatched: [], peak: null });
      },
    }),
  });
  for (const path of ["/servers/1", "/compare?server=1", `/servers/1?from=${NOW - DAY}`]) {
    assertEquals((await get(`GET ${path}`)).status, 200, path);
  }
  assertEquals(asked, [NOW - HOUR, NOW - HOUR, NOW - DAY]);
});
