/**
 * Reserves a local TCP port for SYN packets that bypass the system's sockets: by a bound socket that
 * never listens. The system answers SYN-ACKs to it with RSTs.
 *
 * @module
 */
import { Endpoints } from "../../../core/endpoints.ts";
import {
  AF_INET,
  EADDRINUSE,
  failure,
  int32,
  type Libc,
  O_CLOEXEC,
  SOCK_CLOEXEC,
  SOCK_STREAM,
} from "../ffi/libc.ts";
import { readSockaddr, sockaddrSize, writeSockaddr } from "../ffi/mmsghdr.ts";

/** The file with the ports that the system gives to connections: two numbers. */
const RANGE_FILE = "/proc/sys/net/ipv4/ip_local_port_range";
/** The lowest port that is chosen: services often use lower ones. */
const LOWEST = 10_000;
const PORTS = 65_536;
/** Number of random ports to try. */
const TRIES = 64;

/** A port that no other program can bind. */
export interface ReservedPort extends Disposable {
  /** The port, 1 to 65535. */
  readonly port: number;
}

/**
 * Reserves a random port outside the range of ports that the system gives to connections, if one is free.
 *
 * @param address The local IPv4 address.
 * @throws Deno.errors.AddrInUse, Deno.errors.AddrNotAvailable; Error with the call that failed.
 */
export function reservePort(libc: Libc, address: number): ReservedPort {
  const socket = libc.call.socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (socket < 0) throw failure(libc, "open a socket");
  try {
    const choices = randomPorts(portRange(libc));
    const name = new Uint8Array(sockaddrSize(4));
    const view = new DataView(name.buffer);
    for (const [i, choice] of choices.entries()) {
      writeSockaddr(view, 0, Endpoints.of({ address, port: choice }), 0);
      if (libc.call.bind(socket, name, name.length) === 0) break;
      const isLast = i === choices.length - 1;
      if (isLast || libc.errno() !== EADDRINUSE) throw failure(libc, "bind a socket");
    }
    if (libc.call.getsockname(socket, name, int32(name.length)) < 0) {
      throw failure(libc, "get the local address");
    }
    const close = () => void libc.call.close(socket);
    return { port: readSockaddr(view, 0).port, [Symbol.dispose]: close };
  } catch (error) {
    libc.call.close(socket);
    throw error;
  }
}

/**
 * Random ports outside a range, and at last 0, for which the system chooses a port.
 *
 * @param range The first and the last port of the range.
 * @param random Returns a number from 0 to below 1.
 */
export function randomPorts(
  [first, last]: readonly [number, number],
  random: () => number = Math.random,
): readonly number[] {
  const below = Math.max(0, first - LOWEST);
  const from = Math.max(LOWEST, last + 1);
  const count = below + PORTS - from;
  const choose = () => {
    const n = Math.floor(random() * count);
    return n < below ? LOWEST + n : from + n - below;
  };
  return [...Array.from({ length: count > 0 ? TRIES : 0 }, choose), 0];
}

/** The ports that the system gives to connections; all, if it does not report them. */
function portRange(libc: Libc): readonly [number, number] {
  const all = [1, PORTS - 1] as const;
  const file = libc.call.open(new TextEncoder().encode(`${RANGE_FILE}\0`), O_CLOEXEC);
  if (file < 0) return all;
  const bytes = new Uint8Array(64);
  const size = Number(libc.call.read(file, bytes, BigInt(bytes.length)));
  libc.call.close(file);
  const text = new TextDecoder().decode(bytes.subarray(0, Math.max(0, size)));
  const [first, last] = text.trim().split(/\s+/).map(Number);
  return first > 0 && last >= first && last < PORTS ? [first, last] : all;
}
