/** Draws the charts of a page with uPlot: values at the pointer, zoom, keyboard. */
import uPlot from "npm:uplot@1.6.32";
import {
  type Band,
  bandText,
  type ChartColumns,
  chartColumns,
  type ChartData,
  halved,
  type Piece,
  pieceAt,
  type Series,
  zoomFragment,
  zoomIn,
} from "./chart_data.ts";
import { clockText, dayFormat, shortNumber, timeLabel, valueText } from "./chart_texts.ts";

/** Height of a chart, CSS pixels. */
const CHART_HEIGHT = 212;
/** How far from a point the pointer shows its values, CSS pixels. */
const REACH = 12;
/** Least height of the ground of a partly offline time, CSS pixels. */
const MIN_BAND = 6;
/** Distance of the lines over a time that was watched in part, CSS pixels. */
const HATCH_STEP = 7;
/** Number of steps that an arrow key moves the cursor with Shift. */
const FAST_STEPS = 10;
/** Maximum number of pieces of a chart that grows. */
const MAX_PIECES = 600;
const COUNT_STEPS = Array.from({ length: 13 }, (_, i) => [1, 2, 5].map((one) => one * 10 ** i))
  .flat();

/** A chart. Colours are those of the style, also after a change of the colour scheme. */
export class TimeChart {
  readonly #figure: HTMLElement;
  readonly #plot: HTMLElement;
  #data: ChartData;
  #pieces: Piece[];
  #columns: ChartColumns;
  readonly #uplot: uPlot;

  constructor(figure: HTMLElement) {
    this.#figure = figure;
    this.#plot = figure.querySelector<HTMLElement>("[data-plot]")!;
    this.#data = JSON.parse(figure.querySelector("script")!.textContent!);
    this.#pieces = [...this.#data.pieces];
    this.#columns = chartColumns(this.#data);
    this.#uplot = new uPlot(this.#options(), this.#values(), this.#plot);
    this.#listen();
  }

  /** Adds the values of a time after all others, which is the new end of the chart. */
  add(piece: Piece): void {
    const last = this.#pieces.at(-1);
    if (piece[0] >= piece[1] || last !== undefined && piece[0] < last[1]) return;
    this.#pieces.push(piece);
    if (this.#pieces.length > MAX_PIECES) this.#pieces = halved(this.#pieces);
    this.#data = { ...this.#data, to: Math.max(this.#data.to, piece[1]), pieces: this.#pieces };
    const isZoomed = this.#isZoomed();
    this.#columns = chartColumns(this.#data);
    this.#uplot.setData(this.#values(), !isZoomed);
    if (isZoomed) this.#uplot.redraw();
  }

  #values(): uPlot.AlignedData {
    return [this.#columns.times, ...this.#columns.values];
  }

  #color(name: string): string {
    return getComputedStyle(this.#figure).getPropertyValue(`--${name}`);
  }

  #options(): uPlot.Options {
    const { series } = this.#data;
    const axis: uPlot.Axis = {
      stroke: () => this.#color("muted"),
      grid: { stroke: () => this.#color("line"), width: 1 },
      ticks: { stroke: () => this.#color("line"), width: 1, size: 4 },
      font: `11px ${getComputedStyle(document.body).fontFamily}`,
    };
    return {
      width: this.#plot.clientWidth,
      height: CHART_HEIGHT,
      ms: 1,
      tzDate: (at) => uPlot.tzDate(new Date(at), "Etc/UTC"),
      legend: { show: false },
      padding: [8, 28, 0, 0], // half of the last label of the time axis
      cursor: {
        y: false,
        points: { show: false },
        drag: { x: true, y: false, dist: 5 },
        sync: { key: "page", setSeries: false, filters: { pub: isMove, sub: isMove } },
      },
      scales: { x: { time: true }, y: { range: (_, __, most) => [0, most > 0 ? most * 1.06 : 1] } },
      series: [{}, ...series.map((one) => this.#seriesOptions(one))],
      axes: [
        {
          ...axis,
          size: 30,
          space: 64,
          values: (_, times) => times.map((at) => timeLabel(at, times[1] - times[0])),
        },
        {
          ...axis,
          size: 46,
          space: 36,
          incrs: this.#data.areCounts ? COUNT_STEPS : undefined,
          values: (_, values) => values.map((value) => shortNumber.format(value)),
        },
      ],
      hooks: {
        drawClear: [() => this.#drawGround()],
        setCursor: [() => this.#showValues()],
        setScale: [(_, name) => name === "x" && this.#onZoom()],
      },
    };
  }

  #seriesOptions({ color, shape, isOutOfScale = false }: Series): uPlot.Series {
    const stroke = () => this.#color(`s${color}`);
    const isLine = shape === "line" || shape === "area";
    return {
      auto: !isOutOfScale,
      stroke,
      width: 1.75,
      paths: isLine ? undefined : () => null,
      fill: shape === "area" ? () => `${this.#color(`s${color}`)}24` : undefined,
      points: {
        ...{ show: () => isLine || shape === "dash", size: 5, fill: stroke },
        filter: (u, i) => this.#columns.points.filter((at) => u.data[i][at] !== null),
      },
    };
  }

  /** Draws bands, dashes, and the boxes between least and greatest values. */
  #drawGround(): void {
    const { series, bands } = this.#data;
    for (const { from, to, kind, share = 0 } of bands) {
      if (kind === "half") {
        this.#hatch(from, to);
        continue;
      }
      const color = kind === "unwatched" ? `${this.#color("muted")}1c` : `${this.#color("bad")}30`;
      this.#fill([from, to], 1 - share, color);
    }
    const element = (name: Series["shape"]) => series.findIndex(({ shape }) => shape === name);
    const [least, dash, greatest] = [element("least"), element("dash"), element("greatest")];
    for (const [at, until, ...values] of dash < 0 ? [] : this.#pieces) {
      const color = this.#color(`s${series[dash].color}`);
      const [low = null, mean, high = null] = [values[least], values[dash], values[greatest]];
      if (low !== null && high !== null) this.#fill([at, until], [low, high], `${color}40`);
      if (mean !== null) this.#fill([at, until], [mean, mean], color);
    }
  }

  /** Draws diagonal lines over a time. */
  #hatch(from: number, to: number): void {
    const { ctx, bbox: { left, top, width, height } } = this.#uplot;
    const [start, end] = [from, to].map((time) =>
      Math.min(left + width, Math.max(left, this.#uplot.valToPos(time, "x", true)))
    );
    if (end <= start) return;
    const step = HATCH_STEP * devicePixelRatio;
    ctx.save();
    ctx.beginPath();
    ctx.rect(start, top, end - start, height);
    ctx.clip();
    ctx.strokeStyle = `${this.#color("muted")}80`;
    ctx.lineWidth = devicePixelRatio;
    ctx.beginPath();
    for (let x = start - height; x < end; x += step) {
      ctx.moveTo(x, top + height);
      ctx.lineTo(x + height, top);
    }
    ctx.stroke();
    ctx.restore();
  }

  /** Fills a rectangle of times and values, or of a share of the height, from the top. */
  #fill(
    [from, to]: readonly [number, number],
    values: readonly [number, number] | number,
    color: string,
  ): void {
    const { ctx, bbox: { left, top, width, height } } = this.#uplot;
    const xOf = (time: number) =>
      Math.min(left + width, Math.max(left, this.#uplot.valToPos(time, "x", true)));
    const [start, end] = [xOf(from), xOf(to)];
    const [high, low] = typeof values === "number"
      ? [top, top + Math.max(MIN_BAND * devicePixelRatio, values * height)]
      : [values[1], values[0]].map((value) => this.#uplot.valToPos(value, "y", true));
    if (end <= start) return;
    ctx.save();
    ctx.fillStyle = color;
    ctx.fillRect(start, high, Math.max(1, end - start), Math.max(2, low - high));
    ctx.restore();
  }

  #isZoomed(): boolean {
    const { min, max } = this.#uplot.scales.x;
    const { times } = this.#columns;
    return min !== undefined && (min !== times[0] || max !== times.at(-1));
  }

  /** Offers to show all again, shows the same times in the other charts of the page, and in its URL. */
  #onZoom(): void {
    const isZoomed = this.#isZoomed();
    this.#figure.querySelector<HTMLElement>("[data-reset]")!.hidden = !isZoomed;
    const { min, max } = this.#uplot.scales.x;
    if (min === undefined || max === undefined) return;
    shareZoom(this, isZoomed ? [min, max] : undefined);
  }

  /** Shows some times, as far as the chart has them; all of them without times. */
  zoom(times: readonly [from: number, to: number] | undefined): void {
    const [first, last] = [this.#columns.times[0], this.#columns.times.at(-1)!];
    const [min, max] = [Math.max(first, times?.[0] ?? first), Math.min(last, times?.[1] ?? last)];
    const { x } = this.#uplot.scales;
    const isShown = x.min === min && x.max === max;
    if (!isShown && min < max) this.#uplot.setScale("x", { min, max });
  }

  /** The ends of the time axis. */
  get bounds(): string {
    return `${this.#data.from}-${this.#data.to}`;
  }

  /** Shows all of the period again. */
  #reset(): void {
    const { times } = this.#columns;
    this.#uplot.setScale("x", { min: times[0], max: times.at(-1)! });
    this.#uplot.setCursor({ left: -10, top: -10 });
  }

  #listen(): void {
    const chart = this.#uplot;
    new ResizeObserver(() => {
      const width = this.#plot.clientWidth;
      if (width > 0 && width !== chart.width) chart.setSize({ width, height: CHART_HEIGHT });
    }).observe(this.#plot);
    for (const query of ["(prefers-color-scheme: dark)", "print"]) {
      matchMedia(query).addEventListener("change", () => chart.redraw());
    }
    this.#plot.addEventListener("keydown", (event) => this.#press(event));
    this.#figure.querySelector("[data-reset]")!.addEventListener("click", () => this.#reset());
  }

  /** Moves the cursor by arrow keys to the next change, and resets the chart by Escape. */
  #press(event: KeyboardEvent): void {
    const { key, shiftKey } = event;
    if (event.altKey || event.ctrlKey || event.metaKey) return; // keys of the browser
    const directions: Readonly<Record<string, number>> = {
      ArrowLeft: shiftKey ? -FAST_STEPS : -1,
      ArrowRight: shiftKey ? FAST_STEPS : 1,
      Home: -Infinity,
      End: Infinity,
    };
    if (key === "Escape") this.#reset();
    else if (directions[key] === undefined) return;
    else this.#move(directions[key]);
    event.preventDefault();
  }

  #move(steps: number): void {
    const { cursor, scales: { x: { min = 0, max = 0 } } } = this.#uplot;
    const stops = this.#stops().filter((at) => at >= min && at <= max);
    if (stops.length === 0) return;
    const time = this.#cursorTime();
    const after = time === undefined ? -1 : stops.findLastIndex((at) => at <= time + 0.5);
    const next = steps < 0 && time !== undefined && after >= 0 && stops[after] < time - 0.5
      ? after + 1 + steps
      : after + steps;
    const element = Math.min(stops.length - 1, Math.max(0, next));
    this.#keyTime = stops[element];
    this.#uplot.setCursor({
      left: this.#uplot.valToPos(stops[element], "x"),
      top: Math.max(0, cursor.top ?? 0),
    });
  }

  /** The time at which a key has placed the cursor: pixels are not as exact. */
  #keyTime: number | undefined;

  /** The times at which something begins, ascending. */
  #stops(): number[] {
    const starts = [
      ...this.#pieces.map(([at]) => at),
      ...this.#data.bands.map(({ from }) => from),
    ];
    return [...new Set(starts)].sort((a, b) => a - b);
  }

  /** The time at the cursor; `undefined`: there is no cursor. */
  #cursorTime(): number | undefined {
    const { left = -1 } = this.#uplot.cursor;
    if (left < 0) return undefined;
    const key = this.#keyTime;
    const isOfKey = key !== undefined && Math.abs(this.#uplot.valToPos(key, "x") - left) < 0.51;
    return isOfKey ? key : this.#uplot.posToVal(left, "x");
  }

  /** Writes the values at the cursor. */
  #showValues(): void {
    const time = this.#cursorTime();
    const readout = this.#figure.querySelector<HTMLElement>("[data-readout]")!;
    const elements = [...this.#figure.querySelectorAll<HTMLElement>("[data-value]")];
    if (time === undefined) {
      readout.textContent = readout.dataset.readout!;
      for (const element of elements) element.textContent = "";
      return;
    }
    const chart = this.#uplot;
    const reach = Math.abs(chart.posToVal(REACH, "x") - chart.posToVal(0, "x"));
    const piece = pieceAt(this.#pieces, time, reach);
    const values = piece?.slice(2) ?? [];
    const band = this.#data.bands.findLast(({ from, to }) => from <= time && time <= to);
    const shown = piece !== undefined && piece[0] === piece[1] ? piece[0] : time;
    const texts = this.#data.series.map((_, i) => {
      const value = values[i] ?? null;
      return value === null ? "–" : valueText(value, this.#data.areCounts);
    });
    const isKnown = values.some((value) => value !== null);
    const state = isKnown && band?.kind !== "partly" && band?.kind !== "half"
      ? ""
      : ` · ${stateText(band)}`;
    readout.textContent = `${dayFormat.format(shown)} ${this.#clockAt(shown)} UTC${state}`;
    elements.forEach((element, i) => element.textContent = texts[i]);
    this.#announce(isKnown ? texts : []);
  }

  /** The clock time, with seconds if a pixel is less than a minute. */
  #clockAt(time: number): string {
    const { min = 0, max = 0 } = this.#uplot.scales.x;
    return clockText(time, (max - min) / this.#uplot.width < 30_000 ? 1000 : 60_000);
  }

  /** Writes the values for screen readers, while keys move the cursor. */
  #announce(texts: readonly string[]): void {
    if (document.activeElement !== this.#plot) return;
    const element = this.#figure.querySelector<HTMLElement>("[data-spoken]")!;
    const { series } = this.#data;
    const readout = this.#figure.querySelector("[data-readout]")!.textContent;
    const values = texts.map((text, i) => `${series[i].name} ${text}`);
    element.textContent = [readout, ...values].join(", ");
  }
}

function stateText(band: Band | undefined): string {
  return band === undefined ? "no value" : bandText(band);
}

/** Whether an event of one chart moves the cursors of the others. */
function isMove(type: string): boolean {
  return type === "mousemove" || type === "mouseleave";
}

/** Shows times in all charts with the same time axis, and in the URL. */
function shareZoom(
  source: TimeChart,
  times: readonly [from: number, to: number] | undefined,
): void {
  for (const chart of charts.values()) {
    if (chart !== source && chart.bounds === source.bounds) chart.zoom(times);
  }
  const fragment = times === undefined ? "" : zoomFragment(...times);
  // The script of a report must not change the URL of its file.
  if (location.protocol === "file:") return;
  if (fragment === "" && zoomIn(location.hash) === undefined) return;
  history.replaceState(null, "", `${location.pathname}${location.search}${fragment}`);
}

/** The charts of the page, by their figures. */
const charts = new Map<Element, TimeChart>();
const zoomed = zoomIn(location.hash);
for (const figure of document.querySelectorAll<HTMLElement>("[data-chart]")) {
  if (figure.querySelector("[data-plot]") !== null) charts.set(figure, new TimeChart(figure));
}

if (zoomed !== undefined) {
  for (const chart of charts.values()) chart.zoom(zoomed);
}

/** The chart in an element of the page, if it has one. */
export function chartIn(element: Element): TimeChart | undefined {
  return [...charts].find(([figure]) => element.contains(figure))?.[1];
}
