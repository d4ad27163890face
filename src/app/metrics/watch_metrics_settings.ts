/**
 * The options of a watch that concern metrics, checked together.
 *
 * @module
 */
import { InputError } from "../../core/errors.ts";
import type { Target } from "../../targets/parse.ts";
import type { OptionsOf } from "../options/option_table.ts";
import type { MetricsAddress } from "../settings/metrics_address.ts";
import { readProbeToken } from "./probe/probe_access.ts";

export type WatchMetricsOptions = Pick<
  OptionsOf<"watch">,
  "metrics" | "metricsInfo" | "probe" | "probeAllow" | "probeTokenFile"
>;

/** What a watch serves, and where. */
export interface WatchMetricsSettings {
  /** The address and the port to listen on. */
  readonly address: MetricsAddress;
  /** Whether each server has an info series. */
  readonly info: boolean;
  /** The clients and targets of `/probe`; `undefined`: there is no `/probe`. */
  readonly probe: ProbeSettings | undefined;
}

/** The clients and targets of `/probe`. */
export interface ProbeSettings {
  /** Targets besides the servers of the watch. */
  readonly allowed: readonly Target[];
  /** The token that clients have to send; `undefined`: none. */
  readonly token: string | undefined;
}

/**
 * What the options select; `undefined`: nothing is served.
 *
 * @throws InputError for an option that lacks another one, and for a token that cannot be used.
 */
export async function watchMetricsSettings(
  options: WatchMetricsOptions,
): Promise<WatchMetricsSettings | undefined> {
  const { metrics: address, metricsInfo: info, probe, probeAllow, probeTokenFile } = options;
  const needs = (isGiven: boolean, option: string, needed: string) => {
    if (isGiven) throw new InputError(`Cannot use ${option} without ${needed}`);
  };
  if (address === undefined) {
    needs(info, "--metrics-info", "--metrics");
    needs(probe, "--probe", "--metrics");
  }
  if (!probe) {
    needs(probeAllow.length > 0, "--probe-allow", "--probe");
    needs(probeTokenFile !== undefined, "--probe-token-file", "--probe");
  }
  if (address === undefined) return undefined;
  if (!probe) return { address, info, probe: undefined };
  const token = await readProbeToken(probeTokenFile, address);
  return { address, info, probe: { allowed: probeAllow.flat(), token } };
}
