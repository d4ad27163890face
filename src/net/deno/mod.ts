/**
 * Sockets of Deno, which need no rights.
 *
 * @module
 */
export { denoDialer } from "./tcp_dialer.ts";
export { StreamListener } from "./tcp_listener.ts";
export { openGroupSocket, openLinkSocket, openSocket, USUAL_RECEIVE_BUFFER } from "./udp_socket.ts";
