/**
 * The fast engine: UDP sockets of Linux through FFI. Whole batches leave and arrive in one system
 * call each, the receive buffer is as large as the system allows, and what the system had no room
 * for is known. No privilege is needed; `--allow-ffi` is, and `--allow-net` is not consulted: who
 * may be asked is for the caller to see to.
 *
 * @module
 */
import { type Endpoint, family } from "../../core/address.ts";
import { Endpoints } from "../../core/endpoints.ts";
import {
  AF_INET,
  AF_INET6,
  EFD_CLOEXEC,
  failure,
  int32,
  IP_MTU_DISCOVER,
  IPPROTO_IP,
  IPPROTO_IPV6,
  IPV6_MTU_DISCOVER,
  IPV6_V6ONLY,
  Libc,
  PMTUDISC_DO,
  SO_RCVBUF,
  SO_RCVBUFFORCE,
  SOCK_CLOEXEC,
  SOCK_DGRAM,
  SOL_SOCKET,
} from "./ffi/libc.ts";
import { checkLayout, sockaddrSize, writeSockaddr } from "./ffi/mmsghdr.ts";
import type { SendThread } from "./thread/send_thread.ts";
import type { SocketErrors } from "../socket.ts";
import { UdpSocket } from "./udp_socket.ts";

/** What we ask the receive buffer to hold, bytes; the system doubles it for its own needs. */
const RECEIVE_BUFFER = 64 * 1024 * 1024;

/**
 * Looks whether this engine can run here.
 *
 * @throws Deno.errors.NotCapable without `--allow-ffi`; Error with what is missing.
 */
export async function probeUdp(): Promise<void> {
  {
    using libc = new Libc();
    checkLayout(libc);
  }
  await openUdpSocket({ address: 0x7f000001, port: 0 })[Symbol.asyncDispose]();
}

/** How a socket differs from the usual one. */
export interface UdpOptions {
  /**
   * How large a receive buffer to ask for, bytes: without the capability CAP_NET_ADMIN the system
   * gives no more than `net.core.rmem_max`. Default: 64 MiB.
   */
  readonly receiveBuffer?: number;
  /** Sends the batches. Default: the thread that fills them. */
  readonly thread?: SendThread;
  /** Where to count what goes wrong. Default: a place of its own. */
  readonly errors?: SocketErrors;
}

/**
 * Opens a UDP socket. What it sends may not be split on its way; what arrives is never cut.
 *
 * @param local Its own address, and its port or 0 for any.
 * @throws Deno.errors.AddrInUse, Deno.errors.AddrNotAvailable, Deno.errors.NotCapable; Error with
 * the call that failed.
 */
export function openUdpSocket(
  local: Endpoint,
  { receiveBuffer = RECEIVE_BUFFER, thread, errors }: UdpOptions = {},
): UdpSocket {
  const libc = new Libc();
  const opened: number[] = [];
  try {
    const socket = libc.call.socket(domain(local), SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (socket < 0) throw failure(libc, "open a socket");
    opened.push(socket);
    const closing = libc.call.eventfd(0, EFD_CLOEXEC);
    if (closing < 0) throw failure(libc, "open an event");
    opened.push(closing);
    setUp(libc, socket, local, receiveBuffer);
    return new UdpSocket(libc, socket, closing, family(local.address), thread, errors);
  } catch (error) {
    for (const one of opened) libc.call.close(one);
    libc[Symbol.dispose]();
    throw error;
  }
}

function domain({ address }: Endpoint): number {
  return family(address) === 4 ? AF_INET : AF_INET6;
}

/** Sets buffers and options, and binds. */
function setUp(libc: Libc, socket: number, local: Endpoint, receiveBuffer: number): void {
  const set = (level: number, option: number, value: number) =>
    libc.call.setsockopt(socket, level, option, int32(value), 4) === 0;
  const must = (done: boolean, what: string) => {
    if (!done) throw failure(libc, what);
  };
  if (!set(SOL_SOCKET, SO_RCVBUFFORCE, receiveBuffer)) {
    must(set(SOL_SOCKET, SO_RCVBUF, receiveBuffer), "set the receive buffer");
  }
  const bits = family(local.address);
  if (bits === 4) {
    must(set(IPPROTO_IP, IP_MTU_DISCOVER, PMTUDISC_DO), "forbid splitting datagrams");
  } else {
    must(set(IPPROTO_IPV6, IPV6_V6ONLY, 1), "leave IPv4 out");
    must(set(IPPROTO_IPV6, IPV6_MTU_DISCOVER, PMTUDISC_DO), "forbid splitting datagrams");
  }
  const name = new Uint8Array(sockaddrSize(bits));
  writeSockaddr(new DataView(name.buffer), 0, Endpoints.of(local), 0);
  must(libc.call.bind(socket, name, name.length) === 0, "bind a socket");
}
