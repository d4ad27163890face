/**
 * Facts and functions of Linux that other code needs without an engine.
 *
 * @module
 */
export { WildcardSocket } from "./wildcard_socket.ts";
export { Libc } from "./ffi/libc.ts";
export { NoUplink } from "./netlink/uplink.ts";
export { SendThread } from "./thread/send_thread.ts";
