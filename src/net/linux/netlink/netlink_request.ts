/**
 * Requests to Linux about its network configuration, over netlink. No privilege is needed.
 *
 * @module
 */
import {
  AF_NETLINK,
  failure,
  type Libc,
  MSG_DONTWAIT,
  SOCK_CLOEXEC,
  SOCK_RAW,
} from "../ffi/libc.ts";
import { decodeReplies, type RtnetlinkReply } from "./rtnetlink.ts";

/** Size of the receive buffer, which exceeds the largest datagram of the kernel, bytes. */
const BUFFER_SIZE = 65_536;
const SOCKADDR_NL = 12;

/** The kernel refused a request. */
export class NetlinkError extends Error {
  /**
   * Creates the error.
   *
   * @param errno The error number of the kernel.
   */
  constructor(readonly errno: number) {
    super(`Cannot read the network configuration of the system: error ${errno}`);
  }
}

/**
 * Sends a request to the kernel, which replies before the send call returns.
 *
 * @returns All replies.
 * @throws NetlinkError; Truncated, Malformed; Error with the call that failed.
 */
export function requestNetlink(libc: Libc, request: Uint8Array<ArrayBuffer>): RtnetlinkReply[] {
  const { call } = libc;
  const socket = call.socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, 0);
  if (socket < 0) throw failure(libc, "open a netlink socket");
  try {
    const kernel = new Uint8Array(SOCKADDR_NL);
    kernel[0] = AF_NETLINK;
    if (call.sendto(socket, request, BigInt(request.length), 0, kernel, SOCKADDR_NL) < 0) {
      throw failure(libc, "request the network configuration of the system");
    }
    return receiveAll(libc, socket);
  } finally {
    call.close(socket);
  }
}

function receiveAll(libc: Libc, socket: number): RtnetlinkReply[] {
  const replies: RtnetlinkReply[] = [];
  const buffer = new Uint8Array(BUFFER_SIZE);
  for (;;) {
    const size = Number(libc.call.recv(socket, buffer, BigInt(BUFFER_SIZE), MSG_DONTWAIT));
    if (size < 0) throw failure(libc, "receive the network configuration of the system");
    for (const reply of decodeReplies(buffer.subarray(0, size))) {
      if (reply === "done") return replies;
      if ("errno" in reply) throw new NetlinkError(reply.errno);
      replies.push(reply);
      if (!isList(buffer)) return replies;
    }
  }
}

/** Whether the message belongs to a list, which ends with a "done" message. */
function isList(messages: Uint8Array): boolean {
  return (messages[6] & 2) !== 0;
}
