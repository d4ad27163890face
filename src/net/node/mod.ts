/**
 * Sockets of Node.js, which Bun has too.
 *
 * @module
 */
export { nodeDialer } from "./tcp_dialer.ts";
export { openNodeSocket } from "./udp_socket.ts";
