/**
 * Exports metrics over OTLP, the protocol of OpenTelemetry. Deno itself does that if it was started
 * with `OTEL_DENO=true`. The variables `OTEL_*` select the receiver, the interval and the encoding.
 *
 * @module
 */
import { buildInfo } from "./build_info.ts";
import type { Meter, Observable, Observer, OtlpHistogram } from "./otlp_meter.ts";
import type { Family } from "./prometheus_text.ts";

/** Maximum number of series of one metric: Deno's exporter merges those beyond it into one. */
const MAX_SERIES = 2000;

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
