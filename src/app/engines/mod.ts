/**
 * The choice of an engine, its sockets, and the rates that it reaches.
 *
 * @module
 */
export { chooseEngine, type Engine } from "./choose_engine.ts";
export { engineConditions } from "./load_engines.ts";
export { type ChosenLimits, pendingProbes, rateOf, scanLimits } from "./scan_rates.ts";
export { closeSockets, openScanSockets } from "./scan_sockets.ts";
export {
  codeList,
  outageLine,
  outageText,
  refusalText,
  sendErrorLine,
  shortageLine,
} from "./send_error_lines.ts";
