/** @jsxImportSource npm:hono@4.13.19/jsx */
/**
 * A chart of values over time as SVG, which needs no script. `charts.js` shows its values at the pointer.
 *
 * The plot is as wide as the page allows, and its texts keep their size. Therefore lines are in an inner
 * SVG that is stretched, and all other coordinates are percentages.
 *
 *     figure   caption with title, unit and legend
 *              SVG with the labels of the vertical axis    SVG with the plot and the times
 *
 * @module
 */
import { dayText, niceTicks, startOfValues, type Ticks, timeSpan, timeTicks } from "./ticks.ts";
import { countText, shortCount, timeText } from "../parts/quantities.ts";

/** A line of a chart. */
export interface Series {
  readonly name: string;
  /** The number of its colour, 0 to 7. */
  readonly color: number;
  /** A value for each time of the chart; null: unknown, so the line has a gap. */
  readonly values: readonly (number | null)[];
  /** Whether the area below the line is tinted. */
  readonly isFilled?: boolean;
}

/** A period of a chart with its own ground. */
export interface Band {
  readonly from: number;
  readonly to: number;
  readonly kind: "unwatched" | "offline";
}

/** A chart of values over time. */
export interface LineChartData {
  readonly title: string;
  /** The unit of the values, such as `players`. */
  readonly unit: string;
  readonly from: number;
  readonly to: number;
  /** The times of the values, ascending, Unix milliseconds. */
  readonly times: readonly number[];
  /** The distance of times of a complete series. A line has a gap where times are farther apart. */
  readonly step?: number;
  readonly series: readonly Series[];
  readonly bands?: readonly Band[];
  /** Whether values are counts, so that ticks are whole numbers. Default: true. */
  readonly areCounts?: boolean;
}

/** Height of the plot, CSS pixels, and width of its inner coordinates. */
const HEIGHT = 180;
const WIDTH = 1000;
/** Maximum number of values that can be shown at the pointer, and of marked times. */
const MAX_SLOTS = 240;
const MAX_TICKS = 7;
/** How far from a value the pointer shows it, as a share of the width. */
const MAX_REACH = 0.02;

/** The meanings of bands, for the legend. */
const BANDS: Readonly<Record<Band["kind"], string>> = {
  unwatched: "not watched",
  offline: "offline",
};

/** Horizontal and vertical scale of a chart. */
interface Scale {
  readonly from: number;
  readonly to: number;
  readonly most: number;
}

/** The place of a time between the sides of the plot, 0 to 1. */
function share(at: number, { from, to }: Scale): number {
  return Math.min(1, Math.max(0, (at - from) / (to - from)));
}

function percent(part: number): string {
  return `${Number((100 * part).toFixed(3))}%`;
}

/** The chart as an HTML figure. Without any value it is a note. */
export function LineChart({ data }: { readonly data: LineChartData }) {
  const values = data.series.flatMap((one) => one.values).filter((one) => one !== null);
  return (
    <figure class="chart" data-chart>
      <Caption data={data} />
      {values.length === 0
        ? <p class="empty">No values in this period.</p>
        : <Axes data={data} most={Math.max(0, ...maxima(values))} />}
    </figure>
  );
}

function Caption({ data: { title, unit, series, bands = [] } }: { data: LineChartData }) {
  const kinds = [...new Set(bands.map(({ kind }) => kind))];
  return (
    <figcaption>
      <b>{title}</b> <small>{unit}, times in UTC</small>
      <ul class="legend">
        {series.map(({ name, color }) => (
          <li>
            <i class={`key s${color}`}></i>
            <bdi>{name}</bdi>
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

/** The plot with its axes. `most` is the highest value. */
function Axes({ data, most }: { data: LineChartData; most: number }) {
  const { series, times } = data;
  const ticks = niceTicks(most, 4, data.areCounts === false ? 0 : 1);
  const first = times.find((_, i) => series.some((one) => one.values[i] !== null));
  const from = startOfValues(data.from, data.to, first);
  const scale: Scale = { ...timeSpan(from, data.to), most: ticks[ticks.length - 1] };
  return (
    <div class="axes">
      <svg class="y-axis" width="46" height={HEIGHT + 32} aria-hidden="true">
        {ticks.map((tick) => (
          <text x="40" y={yOf(tick, scale) + 12} text-anchor="end">{shortCount(tick)}</text>
        ))}
      </svg>
      <svg
        class="plot"
        width="100%"
        height={HEIGHT + 32}
        role="img"
        aria-label={summary(data, most)}
      >
        <Plot data={data} scale={scale} ticks={ticks} />
      </svg>
    </div>
  );
}

function Plot({ data, scale, ticks }: { data: LineChartData; scale: Scale; ticks: Ticks }) {
  const { series, times, bands = [] } = data;
  return (
    <svg y="8" width="100%" height={HEIGHT} overflow="visible">
      {bands.map((band) => <BandRect band={band} scale={scale} />)}
      {ticks.map((tick) => (
        <line class="grid" x1="0" x2="100%" y1={yOf(tick, scale)} y2={yOf(tick, scale)} />
      ))}
      <Times scale={scale} />
      <svg
        viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
        preserveAspectRatio="none"
        width="100%"
        height={HEIGHT}
        overflow="visible"
      >
        {series.map((one) => <Line series={one} data={data} scale={scale} />)}
      </svg>
      {slots(times).map((at) => <Slot data={data} at={at} scale={scale} />)}
    </svg>
  );
}

/** The maximum of parts of a list: an argument list has a limited length. */
function maxima(values: readonly number[]): number[] {
  const found: number[] = [];
  for (let at = 0; at < values.length; at += 10_000) {
    found.push(Math.max(...values.slice(at, at + 10_000)));
  }
  return found;
}

function yOf(value: number, { most }: Scale): number {
  return Number((HEIGHT - HEIGHT * value / most).toFixed(1));
}

/** What a screen reader reads for the plot. */
function summary({ title, unit, from, to }: LineChartData, most: number): string {
  return `${title}: at most ${countText(most)} ${unit} from ${timeText(from)} to ${
    timeText(to)
  } UTC`;
}

function BandRect({ band: { from, to, kind }, scale }: { band: Band; scale: Scale }) {
  const [start, end] = [share(from, scale), share(to, scale)];
  return (
    <rect
      class={kind}
      x={percent(start)}
      width={percent(end - start)}
      y="0"
      height={HEIGHT}
    />
  );
}

/** The marked times. Every other one is omitted from narrow pages. */
function Times({ scale }: { scale: Scale }) {
  const ticks = timeTicks(scale.from, scale.to, MAX_TICKS);
  return (
    <g>
      {ticks.map(({ at, label }, i) => {
        const x = percent(share(at, scale));
        return (
          <g class={i % 2 === 0 ? undefined : "wide-only"}>
            <line class="tick" x1={x} x2={x} y1={HEIGHT} y2={HEIGHT + 4} />
            <text x={x} y={HEIGHT + 18} text-anchor={anchor(share(at, scale))}>{label}</text>
          </g>
        );
      })}
    </g>
  );
}

/** Where a label is beside its tick: inside the plot at both of its sides. */
function anchor(part: number): string {
  return part < 0.04 ? "start" : part > 0.96 ? "end" : "middle";
}

function Line({ series, data, scale }: { series: Series; data: LineChartData; scale: Scale }) {
  const runs = unbroken(series.values, data);
  const point = (i: number) =>
    `${Number((WIDTH * share(data.times[i], scale)).toFixed(1))} ${yOf(series.values[i]!, scale)}`;
  const line = runs.map((run) =>
    run.length === 1 ? `M${point(run[0])}h.01` : `M${run.map(point).join("L")}`
  ).join("");
  const areas = runs.filter((run) => run.length > 1).map((run) => {
    const [first, last] = [run[0], run[run.length - 1]].map((i) => point(i).split(" ")[0]);
    return `M${first} ${HEIGHT}L${run.map(point).join("L")}L${last} ${HEIGHT}Z`;
  }).join("");
  return (
    <g class={`s${series.color}`}>
      {series.isFilled && areas !== "" && <path class="area" d={areas} />}
      <path class="line" d={line} vector-effect="non-scaling-stroke" />
    </g>
  );
}

/** The indexes of known values, in runs without a gap. */
function unbroken(
  values: readonly (number | null)[],
  { times, step }: LineChartData,
): number[][] {
  const runs: number[][] = [];
  let last = -2;
  for (let i = 0; i < values.length; i++) {
    if (values[i] === null) continue;
    const isNext = last === i - 1 && (!step || times[i] - times[last] <= 1.5 * step);
    if (isNext) runs[runs.length - 1].push(i);
    else runs.push([i]);
    last = i;
  }
  return runs;
}

/** Indexes of times that can be pointed at: all, or a part of them at equal distances. */
function slots(times: readonly number[]): number[] {
  const every = Math.ceil(times.length / MAX_SLOTS);
  return times.map((_, i) => i).filter((i) => i % every === 0);
}

/** An invisible area with the values at a time, for the pointer. */
function Slot({ data, at, scale }: { data: LineChartData; at: number; scale: Scale }) {
  const { times, series } = data;
  const every = Math.ceil(times.length / MAX_SLOTS);
  const here = share(times[at], scale);
  const reachTo = (time: number | undefined) => {
    const distance = time === undefined ? 1 : Math.abs(share(time, scale) - here);
    return Math.min(MAX_REACH, distance / 2);
  };
  const start = Math.max(0, here - reachTo(times[at - every]));
  const end = Math.min(1, here + reachTo(times[at + every]));
  const time = `${dayText(times[at])} ${timeText(times[at]).slice(11, 16)} UTC`;
  const lines = series.flatMap(({ name, values }) => {
    const value = values[at];
    return value === null
      ? []
      : [`${name}: ${data.areCounts === false ? Number(value.toFixed(1)) : countText(value)}`];
  });
  return (
    <rect
      class="slot"
      x={percent(start)}
      width={percent(end - start)}
      y="0"
      height={HEIGHT}
    >
      <title>{[time, ...lines.length === 0 ? ["no value"] : lines].join("\n")}</title>
    </rect>
  );
}
