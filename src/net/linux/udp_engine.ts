/**
 * The fast engine: UDP sockets of Linux through FFI. Each system call sends or receives a whole
 * batch, the receive buffer is as large as the system allows, and dropped datagrams are counted. It
 * needs `--allow-ffi` and no privilege. Deno does not check `--allow-net` for it, so the caller has
 * to restrict its targets.
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
import type { SendGate } from "../send_gate.ts";
import type { SocketErrors } from "../socket.ts";
import { UdpSocket } from "./udp_socket.ts";

/** Requested size of the receive buffer, bytes; the system doubles it for its own overhead. */
const RECEIVE_BUFFER = 64 * 1024 * 1024;

/**
 * Tests whether this engine can run on this machine.
 *
 * @throws Deno.errors.NotCapable without `--allow-ffi`; Error with the missing part.
 */
export async function probeUdp(): Promise<void> {
  {
    using libc = new Libc();
    checkLayout(libc);
  }
  await openUdpSocket({ address: 0x7f000001, port: 0 })[Symbol.asyncDispose]();
}

/** Options of a socket of this engine. */
export interface UdpOptions {
  /**
   * Requested size of the receive buffer, bytes. Without the capability CAP_NET_ADMIN the system
   * limits it to `net.core.rmem_max`. Default: 64 MiB.
   */
  readonly receiveBuffer?: number;
  /** The sender thread for batches. Default: the calling thread sends. */
  readonly thread?: SendThread;
  /** The error counts to add to. Default: counts of its own. */
  readonly errors?: SocketErrors;
  /** The gate of its datagrams. Default: none. */
  readonly gate?: SendGate;
}

/**
 * Opens a UDP socket. Its datagrams must not be fragmented, and received datagrams are never cut.
 *
 * @param local The local address, and the local port or 0 for any.
 * @throws Deno.errors.AddrInUse, Deno.errors.AddrNotAvailable, Deno.errors.NotCapable; Error with
 * the call that failed.
 */
export function openUdpSocket(
  local: Endpoint,
  { receiveBuffer = RECEIVE_BUFFER, thread, errors, gate }: UdpOptions = {},
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
    return new UdpSocket(libc, socket, closing, family(local.address), thread, errors, gate);
  } catch (error) {
    for (const one of opened) libc.call.close(one);
    libc[Symbol.dispose]();
    throw error;
  }
}

function domain({ address }: Endpoint): number {
  return family(address) === 4 ? AF_INET : AF_INET6;
}

/** Sets the buffer and options of a socket, and binds it. */
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
    must(set(IPPROTO_IP, IP_MTU_DISCOVER, PMTUDISC_DO), "forbid fragmentation");
  } else {
    must(set(IPPROTO_IPV6, IPV6_V6ONLY, 1), "exclude IPv4");
    must(set(IPPROTO_IPV6, IPV6_MTU_DISCOVER, PMTUDISC_DO), "forbid fragmentation");
  }
  const name = new Uint8Array(sockaddrSize(bits));
  writeSockaddr(new DataView(name.buffer), 0, Endpoints.of(local), 0);
  must(libc.call.bind(socket, name, name.length) === 0, "bind a socket");
}
