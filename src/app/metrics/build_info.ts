/**
 * The metric with the version of the program.
 *
 * @module
 */
import project from "../../../deno.json" with { type: "json" };
import type { Family } from "./prometheus_text.ts";
import { metricFamily } from "./scan_metrics.ts";

/** The version of the program. */
export const VERSION: string = project.version;

/** The family `blocksweep_build_info`: its value is 1, its labels are versions. */
export function buildInfo(): Family {
  const labels = { version: VERSION, deno: Deno.version.deno };
  return metricFamily("build_info", "gauge", "Versions of blocksweep and of Deno.", [
    { value: 1, labels },
  ]);
}
