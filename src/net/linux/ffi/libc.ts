/**
 * The used part of Linux' C library, through FFI: functions, constants and error names. Opening the
 * library needs `--allow-ffi`, so this file is imported only by engines that the user chose.
 *
 * The constants are those of x86-64 and arm64, which agree on all of them; `tests/arm64/` compares them
 * with the C headers of both.
 *
 * @module
 */

export const AF_UNIX = 1;
export const AF_INET = 2;
export const AF_INET6 = 10;
export const AF_NETLINK = 16;
export const AF_PACKET = 17;
export const AF_XDP = 44;
export const AF_UNSPEC = 0;
export const SOCK_STREAM = 1;
export const SOCK_DGRAM = 2;
export const SOCK_RAW = 3;
export const SOCK_NONBLOCK = 0x800;
export const SOCK_CLOEXEC = 0x80000;
export const O_CLOEXEC = 0x80000;
export const SOL_SOCKET = 1;
export const SO_ERROR = 4;
export const SO_RCVBUF = 8;
export const SO_BINDTODEVICE = 25;
export const SO_ATTACH_FILTER = 26;
export const SO_RCVBUFFORCE = 33;
export const SO_MEMINFO = 55;
export const SOL_PACKET = 263;
export const PACKET_QDISC_BYPASS = 20;
export const IPPROTO_IP = 0;
export const IP_PKTINFO = 8;
export const IP_MTU_DISCOVER = 10;
export const IP_BIND_ADDRESS_NO_PORT = 24;
export const IPPROTO_TCP = 6;
export const TCP_USER_TIMEOUT = 18;
export const IPPROTO_IPV6 = 41;
export const IPV6_MTU_DISCOVER = 23;
export const IPV6_V6ONLY = 26;
export const PMTUDISC_DO = 2;
export const MSG_DONTWAIT = 0x40;
export const MSG_ERRQUEUE = 0x2000;
export const MSG_NOSIGNAL = 0x4000;
export const POLLIN = 1;
export const POLLOUT = 4;
export const POLLERR = 8;
export const EFD_CLOEXEC = 0x80000;
export const EFD_NONBLOCK = 0x800;
export const EPOLL_CLOEXEC = 0x80000;
export const EPOLL_CTL_ADD = 1;
export const EPOLL_CTL_MOD = 3;
export const EPOLLIN = 1;
export const EPOLLOUT = 4;
export const EPOLLERR = 8;
export const EPOLLHUP = 0x10;
export const EPOLLRDHUP = 0x2000;
export const EPOLLET = 0x80000000;

export const EPERM = 1;
export const EINTR = 4;
export const ENXIO = 6;
export const EAGAIN = 11;
export const ENOMEM = 12;
export const EBUSY = 16;
export const ENODEV = 19;
export const EINVAL = 22;
export const ENOSPC = 28;
export const EOPNOTSUPP = 95;
export const EADDRINUSE = 98;
export const EADDRNOTAVAIL = 99;
export const ENETDOWN = 100;
export const ECONNRESET = 104;
export const ENOBUFS = 105;
export const ETIMEDOUT = 110;
export const ECONNREFUSED = 111;
export const EINPROGRESS = 115;

/** Names of the errors of sockets, by number. */
const NAMES: Readonly<Record<number, string>> = {
  1: "EPERM",
  4: "EINTR",
  6: "ENXIO",
  9: "EBADF",
  11: "EAGAIN",
  12: "ENOMEM",
  13: "EACCES",
  16: "EBUSY",
  19: "ENODEV",
  22: "EINVAL",
  23: "ENFILE",
  24: "EMFILE",
  28: "ENOSPC",
  38: "ENOSYS",
  90: "EMSGSIZE",
  92: "ENOPROTOOPT",
  95: "EOPNOTSUPP",
  97: "EAFNOSUPPORT",
  98: "EADDRINUSE",
  99: "EADDRNOTAVAIL",
  100: "ENETDOWN",
  101: "ENETUNREACH",
  104: "ECONNRESET",
  105: "ENOBUFS",
  111: "ECONNREFUSED",
  112: "EHOSTDOWN",
  113: "EHOSTUNREACH",
};

/** Whether an error means a full send buffer or queue, which drains soon. */
export function isFull(errno: number): boolean {
  return errno === EAGAIN || errno === ENOBUFS || errno === EBUSY;
}

/** Whether an error means that the interface is down or gone; the datagram was not refused. */
export function isLost(errno: number): boolean {
  return errno === ENETDOWN || errno === ENXIO || errno === ENODEV;
}

/** The name of an error, or `errno N` for an unknown one. */
export function errorName(errno: number): string {
  return NAMES[errno] ?? `errno ${errno}`;
}

/** Adds an error to counts by name. */
export function countError(errors: Map<string, number>, errno: number, times = 1): void {
  const name = errorName(errno);
  errors.set(name, (errors.get(name) ?? 0) + times);
}

/** The error of a send that an interface ended, because it is down, full or gone. */
export function interfaceError(errno: number): Error {
  const is = errno === ENETDOWN ? "is down" : isFull(errno) ? "accepts no frames" : "is gone";
  return new Error(`the interface ${is} (${errorName(errno)})`);
}

const SYMBOLS = {
  socket: { parameters: ["i32", "i32", "i32"], result: "i32" },
  socketpair: { parameters: ["i32", "i32", "i32", "buffer"], result: "i32" },
  setsockopt: { parameters: ["i32", "i32", "i32", "buffer", "u32"], result: "i32" },
  getsockopt: { parameters: ["i32", "i32", "i32", "buffer", "buffer"], result: "i32" },
  getsockname: { parameters: ["i32", "buffer", "buffer"], result: "i32" },
  connect: { parameters: ["i32", "buffer", "u32"], result: "i32" },
  bind: { parameters: ["i32", "buffer", "u32"], result: "i32" },
  sendto: { parameters: ["i32", "buffer", "usize", "i32", "buffer", "u32"], result: "isize" },
  sendmmsg: { parameters: ["i32", "usize", "u32", "i32"], result: "i32" },
  recv: { parameters: ["i32", "buffer", "usize", "i32"], result: "isize" },
  recvmmsg: { parameters: ["i32", "usize", "u32", "i32", "pointer"], result: "i32" },
  poll: { parameters: ["buffer", "u64", "i32"], result: "i32", nonblocking: true },
  pollHere: { name: "poll", parameters: ["buffer", "u64", "i32"], result: "i32" },
  epoll_create1: { parameters: ["i32"], result: "i32" },
  epoll_ctl: { parameters: ["i32", "i32", "i32", "buffer"], result: "i32" },
  epoll_wait: { parameters: ["i32", "buffer", "i32", "i32"], result: "i32" },
  read: { parameters: ["i32", "buffer", "usize"], result: "isize" },
  mmap: { parameters: ["usize", "usize", "i32", "i32", "i32", "i64"], result: "usize" },
  munmap: { parameters: ["usize", "usize"], result: "i32" },
  memcpy: { parameters: ["usize", "usize", "usize"], result: "usize" },
  eventfd: { parameters: ["u32", "i32"], result: "i32" },
  eventfd_write: { parameters: ["i32", "u64"], result: "i32" },
  open: { parameters: ["buffer", "i32"], result: "i32" },
  close: { parameters: ["i32"], result: "i32" },
  __errno_location: { parameters: [], result: "pointer" },
} as const;

type Functions = Deno.DynamicLibrary<typeof SYMBOLS>["symbols"];

/**
 * The open library with its number of users. Opening it takes five milliseconds, so users share it.
 */
let shared: { library: Deno.DynamicLibrary<typeof SYMBOLS>; users: number } | undefined;

/** A handle to the open C library. */
export class Libc implements Disposable {
  readonly call: Functions;
  readonly #errno: Deno.UnsafePointerView;
  #isOpen = true;

  /**
   * Opens the library.
   *
   * @throws Deno.errors.NotCapable without `--allow-ffi`; Error when the library is missing.
   */
  constructor() {
    shared ??= { library: Deno.dlopen("libc.so.6", SYMBOLS), users: 0 };
    shared.users++;
    this.call = shared.library.symbols;
    this.#errno = new Deno.UnsafePointerView(this.call.__errno_location()!);
  }

  /** The error number of the last failed call on this thread. */
  errno(): number {
    return this.#errno.getInt32();
  }

  /** Closes the handle. None of its calls may still be running. */
  [Symbol.dispose](): void {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    if (--shared!.users > 0) return;
    shared!.library.close();
    shared = undefined;
  }
}

/** The bytes of a C `int`. */
export function int32(value: number): Uint8Array<ArrayBuffer> {
  return new Uint8Array(Int32Array.of(value).buffer);
}

/** The error of the last failed call, with the class that Deno's own sockets throw. */
export function failure(libc: Libc, what: string): Error {
  const errno = libc.errno();
  const message = `Cannot ${what}: ${errorName(errno)}`;
  if (errno === EPERM) return new Deno.errors.PermissionDenied(message);
  if (errno === EADDRINUSE) return new Deno.errors.AddrInUse(message);
  if (errno === EADDRNOTAVAIL) return new Deno.errors.AddrNotAvailable(message);
  return new Error(message);
}
