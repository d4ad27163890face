/**
 * Serves the metrics and the health of a watch, and probes for clients: `--metrics`, `--probe`. Exports
 * the metrics over OTLP.
 *
 * @module
 */
import type { Network } from "../../net/mod.ts";
import type { OtherEndpoints, PollingSockets } from "../engines/watch_sockets.ts";
import { watchHealth } from "./health.ts";
import { type MetricsSources, metricsTrouble, serveMetrics } from "./metrics_server.ts";
import { exportFamilies, otlpHistogram } from "./otlp.ts";
import { otlpMeter } from "./otlp_meter.ts";
import { MAX_PROBES, type ProbedWatch } from "./probe/probe_engine.ts";
import { Probes } from "./probe/probes.ts";
import { areLoopback, familiesOfTargets, ProbeTargets } from "./probe/probe_targets.ts";
import { ServerInfoSeries } from "./server_info.ts";
import { DELAY_BOUNDS, type MeasuredWatch, POLL_DELAY, WatchMetrics } from "./watch_metrics.ts";
import type { ProbeSettings, WatchMetricsSettings } from "./watch_metrics_settings.ts";

export interface ServedWatch
  extends ProbedWatch, Omit<MeasuredWatch, "info" | "clock" | "onDelay"> {
  /** Poller, pool and sockets. */
  readonly polling: PollingSockets;
  /** Finds the addresses of names. */
  readonly network: Pick<Network, "resolve" | "findService">;
  /** Whether every name may lead to private addresses. */
  readonly allowPrivate: boolean;
}

export interface WatchServer extends AsyncDisposable {
  /** The metrics, which the watch has to count. */
  readonly metrics: WatchMetrics;
}

/**
 * Makes the metrics of a watch, and serves and exports them until they are disposed of.
 *
 * @param settings What is served; `undefined`: nothing, the metrics are only counted.
 * @param report Receives a line when connections cannot be accepted.
 * @throws InputError when it cannot listen; Deno.errors.NotCapable.
 */
export function serveWatch(
  settings: WatchMetricsSettings | undefined,
  watch: ServedWatch,
  report: (line: string) => void,
): WatchServer {
  const { counts, polling: { sockets }, journals: databases, clock } = watch;
  const info = settings?.info ? new ServerInfoSeries() : undefined;
  const stack = new AsyncDisposableStack();
  const meter = otlpMeter();
  const delays = meter &&
    otlpHistogram(meter, POLL_DELAY.name, POLL_DELAY.help, DELAY_BOUNDS);
  const onDelay = (seconds: number) => delays?.record(seconds);
  const metrics = new WatchMetrics({ ...watch, info, onDelay });
  if (meter !== undefined) stack.use(exportFamilies(meter, () => metrics.families()));
  const probes = settings?.probe && probesOf(settings.probe, watch, info);
  const sources: MetricsSources = {
    collect: () => metrics.families(),
    health: () => watchHealth({ counts, sockets, databases }, clock.now()),
    probe: probes && ((request) => probes.respond(request)),
  };
  const onTrouble = (why: string) => report(metricsTrouble(why));
  if (settings !== undefined) stack.use(serveMetrics(settings.address, sources, onTrouble, clock));
  return { metrics, [Symbol.asyncDispose]: () => stack.disposeAsync() };
}

function probesOf(
  { token, allowed }: ProbeSettings,
  watch: ServedWatch,
  info: ServerInfoSeries | undefined,
): Probes {
  const { servers, counts, allowPrivate, network } = watch;
  return new Probes({
    ...watch,
    targets: new ProbeTargets({ servers, allowed, allowPrivate, lookups: network }),
    token,
    info,
    isRunning: () => counts.loopAt !== undefined,
  });
}

/** The endpoints that clients may probe besides the servers of the watch. */
export function probedEndpoints(
  settings: WatchMetricsSettings | undefined,
): OtherEndpoints | undefined {
  if (settings?.probe === undefined) return undefined;
  const { allowed } = settings.probe;
  return {
    families: familiesOfTargets(allowed),
    areLoopback: areLoopback(allowed),
    atOnce: MAX_PROBES,
  };
}
