/**
 * Defaults of settings, and the names that settings may have.
 *
 * @module
 */
export { chosenProtocols, protocolsOf } from "./chosen_protocols.ts";
export { DEFAULT_SPEED, DEFAULTS } from "./defaults.ts";
export { CONDITIONS_HERE, type EngineChoice, possibleEngines } from "./engine_names.ts";
