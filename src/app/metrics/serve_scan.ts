/**
 * Serves the metrics and the health of a scan, `--metrics`, and exports them over OTLP.
 *
 * @module
 */
import { systemClock } from "../../net/clock.ts";
import type { ScanState } from "../../scan/mod.ts";
import { scanHealth } from "./health.ts";
import type { MetricsAddress } from "../settings/metrics_address.ts";
import { metricsTrouble, serveMetrics } from "./metrics_server.ts";
import { exportFamilies } from "./otlp.ts";
import { otlpMeter } from "./otlp_meter.ts";
import { scanFamilies, type WrittenDatabase } from "./scan_metrics.ts";

/**
 * Serves and exports the metrics of a scan until the result is disposed of.
 *
 * @param address The address and the port to listen on; `undefined`: nothing is served.
 * @param databases The databases of the scan. More may be added later.
 * @param report Receives a line when connections cannot be accepted.
 * @throws InputError when it cannot listen; Deno.errors.NotCapable.
 */
export function serveScan(
  address: MetricsAddress | undefined,
  state: ScanState,
  databases: readonly WrittenDatabase[],
  report: (line: string) => void,
): AsyncDisposable {
  const collect = () => scanFamilies(state, databases);
  const sources = { collect, health: () => scanHealth(state, databases) };
  const stack = new AsyncDisposableStack();
  if (address !== undefined) {
    stack.use(serveMetrics(address, sources, (why) => report(metricsTrouble(why)), systemClock));
  }
  const meter = otlpMeter();
  if (meter !== undefined) stack.use(exportFamilies(meter, collect));
  return stack;
}
