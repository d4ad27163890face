/**
 * The targets of a scan and their order, by its settings.
 *
 * @module
 */
import type { ScanSelection } from "../../scan/scan_setup.ts";
import type { NamedTargets } from "../targets/find_targets.ts";
import type { ScanSettings } from "./scan_settings.ts";

/** Which endpoints a scan probes, and in which order, by the user's choice. */
export function scanSelectionOf(chosen: ScanSettings, named: NamedTargets): ScanSelection {
  const { protocols, allProtocols, ports, queriesKnown, seed, shard, maxTargets } = chosen;
  const { targets: addresses, known, optedOut, first } = named;
  const { names, services, knownNames, requests } = named;
  const probed = { addresses, protocols, allProtocols, ports, known, queriesKnown };
  return {
    targets: { ...probed, names, services, knownNames, requests, optedOut, responders: [] },
    order: {
      seed,
      shard,
      limit: maxTargets,
      first,
      from: { udp: chosen.from, tcp: chosen.fromTcp },
    },
  };
}
