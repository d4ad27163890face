/**
 * The receive buffer of a socket, as Linux reports it.
 *
 * @module
 */
import { failure, type Libc, SO_MEMINFO, SO_RCVBUF, SOL_SOCKET } from "./libc.ts";

/**
 * Indexes in SO_MEMINFO of the bytes in use and of the dropped datagrams, and its number of words.
 */
const WAITING = 0;
const DROPS = 8;
const WORDS = 9;

/** The receive buffer of an open socket. */
export class SocketMemory {
  /** Size of the buffer, bytes as the system counts. */
  readonly size: number;
  readonly #option = new Uint32Array(WORDS);
  readonly #optionSize = new Uint32Array(1);

  /** Reads the size; throws Error with the call that failed. */
  constructor(private readonly libc: Libc, private readonly socket: number) {
    this.size = this.#getOption(SO_RCVBUF)[0];
  }

  /** Bytes in use in the buffer. */
  get used(): number {
    return this.#getOption(SO_MEMINFO)[WAITING];
  }

  /** Number of datagrams that were dropped: the buffer was full, or the checksum wrong. */
  get dropped(): number {
    return this.#getOption(SO_MEMINFO)[DROPS];
  }

  /** Reads a socket option, without an allocation. */
  #getOption(option: number): Uint32Array {
    this.#optionSize[0] = this.#option.byteLength;
    const { libc, socket } = this;
    if (libc.call.getsockopt(socket, SOL_SOCKET, option, this.#option, this.#optionSize) < 0) {
      throw failure(libc, "read an option of a socket");
    }
    return this.#option;
  }
}
