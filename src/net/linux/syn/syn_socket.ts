/**
 * A socket that sends SYN packets as Ethernet frames, and receives the replies through a packet socket.
 * The system has no part in it, except that it answers SYN-ACKs with RSTs.
 *
 * @module
 */
import type { Endpoint } from "../../../core/address.ts";
import type { Clock } from "../../clock.ts";
import type { PortReplyReceiver, PortSocket } from "../../port_socket.ts";
import { maxDatagramsIn } from "../../receive_drain.ts";
import type { SendGate } from "../../send_gate.ts";
import type { Batch, ReceiverCapacity, SocketErrors, Template } from "../../socket.ts";
import { FrameBatch, framedAddresses, type FrameRoute, isFramed } from "../batch/frame_batch.ts";
import { TargetBatch } from "../batch/target_batch.ts";
import { countError, EFD_CLOEXEC, failure, Libc } from "../ffi/libc.ts";
import type { FrameSender } from "../frame_socket.ts";
import { type Arrivals, ReceiveLoop } from "../receive_loop.ts";
import type { HeldSocket, SendThread } from "../thread/send_thread.ts";
import { RecentReplies } from "./recent_replies.ts";
import { ReplyPacket } from "./reply_packet.ts";
import { ReplyTap } from "./reply_tap.ts";
import { Resets } from "./resets.ts";
import { type ReservedPort, reservePort } from "./source_port.ts";
import type { Endpoints } from "../../../core/endpoints.ts";
import type { AddressesBehindGateway } from "../netlink/routing_table.ts";

/** Maximum number of replies that are delivered at once. */
const AT_ONCE = 64;
/** Maximum number of RST packets for the repeated SYN-ACKs of a probe. */
const MAX_RESETS = 8;

/** What a {@linkcode SynSocket} is made from. */
export interface SynSocketOptions {
  readonly sender: FrameSender;
  readonly route: FrameRoute;
  /** The index of the interface. */
  readonly index: number;
  /** The socket for targets without a frame, which this one then owns. It has the same error counts. */
  readonly plain: PortSocket;
  /** The clock that recognises repeated replies. */
  readonly clock: Pick<Clock, "now">;
  /** The gate of SYN packets. Default: none. */
  readonly gate?: SendGate;
}

/** A socket of SYN packets. It keeps no state of probes. */
export class SynSocket implements PortSocket<SynBatch>, HeldSocket, Arrivals {
  readonly family = 4;
  readonly transport = "tcp";
  readonly pending = undefined;
  readonly receivesWhileSending = true;
  readonly port: number;
  readonly receiveBuffer: number;
  readonly #libc = new Libc();
  readonly #opened = new DisposableStack();
  readonly #tap: ReplyTap;
  readonly #loop: ReceiveLoop;
  readonly #resets: Resets;
  readonly #reply = new ReplyPacket();
  readonly #recent = new RecentReplies();
  #receiver: PortReplyReceiver | undefined;
  #closed: Promise<void> | undefined;

  /**
   * Opens the socket.
   *
   * @throws Deno.errors.AddrInUse, Deno.errors.AddrNotAvailable; Deno.errors.PermissionDenied without
   * CAP_NET_RAW; Error with the call that failed. The plain socket then stays the caller's.
   */
  constructor(private readonly options: SynSocketOptions) {
    const { sender, route, index } = options;
    const libc = this.#opened.use(this.#libc);
    try {
      const { port }: ReservedPort = this.#opened.use(reservePort(libc, route.source));
      this.port = port;
      const closing = libc.call.eventfd(0, EFD_CLOEXEC);
      if (closing < 0) throw failure(libc, "open an event");
      this.#opened.defer(() => libc.call.close(closing));
      const tapped = { index, address: route.source, port };
      const tap = this.#tap = this.#opened.use(new ReplyTap(libc, tapped));
      this.receiveBuffer = tap.ring.size;
      const most = maxDatagramsIn(this.receiveBuffer);
      const { socket } = tap;
      this.#loop = new ReceiveLoop({ libc, socket, closing, arrivals: this, most });
    } catch (error) {
      this.#opened.dispose();
      throw error;
    }
    const onFailure = (error: Error) => this.#loop.fail(error);
    this.#resets = new Resets({ ...options, port: this.port, onFailure }, AT_ONCE);
    sender.hold();
    this.thread?.hold(this);
  }

  get gate(): SendGate | undefined {
    return this.options.gate;
  }

  get errors(): SocketErrors {
    return this.options.sender.errors;
  }

  get thread(): SendThread | undefined {
    return this.options.sender.thread;
  }

  /** The descriptor of the packet socket that receives. */
  get socket(): number {
    return this.#tap.socket;
  }

  /** Whether a probe of a target without a frame waits for a reply. */
  hasPending(endpoint: Endpoint): boolean {
    return this.options.plain.hasPending?.(endpoint) ?? false;
  }

  get dropped(): number {
    return this.#tap.dropped + this.options.plain.dropped;
  }

  get receiveBufferUsed(): number {
    return this.#tap.used;
  }

  async listen(receiver: PortReplyReceiver, capacity?: ReceiverCapacity): Promise<void> {
    this.#receiver = receiver;
    await Promise.all([
      this.#loop.listen(capacity),
      this.options.plain.listen(receiver, capacity),
    ]);
  }

  /** Whether no reply waits. */
  get isEmpty(): boolean {
    return this.#tap.ring.isEmpty;
  }

  /** Delivers some replies, and answers those that are repeated SYN-ACKs. */
  deliver(): number {
    const count = this.#tap.ring.read(AT_ONCE, this.#read);
    this.#resets.flush();
    return count;
  }

  clearError(): void {
    const errno = this.#tap.takeError();
    if (errno !== 0) countError(this.errors.receive, errno);
  }

  readonly #read = (view: DataView, at: number, end: number): void => {
    const reply = this.#reply;
    if (!reply.read(view, at, end)) return;
    const { state, address, port } = reply;
    const repetition = this.#recent.add(reply, this.options.clock.now());
    reply.isRepeated = repetition > 0 && state !== "open";
    const isProved = this.#receiver!(reply, { address, port }) === true;
    const mayReset = repetition > 0 && repetition <= MAX_RESETS;
    if (isProved && state === "open" && mayReset) this.#resets.add(reply);
  };

  async drained(): Promise<void> {
    await Promise.all([this.#loop.drained(), this.options.plain.drained()]);
  }

  batch(template: Template, capacity: number): SynBatch {
    const { route, plain } = this.options;
    const behind = framedAddresses(route, template);
    const framed = this.thread === undefined
      ? new FrameBatch(route, behind, template, capacity)
      : new TargetBatch(template, capacity, 4);
    return new SynBatch(behind, framed, plain.batch(template, capacity));
  }

  flush({ framed, plain }: SynBatch, signal?: AbortSignal): number | Promise<number> {
    if (this.#closed !== undefined) return 0;
    const sent = framed.length === 0 ? 0 : this.#flushFrames(framed, signal);
    this.receiveBetweenBatches(framed.length);
    if (plain.length === 0) return sent;
    return sumOf(sent, this.options.plain.flush(plain, signal));
  }

  #flushFrames(framed: FrameBatch | TargetBatch, signal?: AbortSignal): number | Promise<number> {
    const { sender } = this.options;
    if (framed instanceof TargetBatch) return sender.send(framed, this.port, signal);
    framed.frames.finish(framed.framedCount, this.port);
    return sender.flush(framed, signal);
  }

  /** Counts SYN packets that any sender sent for this socket, and delivers replies. */
  receiveBetweenBatches(sent: number): void {
    if (this.#closed === undefined) this.#loop.receiveBetweenBatches(sent);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#closed ??= this.#close();
  }

  async #close(): Promise<void> {
    const { sender, plain } = this.options;
    await Promise.all([this.#loop.close(), plain[Symbol.asyncDispose]()]);
    await this.thread?.idle();
    const { thread } = this;
    await sender.release();
    this.#opened.dispose();
    await thread?.release(this);
  }
}

async function sumOf(...parts: (number | Promise<number>)[]): Promise<number> {
  const [one, other] = await Promise.all(parts);
  return one + other;
}

/** A batch of SYN packets: frames for targets behind the gateway, and connections to other targets. */
export class SynBatch implements Batch {
  /**
   * Creates a batch from empty ones.
   *
   * @param behind The addresses that get frames; `undefined`: none.
   * @param framed The frames, or their targets for a sender thread.
   * @param plain The batch of the socket for all other targets.
   */
  constructor(
    private readonly behind: AddressesBehindGateway | undefined,
    readonly framed: FrameBatch | TargetBatch,
    readonly plain: Batch,
  ) {}

  get length(): number {
    return this.framed.length + this.plain.length;
  }

  add(targets: Endpoints, i: number, token: number, clock: number): void {
    const batch = isFramed(this.behind, targets, i) ? this.framed : this.plain;
    batch.add(targets, i, token, clock);
  }

  clear(): void {
    this.framed.clear();
    this.plain.clear();
  }
}
