/**
 * The part of OpenTelemetry that exports metrics, if this process has it.
 *
 * @module
 */
import project from "../../../deno.json" with { type: "json" };

type Labels = Readonly<Record<string, string>>;

/** An instrument whose values a callback reports. */
export type Observable = object;

/** Receives the values of instruments. */
export interface Observer {
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
    return Deno.telemetry.meterProvider.getMeter("blocksweep", project.version);
  } catch (error) {
    if (/not initialized/.test((error as Error).message)) return undefined;
    throw error;
  }
}
