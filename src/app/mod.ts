/**
 * What every command needs: its environment, signals, exit codes, and the state of a service.
 *
 * @module
 */
export {
  env,
  IS_NPM_PACKAGE,
  quoteWord,
  readTextFile,
  reason,
  userPath,
  writeRefusal,
  writeTextFile,
} from "./environment.ts";
export { EXIT, EXIT_CODES } from "./exit_codes.ts";
export { Interrupted, onInterrupt } from "./interrupt_signals.ts";
export { ServiceState } from "./service_state.ts";
export { newScanId, randomBytes, randomFraction, randomSeed } from "./system_random.ts";
