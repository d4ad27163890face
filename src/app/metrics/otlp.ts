/**
 * Exports metrics over OTLP, the protocol of OpenTelemetry. Deno itself does that if it was started
 * with `OTEL_DENO=true`. The variables `OTEL_*` select the receiver, the interval and the encoding.
 *
 * @module
 */
import { buildInfo, VERSION } from "./build_info.ts";
import type { Family } from "./prometheus_text.ts";

/** Maximum number of series of one metric: Deno's exporter merges those beyond it into one. */
const MAX_SERIES = 2000;

/** The labels of a value. */
type Labels = Readonly<Record<string, string>>;

/** An instrument whose values a callback reports. */
type Observable = object;

/** Receives the values of instruments. */
interface Observer {
  readonly observe: (instrument: Observable, value: number, labels?: Labels) => void;
}

/** A histogram whose values are recorded at once. */
export interface OtlpHistogram {
  /** Adds a value. */
  readonly record: (value: number) => void;
}

/** How an instrument is described. */
interface Description {
  readonly description: string;
  readonly unit?: string;
  readonly advice?: { readonly explicitBucketBoundaries: readonly number[] };
}

/** The part of OpenTelemetry's `Meter` that is used. */
export interface Meter {
  readonly createObservableCounter: (name: string, description: Description) => Observable;
  readonly createObservableGauge: (name: string, description: Description) => Observable;
  readonly createHistogram: (name: string, description: Description) => OtlpHistogram;
  readonly addBatchObservableCallback: (
    callback: (observer: Observer) => void,
    instruments: Observable[],
  ) => void;
  readonly removeBatchObservableCallback: (
    callback: (observer: Observer) => void,
    instruments: Observable[],
  ) => void;
}

/** The meter of this process; `undefined` if Deno was started without `OTEL_DENO=true`. */
export function otlpMeter(): Meter | undefined {
  try {
    return Deno.telemetry.meterProvider.getMeter("blocksweep", VERSION);
  } catch (error) {
    if (/not initialized/.test((error as Error).message)) return undefined;
    throw error;
  }
}

/**
 * Exports the gauges and counters among metric families until the result is disposed of. They have
 * the names of Prometheus' page, except the suffix `_total`. Unknown values are left out.
 *
 * @param collect Called once now, and once for each export.
 */
export function exportFamilies(meter: Meter, collect: () => readonly Family[]): Disposable {
  const all = () => [buildInfo(), ...collect()].filter(({ type }) => type !== "histogram");
  const instruments = new Map(all().map((family) => [family.name, instrumentOf(meter, family)]));
  const callback = (observer: Observer) => {
    for (const { name, samples } of all()) {
      for (const { value, labels } of samples.slice(0, MAX_SERIES)) {
        if (Number.isFinite(value)) observer.observe(instruments.get(name)!, value, labels);
      }
    }
  };
  const observed = [...instruments.values()];
  meter.addBatchObservableCallback(callback, observed);
  return { [Symbol.dispose]: () => meter.removeBatchObservableCallback(callback, observed) };
}

function instrumentOf(meter: Meter, { name, help, type }: Family): Observable {
  const description = { description: help, unit: unitOf(name) };
  return type === "counter"
    ? meter.createObservableCounter(name.replace(/_total$/, ""), description)
    : meter.createObservableGauge(name, description);
}

/**
 * A histogram of seconds.
 *
 * @param bounds Upper bounds of the buckets, in ascending order.
 */
export function otlpHistogram(
  meter: Meter,
  name: string,
  help: string,
  bounds: readonly number[],
): OtlpHistogram {
  const advice = { explicitBucketBoundaries: bounds };
  return meter.createHistogram(name, { description: help, unit: unitOf(name), advice });
}

function unitOf(name: string): string | undefined {
  return name.endsWith("_seconds") ? "s" : undefined;
}
