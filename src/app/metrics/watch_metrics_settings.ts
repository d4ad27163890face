/**
 * The options of a watch that concern metrics, checked together.
 *
 * @module
 */
import { InputError } from "../../core/errors.ts";
import type { MetricsPlace } from "./metrics_place.ts";

/** The options as the command line has them. */
export interface WatchMetricsOptions {
  readonly metrics: MetricsPlace | undefined;
  readonly metricsInfo: boolean;
}

/** What a watch serves, and where. */
export interface WatchMetricsSettings {
  /** The address and the port to listen on. */
  readonly place: MetricsPlace;
  /** Whether each server has an info series. */
  readonly info: boolean;
}

/**
 * What the options select; `undefined`: nothing is served.
 *
 * @throws InputError for an option that needs `--metrics`.
 */
export function watchMetricsSettings(
  { metrics: place, metricsInfo: info }: WatchMetricsOptions,
): WatchMetricsSettings | undefined {
  if (place !== undefined) return { place, info };
  if (info) throw new InputError("Cannot use --metrics-info without --metrics");
  return undefined;
}
