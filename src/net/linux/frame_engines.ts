/**
 * The engines that write frames of their own: finding the way, and opening what they need.
 *
 * @module
 */
import { type Endpoint, family } from "../../core/address.ts";
import { Libc } from "./ffi/libc.ts";
import { checkLayout } from "./ffi/mmsghdr.ts";
import { PacketSender } from "./packet_sender.ts";
import { type FrameRoute, type FrameSender, FrameSocket } from "./frame_socket.ts";
import { SendThread } from "./thread/send_thread.ts";
import type { DatagramSocket } from "../socket.ts";
import { openUdpSocket } from "./udp_engine.ts";
import { XdpSocket } from "./xdp/xdp_socket.ts";
import { XdpSender } from "./xdp_sender.ts";
import { findGatewayMac, findUplink, type Uplink, type UplinkOptions } from "./netlink/uplink.ts";

/** The largest datagram of IP whose frame has room in a chunk. */
const LARGEST = 1500;

/** What the user said of the way, and whether it may be asked for. */
export interface FrameEngineOptions extends UplinkOptions {
  /** The gateway's MAC. Default: it is asked for. */
  readonly gatewayMac?: Uint8Array;
  /** Whether nothing may be sent, not even a question for the gateway's MAC. */
  readonly isDry: boolean;
}

/** An engine that runs here. */
export interface FrameEngine {
  /** The way that frames take. */
  readonly uplink: Uplink;
  /**
   * Opens a socket; one of IPv6 is the system's own.
   *
   * @throws Deno.errors.AddrInUse and others, as the system's sockets do.
   */
  open(local: Endpoint, thread?: SendThread): DatagramSocket;
  /** Starts a thread that sends. */
  startThread(): Promise<SendThread>;
}

/**
 * Looks whether `packet` can run here.
 *
 * @throws NoUplink where the system's sockets do; Deno.errors.PermissionDenied without CAP_NET_RAW;
 * InputError for what the user has to put right; Error with the call that failed.
 */
export async function packetEngine(options: FrameEngineOptions): Promise<FrameEngine> {
  const { uplink, route } = await findRoute(options);
  await testSender(new PacketSender(uplink.interface.index));
  const open = (thread?: SendThread) => new PacketSender(uplink.interface.index, thread);
  return {
    uplink,
    open: socketOpener(route, open),
    startThread: () => SendThread.start({ addresses: route }),
  };
}

/**
 * Looks whether `xdp` can run here. Each thread sends from a queue of its own, without threads the
 * program's from the first.
 *
 * @throws As {@linkcode packetEngine}.
 */
export async function xdpEngine(options: FrameEngineOptions): Promise<FrameEngine> {
  const { uplink, route } = await findRoute(options);
  const { index } = uplink.interface;
  // A queue is taken for a while after it was given back: what shows that it can be had is used.
  const free = [new XdpSocket(index, 0)];
  if (options.isDry) free.pop()![Symbol.dispose]();
  const take = (queue: number) => queue === 0 && free.pop() || new XdpSocket(index, queue);
  const sockets = new Map<SendThread, XdpSocket>();
  const open = (thread?: SendThread) => {
    const socket = thread === undefined ? undefined : sockets.get(thread);
    return new XdpSender(socket ?? take(0), thread);
  };
  let queues = 0;
  const startThread = async () => {
    const socket = take(queues++);
    const thread = await SendThread.start({ addresses: route, rings: socket.map });
    sockets.set(thread, socket);
    return thread;
  };
  const mtu = Math.min(route.mtu, LARGEST);
  return { uplink, open: socketOpener({ ...route, mtu }, open), startThread };
}

/** Finds the way, and the gateway's MAC; in a dry run that one stays open. */
async function findRoute(
  options: FrameEngineOptions,
): Promise<{ uplink: Uplink; route: FrameRoute }> {
  using libc = new Libc();
  checkLayout(libc);
  const uplink = findUplink(libc, options);
  const { source, ranges, interface: { mac, mtu } } = uplink;
  const gatewayMac = options.gatewayMac ??
    (options.isDry ? new Uint8Array(6) : await findGatewayMac(libc, uplink));
  return { uplink, route: { source, ranges, mtu, gatewayMac, sourceMac: mac } };
}

async function testSender(outlet: FrameSender): Promise<void> {
  outlet.hold();
  await outlet.release();
}

/** Opens sockets that share an outlet for each thread, as long as one of them is open. */
function socketOpener(route: FrameRoute, openOutlet: (thread?: SendThread) => FrameSender) {
  const outlets = new Map<SendThread | undefined, FrameSender>();
  return (local: Endpoint, thread?: SendThread): DatagramSocket => {
    if (family(local.address) === 6) return openUdpSocket(local, { thread });
    let outlet = outlets.get(thread);
    if (outlet === undefined || outlet.isClosed) {
      outlet = openOutlet(thread);
      outlets.set(thread, outlet);
    }
    outlet.hold(); // it closes, if nobody else uses it and no socket opens
    try {
      const udp = openUdpSocket(local, { thread, errors: outlet.errors });
      return new FrameSocket(udp, outlet, route);
    } finally {
      void outlet.release();
    }
  };
}
