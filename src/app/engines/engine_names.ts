/**
 * The names of the engines.
 *
 * @module
 */

/** The engines by name, the slowest first. */
export const ENGINES = ["portable", "udp", "packet", "xdp"] as const;
/** The value of `--engine` for the fastest engine that runs here. */
export const FASTEST = "fastest";
/** The values of `--engine`. */
export const ENGINE_CHOICES = [...ENGINES, FASTEST] as const;

/** The name of an engine. */
export type EngineName = typeof ENGINES[number];
/** A value of `--engine`. */
export type EngineChoice = typeof ENGINE_CHOICES[number];
