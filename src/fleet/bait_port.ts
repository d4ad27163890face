/**
 * The port to which hostile hosts redirect.
 *
 * @module
 */

/** Only a client that follows a redirect of a hostile host connects to this port. */
export const BAIT_PORT = 47777;
