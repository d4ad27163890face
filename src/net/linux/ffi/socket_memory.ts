/**
 * What Linux tells about the receive buffer of a socket.
 *
 * @module
 */
import { failure, type Libc, SO_MEMINFO, SO_RCVBUF, SOL_SOCKET } from "./libc.ts";

/** Where SO_MEMINFO has what is in the buffer, and the datagrams that found no room; words of it. */
const WAITING = 0;
const DROPS = 8;
const WORDS = 9;

/** The receive buffer of a socket: its owner asks as long as it is open. */
export class SocketMemory {
  /** How large it is, bytes as the system counts. */
  readonly size: number;
  readonly #option = new Uint32Array(WORDS);
  readonly #optionSize = new Uint32Array(1);

  /** @throws Error with the call that failed. */
  constructor(private readonly libc: Libc, private readonly socket: number) {
    this.size = this.#ask(SO_RCVBUF)[0];
  }

  /** Bytes in it. */
  get used(): number {
    return this.#ask(SO_MEMINFO)[WAITING];
  }

  /** Datagrams that found no room. */
  get dropped(): number {
    return this.#ask(SO_MEMINFO)[DROPS];
  }

  /** Asks the system for an option's value; nothing is allocated. */
  #ask(option: number): Uint32Array {
    this.#optionSize[0] = this.#option.byteLength;
    const { libc, socket } = this;
    if (libc.call.getsockopt(socket, SOL_SOCKET, option, this.#option, this.#optionSize) < 0) {
      throw failure(libc, "ask a socket how it is");
    }
    return this.#option;
  }
}
