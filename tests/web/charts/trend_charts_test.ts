/** Charts of trends have only what was watched in their lines. Covers src/web/charts/sparkline.tsx too. */
import { assert, assertEquals } from "@std/assert";
import { DAY_MS, HOUR_MS } from "../../../src/core/quantities.ts";
import { Sparkline } from "../../../src/web/charts/sparkline.tsx";
import { trendCharts, valueTrends } from "../../../src/web/charts/trend_charts.tsx";

const NOW = Date.UTC(2026, 0, 31, 12, 30);
const DAY = Date.UTC(2026, 0, 20);

function point(at: number, players: number, share = 1) {
  return { at, servers: 500, online: 490, players, watched_share: share };
}

Deno.test("a day that was watched for half of its hours is no dip in the line", () => {
  const players = [5016, 2983, 5078];
  const points = players.map((one, i) => point(DAY + i * DAY_MS, one, i === 1 ? 0.5 : 1));
  const charts = trendCharts({ value: null, points }, { days: 30, now: NOW });
  const [servers, chart] = charts;
  assertEquals(chart.pieces.map(([, , ...values]) => values), [
    [5016, null],
    [null, 2983],
    [5078, null],
  ]);
  assertEquals(servers.pieces[1].slice(2), [null, null, 490]);
  assertEquals(chart.series.map(({ name }) => name), ["players", "mean while watched"]);
  assertEquals(chart.bands?.map(({ kind, from, share }) => [kind, from, share]), [
    ["unwatched", NOW - 30 * DAY_MS, undefined],
    ["half", DAY + DAY_MS, 0.5],
    ["unwatched", DAY + 3 * DAY_MS, undefined],
  ]);
});

Deno.test("the hour that has not ended yet does not count as not watched", () => {
  const start = Date.UTC(2026, 0, 31, 8);
  const bandsOf = (hours: readonly number[]) => {
    const points = hours.map((hour) => point(start + hour * HOUR_MS, 7));
    const [{ bands = [], series }] = trendCharts({ value: null, points }, { days: 1, now: NOW });
    assertEquals(series.length, 2);
    return bands.map(({ from, to }) => [from, to]);
  };
  assertEquals(bandsOf([0, 1, 2, 3]), [[NOW - DAY_MS, start]]);
  assertEquals(bandsOf([-1, 1]), [
    [NOW - DAY_MS, start - HOUR_MS],
    [start, start + HOUR_MS],
    [start + 2 * HOUR_MS, NOW],
  ]);
});

Deno.test("lines of values have no value in a day of which none was watched enough", () => {
  const [a, b] = [0.4, 1].map((share, i) => ({
    value: `${i}`,
    points: [point(DAY, 1, share), point(DAY + DAY_MS, 1, share / 2)],
  }));
  const { pieces, bands = [] } = valueTrends([a, b], "Online", { days: 30, now: NOW });
  assertEquals(pieces, [[DAY, DAY + DAY_MS, 490, 490]]);
  assert(bands.some(({ kind, from }) => kind === "half" && from === DAY + DAY_MS));
});

Deno.test("a sparkline shows each number above 0", () => {
  const html = String(Sparkline({ values: [0, 1, 1000], color: 3 }));
  const heights = [...html.matchAll(/class="fill"[^>]* height="(\d+)"/g)].map(([, one]) => one);
  assertEquals(heights, ["2", "24"]);
  assert(!String(Sparkline({ values: [0, 0], color: 3 })).includes('class="fill"'));
});
