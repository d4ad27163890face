/**
 * The engines that write Ethernet frames: they find the next hop and open their sockets.
 *
 * @module
 */
import { type Endpoint, family } from "../../core/address.ts";
import { Libc } from "./ffi/libc.ts";
import { checkLayout } from "./ffi/mmsghdr.ts";
import { PacketSender } from "./packet_sender.ts";
import type { FrameRoute } from "./batch/frame_batch.ts";
import { type FrameSender, FrameSocket } from "./frame_socket.ts";
import { SendThread } from "./thread/send_thread.ts";
import type { SendGate } from "../send_gate.ts";
import type { DatagramSocket } from "../socket.ts";
import type { PortSocket, PortSocketOptions } from "../port_socket.ts";
import { SynSocket } from "./syn/syn_socket.ts";
import { openUdpSocket } from "./udp_engine.ts";
import { XdpSocket } from "./xdp/xdp_socket.ts";
import { XdpSender } from "./xdp_sender.ts";
import { findGatewayMac, findUplink, type Uplink, type UplinkOptions } from "./netlink/uplink.ts";

/** Largest IP datagram whose frame fits into a chunk of XDP memory, bytes. */
const LARGEST = 1500;

export interface FrameEngineOptions extends UplinkOptions {
  /** The gateway's MAC. Default: it is requested by ARP. */
  readonly gatewayMac?: Uint8Array;
  /** Whether nothing may be sent, not even an ARP request for the gateway's MAC. */
  readonly isDry: boolean;
  /**
   * Opens the socket of SYN packets for targets without a frame, and for those of IPv6. Default: the
   * engine opens no sockets of SYN packets.
   */
  readonly openPlainPorts?: PortOpener;
}

/** Opens a socket of SYN packets. */
type PortOpener = (local: Endpoint, options: PortSocketOptions) => PortSocket;

/** A frame engine that was tested on this machine. */
export interface FrameEngine {
  /** The interface and gateway of its frames. */
  readonly uplink: Uplink;
  /**
   * Opens a socket. An IPv6 socket sends through the system, without frames.
   *
   * @throws Deno.errors.AddrInUse and other errors of the system's sockets.
   */
  open(local: Endpoint, thread?: SendThread, gate?: SendGate): DatagramSocket;
  /**
   * Opens a socket of SYN packets. That of IPv6 sends no frames.
   *
   * @throws Deno.errors.AddrInUse and other errors of the system's sockets.
   */
  openPorts?(local: Endpoint, options: PortSocketOptions, thread?: SendThread): PortSocket;
  startThread(): Promise<SendThread>;
}

/**
 * Tests whether the engine `packet` can run on this machine, and creates it.
 *
 * @throws NoUplink when no target has a frame route; Deno.errors.PermissionDenied without
 * CAP_NET_RAW; InputError for options that the user has to change; Error with the call that failed.
 */
export async function packetEngine(options: FrameEngineOptions): Promise<FrameEngine> {
  const { uplink, route } = await findRoute(options);
  await testSender(new PacketSender(uplink.interface.index));
  const open: SenderOpener = (thread, gate) =>
    new PacketSender(uplink.interface.index, thread, gate);
  return {
    uplink,
    ...socketOpeners({ uplink, route, open, openPlain: options.openPlainPorts }),
    startThread: () => SendThread.start({ route }),
  };
}

/**
 * Tests whether the engine `xdp` can run on this machine, and creates it. Each sender thread uses a
 * queue of its own. Without sender threads the main thread uses the first queue.
 *
 * @throws The errors of {@linkcode packetEngine}.
 */
export async function xdpEngine(options: FrameEngineOptions): Promise<FrameEngine> {
  const { uplink, route } = await findRoute(options);
  const { index } = uplink.interface;
  // A queue stays busy for a while after its socket closes, so the socket of the test is used.
  const free = [new XdpSocket(index, 0)];
  if (options.isDry) free.pop()![Symbol.dispose]();
  const take = (queue: number) => queue === 0 && free.pop() || new XdpSocket(index, queue);
  const sockets = new Map<SendThread, XdpSocket>();
  const open: SenderOpener = (thread, gate) => {
    const socket = thread === undefined ? undefined : sockets.get(thread);
    return new XdpSender(socket ?? take(0), thread, gate);
  };
  const mtu = Math.min(route.mtu, LARGEST);
  let queues = 0;
  const startThread = async () => {
    const socket = take(queues++);
    const thread = await SendThread.start({ route: { ...route, mtu }, rings: socket.map });
    sockets.set(thread, socket);
    return thread;
  };
  const openers = { uplink, route: { ...route, mtu }, open, openPlain: options.openPlainPorts };
  return { uplink, ...socketOpeners(openers), startThread };
}

/** Finds the next hop and the gateway's MAC, which a dry run leaves zero. */
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

/** Closes a sender that was opened only to test whether it can be opened. */
async function testSender(sender: FrameSender): Promise<void> {
  sender.hold();
  await sender.release();
}

type SenderOpener = (thread?: SendThread, gate?: SendGate) => FrameSender;

/** What sockets are opened with. */
interface OpeningDependencies {
  readonly uplink: Uplink;
  readonly route: FrameRoute;
  readonly open: SenderOpener;
  readonly openPlain?: PortOpener;
}

/**
 * Returns functions that open sockets. The open sockets of one thread share a frame sender, and have
 * the same gate.
 */
function socketOpeners(
  { uplink, route, open, openPlain }: OpeningDependencies,
): Pick<FrameEngine, "open" | "openPorts"> {
  const senders = new Map<SendThread | undefined, FrameSender>();
  /** Opens a socket with the sender of a thread. */
  const withSender = <T>(
    thread: SendThread | undefined,
    gate: SendGate | undefined,
    openWith: (sender: FrameSender) => T,
  ): T => {
    let sender = senders.get(thread);
    if (sender === undefined || sender.isClosed) {
      sender = open(thread, gate);
      senders.set(thread, sender);
    }
    sender.hold(); // `release` closes the sender, unless a socket has opened
    try {
      return openWith(sender);
    } finally {
      void sender.release();
    }
  };
  return {
    open(local, thread, gate) {
      if (family(local.address) === 6) return openUdpSocket(local, { thread, gate });
      return withSender(thread, gate, (sender) => {
        const udp = openUdpSocket(local, { thread, errors: sender.errors, gate });
        return new FrameSocket(udp, sender, route);
      });
    },
    openPorts: openPlain && ((local, options, thread) => {
      if (family(local.address) === 6) return openPlain(local, options);
      const { gate, clock } = options;
      return withSender(thread, gate, (sender) => {
        const plain = openPlain(local, { ...options, errors: sender.errors });
        try {
          const { index } = uplink.interface;
          return new SynSocket({ sender, route, index, plain, gate, clock });
        } catch (error) {
          void plain[Symbol.asyncDispose]();
          throw error;
        }
      });
    }),
  };
}
