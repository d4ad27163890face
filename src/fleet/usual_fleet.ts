/**
 * What a fleet is where nothing is said.
 *
 * @module
 */

/** Where it stands. */
export const FLEET_RANGE = "127.16.0.0/16";

/** What it holds where no software is named, in words. */
export const USUAL_MIX = "a mix without SQP and LAN worlds";
