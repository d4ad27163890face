/**
 * Computes the probes of blocks on a sender thread: targets, tokens and times.
 *
 * @module
 */
import { Endpoints } from "../../../core/endpoints.ts";
import { HostFilter } from "../../../targets/host_filter.ts";
import { TargetSpace } from "../../../targets/space.ts";
import { Tokens } from "../../../targets/token.ts";
import type { Template, ThreadPass } from "../../socket.ts";
import { framedAddresses, type FrameRoute, isFramed } from "../batch/frame_batch.ts";
import type { AddressesBehindGateway } from "../netlink/routing_table.ts";
import type { ArrivedBlock, SendMethod } from "./job_memory.ts";
import type { JobReport } from "./job_server.ts";

export interface ThreadSocket {
  /** The address family of the socket. */
  readonly family: 4 | 6;
  /** The file descriptor of the socket. */
  readonly socket: number;
  /** The local port of the socket. */
  readonly port: number;
}

/** A batch to which a selection of targets is added. */
export interface SelectionBatch {
  /**
   * Adds targets.
   *
   * @param indexes Indexes of the targets in the list.
   * @param tokens The tokens of all targets of the list.
   * @param clock The time of the call, microseconds modulo 2^32.
   */
  addSelected(targets: Endpoints, indexes: Uint16Array, tokens: Int32Array, clock: number): void;
}

/** How datagrams are sent. */
export interface Destination {
  /** File descriptor of the socket that sends. */
  readonly socket: number;
  readonly method: SendMethod;
  /** The source port of frames. */
  readonly port: number;
}

/** How frames are sent. */
export interface FramesOfThread {
  readonly route: FrameRoute;
  /** File descriptor of the packet or XDP socket. */
  readonly socket: number;
  /** The method of sending. */
  readonly method: "packet" | "xdp";
}

/**
 * Sends datagrams, and returns how many were tried; fewer than `count` if the job has failed. `add`
 * adds the datagrams from an index on to an empty batch.
 */
export type SendDatagrams = (
  to: Destination,
  count: number,
  add: (batch: SelectionBatch, from: number) => void,
) => number;

/** Which of the computed targets one method sends to: their indexes. */
interface Selection {
  length: number;
  readonly indexes: Uint16Array;
}

/** Sends the blocks of a pass. */
export class BlockWriter {
  /** The datagram of the probes. */
  readonly template: Template;
  readonly #pass: ThreadPass;
  readonly #space: TargetSpace;
  readonly #tokens: Tokens;
  readonly #filter: HostFilter;
  readonly #targets: Endpoints;
  /** The token of each computed target. */
  readonly #macs: Int32Array;
  readonly #sockets: Readonly<Record<4 | 6, readonly ThreadSocket[]>>;
  readonly #frames: FramesOfThread | undefined;
  /** The targets of frames. Other targets of IPv4 get plain datagrams. */
  readonly #framed: AddressesBehindGateway | undefined;
  readonly #selections: Readonly<Record<"framed" | 4 | 6, Selection>>;
  /** Number of sub-batches so far. The sockets send them in turn. */
  #turn = 0;

  /**
   * Prepares a pass.
   *
   * @param frames How frames are sent. Default: all datagrams are plain.
   */
  constructor(pass: ThreadPass, sockets: readonly ThreadSocket[], frames?: FramesOfThread) {
    const { space, template, key, filter, batchSize } = pass;
    this.#pass = pass;
    this.template = template;
    this.#space = TargetSpace.of(space);
    this.#tokens = new Tokens(key);
    this.#filter = new HostFilter(filter.seed, filter.bits);
    this.#targets = new Endpoints(batchSize);
    this.#macs = new Int32Array(batchSize);
    const of = (bits: 4 | 6) => sockets.filter(({ family }) => family === bits);
    this.#sockets = { 4: of(4), 6: of(6) };
    this.#frames = frames;
    this.#framed = frames && framedAddresses(frames.route, template);
    const selection = () => ({ length: 0, indexes: new Uint16Array(batchSize) });
    this.#selections = { framed: selection(), 4: selection(), 6: selection() };
  }

  /**
   * Sends a block in batches.
   *
   * @returns Number of datagrams that were tried.
   */
  send(block: ArrivedBlock, report: JobReport, send: SendDatagrams): number {
    const begun = performance.now();
    const { from, count, stamp, waited } = block;
    const { batchSize } = this.#pass;
    const stampNow = () => stamp + waited + Math.floor((performance.now() - begun) * 1000) | 0;
    let sum = 0;
    for (let at = 0; at < count && !report.isCancelled(); at += batchSize) {
      const size = Math.min(batchSize, count - at);
      this.#space.fill(from + at, size, this.#targets);
      this.#select(at, size, report);
      for (const way of ["framed", 4, 6] as const) {
        const { length, indexes } = this.#selections[way];
        if (length === 0) continue;
        const add = (batch: SelectionBatch, first: number) =>
          batch.addSelected(this.#targets, indexes.subarray(first, length), this.#macs, stampNow());
        const tried = send(this.#destination(way), length, add);
        sum += tried;
        if (tried < length) return sum;
      }
      report.visit(size);
      this.#turn++;
    }
    return sum;
  }

  /**
   * Selects the targets, and computes their tokens. Targets of SYN packets that get no frame are left
   * to the caller: they belong to a socket of the main thread.
   */
  #select(at: number, size: number, report: JobReport): void {
    const { kind, macMask } = this.#pass;
    const { framed, 4: plain, 6: wide } = this.#selections;
    const targets = this.#targets;
    const { ipv6 } = targets;
    const filter = this.#filter;
    const behind = this.#framed;
    const isTcp = this.template.transport === "tcp";
    framed.length = plain.length = wide.length = 0;
    this.#tokens.fill(kind, macMask, targets, size, this.#macs);
    for (let i = 0; i < size; i++) {
      const isWide = ipv6[i] !== undefined;
      const hasFrame = !isWide && behind !== undefined && isFramed(behind, targets, i);
      if (filter.mayHaveAt(targets, i) || isTcp && !hasFrame) {
        report.leave(at + i);
        continue;
      }
      const selection = hasFrame ? framed : isWide ? wide : plain;
      selection.indexes[selection.length++] = i;
    }
  }

  #destination(way: "framed" | 4 | 6): Destination {
    const sockets = this.#sockets[way === 6 ? 6 : 4];
    const { socket, port } = sockets[this.#turn % sockets.length];
    if (way !== "framed") return { socket, method: way === 4 ? "ipv4" : "ipv6", port };
    const { socket: over, method } = this.#frames!;
    return { socket: over, method, port };
  }
}
