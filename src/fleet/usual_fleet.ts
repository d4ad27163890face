/**
 * Defaults of the command `fleet`.
 *
 * @module
 */

/** Default address range of a fleet. */
export const FLEET_RANGE = "127.16.0.0/16";

/** Description of the default software of a fleet, for the help. */
export const USUAL_MIX = "a mix without SQP and LAN worlds";
