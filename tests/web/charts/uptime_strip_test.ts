import { assertEquals } from "@std/assert";
import { UNWATCHED } from "../../../src/store/uptime/uptime_of_polls.ts";
import { UptimeStrip } from "../../../src/web/charts/uptime_strip.tsx";
import { elementsOf } from "../pages/html_elements.ts";

const DAY = 86_400_000;
const TODAY = Date.UTC(2026, 0, 31);

Deno.test("the strip has a cell for each of 90 days, with its share of the watched time", () => {
  const shares = [1, 0.951, 0.949, 0.00001, 0];
  const days = shares.map((share, i) => ({
    ...UNWATCHED,
    ...{ at: TODAY - i * DAY, watchedS: 86_400, onlineS: share * 86_400 },
  }));
  const html = `<div>${UptimeStrip({ days, now: TODAY + DAY / 2 })}</div>`;
  const cells = elementsOf(html).filter(({ attributes }) => attributes.has("title"))
    .map(({ attributes }) => [attributes.get("class"), attributes.get("title")]);
  assertEquals(cells.length, 90);
  assertEquals(cells.slice(-6), [
    ["day unwatched", "2026-01-26: not watched"],
    ["day none", "2026-01-27: 0 % of 1 d watched"],
    ["day part", "2026-01-28: &lt; 0.1 % of 1 d watched"],
    ["day part", "2026-01-29: 94.9 % of 1 d watched"],
    ["day most", "2026-01-30: 95.1 % of 1 d watched"],
    ["day full", "2026-01-31: 100 % of 1 d watched"],
  ]);
});
