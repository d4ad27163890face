/**
 * Sending a batch to its end, on a thread that has nothing else to do.
 *
 * @module
 */
import { EAGAIN, EINTR, isFull, type Libc, MSG_DONTWAIT, POLLOUT } from "./libc.ts";
import { MMSGHDR } from "./messages.ts";

/** How long the system may have no room for what we send before it counts as refused. */
const MOST_WAITS = 1000;
const WAIT_MS = 1;

/**
 * Sends messages, waiting where there is no room for them.
 *
 * @param messages Where they are.
 * @param refuse Told the error of each that the system does not take.
 * @returns How many it took.
 */
export function sendAll(
  libc: Libc,
  socket: number,
  messages: bigint,
  count: number,
  refuse: (errno: number) => void,
): number {
  let sent = 0;
  let waits = 0;
  for (let at = 0; at < count;) {
    const first = messages + BigInt(at * MMSGHDR);
    const taken = libc.call.sendmmsg(socket, first, count - at, MSG_DONTWAIT);
    if (taken > 0) {
      at += taken;
      sent += taken;
      continue;
    }
    // Of a batch that breaks off, the error is told by the call that begins with its cause.
    const errno = libc.errno();
    if (isFull(errno) && waits++ < MOST_WAITS) {
      const wanted = Int32Array.of(errno === EAGAIN ? socket : -1, POLLOUT);
      libc.call.pollHere(wanted, 1n, WAIT_MS);
    } else if (errno !== EINTR) {
      refuse(errno);
      at++;
    }
  }
  return sent;
}
