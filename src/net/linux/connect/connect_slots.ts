/**
 * The state of the connections of a ring: one slot each, in arrays of numbers. Nothing else is stored
 * per probe.
 *
 * @module
 */

/** Words of an address in a slot: 1 for IPv4, 4 for IPv6. */
type AddressWords = 1 | 4;

/** The end of a list of slots. */
const NONE = -1;
/** An odd factor near 2^32 divided by the golden ratio: it spreads neighbouring numbers. */
const SPREAD = 0x9e3779b1;

/**
 * Slots for connections. A slot is in one of four lists: _empty_ slots have no socket, _idle_ ones have
 * a socket without a connection, _pending_ ones wait for a reply, and _settled_ ones have a reply that was
 * not delivered. The last two lists are in the order in which their slots came.
 */
export class ConnectSlots {
  /** The file descriptor in each slot; -1: none. */
  readonly sockets: Int32Array;
  /** The token and the stamp of each probe. */
  readonly tokens: Int32Array;
  readonly stamps: Int32Array;
  /** The time since which a slot is pending or settled, milliseconds. */
  readonly times: Float64Array;
  readonly ports: Uint16Array;
  /** The words of the addresses. */
  readonly addresses: Int32Array;
  /** The error number with which the connection ended; 0: it is open. */
  readonly errors: Uint16Array;
  /** 1: the socket has to be disconnected before it connects again. */
  readonly used: Uint8Array;
  /** Number of slots with a socket. */
  count = 0;
  /** Number of pending slots. */
  pending = 0;
  /** Number of settled slots. */
  settled = 0;
  /** 1 for pending slots. */
  readonly #isPending: Uint8Array;
  /** Neighbours in the lists; the last two elements are the ends of pending and of settled slots. */
  readonly #next: Int32Array;
  readonly #previous: Int32Array;
  /** The pending slots by a hash of their endpoints: the first of each hash, and the next after each slot. */
  readonly #firstOfHash: Int32Array;
  readonly #nextOfHash: Int32Array;
  /** Number of bits by which a hash is shifted to the right. */
  readonly #hashShift: number;
  readonly #pendingEnd: number;
  readonly #settledEnd: number;
  #idleTop = NONE;
  #emptyTop = NONE;
  /** Number of slots that have ever had a socket; later ones are empty. */
  #touched = 0;

  /**
   * Allocates empty slots.
   *
   * @param capacity Number of slots.
   * @param words Number of words of an address.
   */
  constructor(readonly capacity: number, readonly words: AddressWords) {
    this.sockets = new Int32Array(capacity).fill(-1);
    this.tokens = new Int32Array(capacity);
    this.stamps = new Int32Array(capacity);
    this.times = new Float64Array(capacity);
    this.ports = new Uint16Array(capacity);
    this.addresses = new Int32Array(capacity * words);
    this.errors = new Uint16Array(capacity);
    this.used = new Uint8Array(capacity);
    this.#isPending = new Uint8Array(capacity);
    this.#hashShift = Math.max(1, Math.clz32(capacity));
    this.#firstOfHash = new Int32Array(2 ** (32 - this.#hashShift)).fill(NONE);
    this.#nextOfHash = new Int32Array(capacity);
    this.#pendingEnd = capacity;
    this.#settledEnd = capacity + 1;
    this.#next = new Int32Array(capacity + 2);
    this.#previous = new Int32Array(capacity + 2);
    for (const end of [this.#pendingEnd, this.#settledEnd]) {
      this.#next[end] = this.#previous[end] = end;
    }
  }

  /** The slot that has been pending for the longest time; `undefined`: none is pending. */
  get oldestPending(): number | undefined {
    return this.pending === 0 ? undefined : this.#next[this.#pendingEnd];
  }

  /** The slot that has been settled for the longest time; `undefined`: none is settled. */
  get oldestSettled(): number | undefined {
    return this.settled === 0 ? undefined : this.#next[this.#settledEnd];
  }

  /** Whether a slot has this socket and is pending. */
  isPending(slot: number, socket: number): boolean {
    return this.#isPending[slot] === 1 && this.sockets[slot] === socket;
  }

  /**
   * Whether a connection to an endpoint is pending.
   *
   * @param address The words of its address.
   */
  hasPending(address: Int32Array, port: number): boolean {
    const { words, addresses, ports } = this;
    let slot = this.#firstOfHash[this.#hashOf(address, 0, port)];
    for (; slot !== NONE; slot = this.#nextOfHash[slot]) {
      const at = slot * words;
      if (ports[slot] === port && address.every((word, k) => addresses[at + k] === word)) {
        return true;
      }
    }
    return false;
  }

  #hashOf(addresses: Int32Array, at: number, port: number): number {
    let hash = port;
    for (let k = 0; k < this.words; k++) hash = Math.imul(hash ^ addresses[at + k], SPREAD);
    return hash >>> this.#hashShift;
  }

  #hashOfSlot(slot: number): number {
    return this.#hashOf(this.addresses, slot * this.words, this.ports[slot]);
  }

  /** Takes a socket into an empty slot, and returns the slot, which is in no list. */
  fill(socket: number): number {
    let slot = this.#emptyTop;
    if (slot === NONE) slot = this.#touched++;
    else this.#emptyTop = this.#next[slot];
    this.sockets[slot] = socket;
    this.used[slot] = 0;
    this.count++;
    return slot;
  }

  /** Takes the slot that became idle last out of its list; `undefined`: none is idle. */
  takeIdle(): number | undefined {
    const slot = this.#idleTop;
    if (slot === NONE) return undefined;
    this.#idleTop = this.#next[slot];
    return slot;
  }

  /** Takes the oldest pending slot out of its list. */
  takePending(): number {
    const slot = this.#next[this.#pendingEnd];
    this.#removePending(slot);
    return slot;
  }

  /** Takes the oldest settled slot out of its list. */
  takeSettled(): number {
    const slot = this.#next[this.#settledEnd];
    this.#unlink(slot);
    this.settled--;
    return slot;
  }

  /** Adds a slot that is in no list to the idle ones. */
  addIdle(slot: number): void {
    this.#next[slot] = this.#idleTop;
    this.#idleTop = slot;
  }

  /** Adds a slot that is in no list to the pending ones, since a time. */
  addPending(slot: number, now: number): void {
    this.#isPending[slot] = 1;
    this.times[slot] = now;
    this.#append(slot, this.#pendingEnd);
    const hash = this.#hashOfSlot(slot);
    this.#nextOfHash[slot] = this.#firstOfHash[hash];
    this.#firstOfHash[hash] = slot;
    this.pending++;
  }

  /** Moves a pending slot to the settled ones. */
  settle(slot: number, error: number, now: number): void {
    this.#removePending(slot);
    this.addSettled(slot, error, now);
  }

  /** Adds a slot that is in no list to the settled ones, since a time. */
  addSettled(slot: number, error: number, now: number): void {
    this.errors[slot] = error;
    this.times[slot] = now;
    this.#append(slot, this.#settledEnd);
    this.settled++;
  }

  /** Takes the socket out of a slot that is in no list, which is then empty. Returns the socket. */
  empty(slot: number): number {
    const socket = this.sockets[slot];
    this.sockets[slot] = -1;
    this.#next[slot] = this.#emptyTop;
    this.#emptyTop = slot;
    this.count--;
    return socket;
  }

  #removePending(slot: number): void {
    this.#isPending[slot] = 0;
    this.#unlink(slot);
    this.#unlinkHash(slot);
    this.pending--;
  }

  #unlinkHash(slot: number): void {
    const hash = this.#hashOfSlot(slot);
    const next = this.#nextOfHash;
    if (this.#firstOfHash[hash] === slot) this.#firstOfHash[hash] = next[slot];
    else {
      let before = this.#firstOfHash[hash];
      while (next[before] !== slot) before = next[before];
      next[before] = next[slot];
    }
  }

  #append(slot: number, end: number): void {
    const last = this.#previous[end];
    this.#next[last] = slot;
    this.#previous[slot] = last;
    this.#next[slot] = end;
    this.#previous[end] = slot;
  }

  #unlink(slot: number): void {
    const [next, previous] = [this.#next[slot], this.#previous[slot]];
    this.#next[previous] = next;
    this.#previous[next] = previous;
  }
}
