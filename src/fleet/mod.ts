/**
 * Simulated servers, and checks of what a scan found of them.
 *
 * @module
 */
export { formatManifest, type ManifestEntry, parseManifest } from "./manifest.ts";
export { Random } from "./random.ts";
export { type WitnessLine, WitnessLog } from "./witness_log.ts";
export type { ScannedSelection } from "./judge/expected_rows.ts";
export {
  isFlawless,
  readCsv,
  readNdjson,
  type RowsVerdict,
  verdictLines,
  verifyAgainstManifest,
} from "./judge/verify_rows.ts";
export { drawFleet, type FleetHost, manifestEntries, placeServer } from "./simulate/draw_fleet.ts";
export { Fleet, ifInUse, openFleet } from "./simulate/open_fleet.ts";
export type { Responder, StreamAct, StreamResponder, StreamTalk } from "./simulate/responder.ts";
export type { SimulatedIdentity } from "./simulate/server_identity.ts";
export { SOFTWARE } from "./simulate/software.ts";
export { drawDelays, type Faults, NO_FAULTS } from "./simulate/network/faults.ts";
