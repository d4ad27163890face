/**
 * The names of the engines.
 *
 * @module
 */

/** The engines by name, the slowest first. */
export const ENGINES = ["portable", "udp", "packet", "xdp"] as const;
/** Stands for the fastest engine that runs here. */
export const FASTEST = "fastest";
/** What a user may name in place of an engine. */
export const ENGINE_CHOICES = [...ENGINES, FASTEST] as const;

/** The name of an engine. */
export type EngineName = typeof ENGINES[number];
/** What the user may name. */
export type EngineChoice = typeof ENGINE_CHOICES[number];
