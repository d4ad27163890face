/**
 * Asking Linux about its networks, over netlink: no privilege is needed.
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

/** What the kernel sends at once fits in. */
const BUFFER_SIZE = 65_536;
const SOCKADDR_NL = 12;

/** The kernel said no. */
export class NetlinkError extends Error {
  /**
   * Says so.
   *
   * @param errno The number of the error.
   */
  constructor(readonly errno: number) {
    super(`Cannot ask the system about its networks: error ${errno}`);
  }
}

/**
 * Asks the kernel, which answers while it is asked.
 *
 * @returns All answers.
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
      throw failure(libc, "ask the system about its networks");
    }
    return receiveAll(libc, socket);
  } finally {
    call.close(socket);
  }
}

function receiveAll(libc: Libc, socket: number): RtnetlinkReply[] {
  const answers: RtnetlinkReply[] = [];
  const room = new Uint8Array(BUFFER_SIZE);
  for (;;) {
    const size = Number(libc.call.recv(socket, room, BigInt(BUFFER_SIZE), MSG_DONTWAIT));
    if (size < 0) throw failure(libc, "hear what the system says about its networks");
    const came = decodeReplies(room.subarray(0, size));
    for (const answer of came) {
      if (answer === "done") return answers;
      if ("errno" in answer) throw new NetlinkError(answer.errno);
      answers.push(answer);
      if (!isList(room)) return answers;
    }
  }
}

/** Whether more messages follow, until one says that there are no more. */
function isList(messages: Uint8Array): boolean {
  return (messages[6] & 2) !== 0;
}
