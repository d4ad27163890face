/** @jsxImportSource npm:hono@4.13.19/jsx */
/**
 * A chart of values over time. `charts.js` draws it; without scripts its table has the values.
 *
 *     figure   caption with title, unit and legend
 *              plot, which `charts.js` fills; values at the cursor; data as JSON
 *              table of the values, folded
 *
 * @module
 */
import { raw } from "npm:hono@4.13.19/html";
import { BANDS, type ChartData } from "../browser/chart_data.ts";
import { countText, timeText } from "../components/quantities.ts";
import { ChartTable } from "./chart_table.tsx";

/** The data of a chart. Default: no bands, and values are counts. */
export type ChartProperties =
  & Omit<ChartData, "bands" | "areCounts">
  & Partial<Pick<ChartData, "bands" | "areCounts">>;

/** What stands below a plot while the cursor is not in it. */
const HINT = "Drag to zoom, double click to see all.";

/**
 * The chart as an HTML figure. Without any value it is a note, unless a script adds values
 * (`isGrowing`).
 */
export function Chart({ data: given, isGrowing }: { data: ChartProperties; isGrowing?: boolean }) {
  const data: ChartData = { bands: [], areCounts: true, ...given };
  const most = highest(data);
  return (
    <figure class="chart" data-chart>
      <Caption data={data} />
      {most === undefined && !isGrowing ? <p class="empty">No values in this period.</p> : (
        <>
          <div
            class="plot"
            data-plot
            tabindex={0}
            role="application"
            aria-roledescription="chart"
            aria-label={summary(data, most)}
          >
          </div>
          <p class="readout">
            <span data-readout={HINT}>{HINT}</span>
            <button type="button" data-reset hidden>Show all</button>
            <span class="spoken" data-spoken aria-live="polite"></span>
          </p>
          <script type="application/json">{raw(jsonIn(data))}</script>
          {most !== undefined && <ChartTable data={data} isGrowing={isGrowing} />}
        </>
      )}
    </figure>
  );
}

/** JSON that ends no element. */
function jsonIn(data: ChartData): string {
  return JSON.stringify(data).replaceAll("<", "\\u003c");
}

/** The highest value; `undefined`: no value is known. */
function highest({ pieces }: ChartData): number | undefined {
  let most: number | undefined;
  for (const [, , ...values] of pieces) {
    for (const value of values) {
      if (value !== null && (most === undefined || value > most)) most = value;
    }
  }
  return most;
}

function Caption({ data: { title, unit, series, bands } }: { data: ChartData }) {
  const kinds = [...new Set(bands.map(({ kind }) => kind))];
  return (
    <figcaption>
      <b>{title}</b> <small>{unit}, times in UTC</small>
      <ul class="legend">
        {series.map(({ name, color, shape }) => (
          <li>
            <i class={`key s${color} ${shape}`}></i>
            <bdi>{name}</bdi>
            <b data-value></b>
          </li>
        ))}
        {kinds.map((kind) => (
          <li>
            <i class={`key ${kind}`}></i>
            {BANDS[kind]}
          </li>
        ))}
      </ul>
    </figcaption>
  );
}

/** What a screen reader reads for the plot. */
function summary({ title, unit, from, to }: ChartData, most: number | undefined): string {
  const values = most === undefined ? "no value yet" : `at most ${countText(most)} ${unit}`;
  return `${title}: ${values}, from ${timeText(from)} to ${timeText(to)} UTC. ` +
    "Arrow keys read the values, Escape shows all.";
}
