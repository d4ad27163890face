/**
 * What came over a stream and was not read yet.
 *
 * @module
 */

/** Chunks of any size, put together. Every byte is copied a bounded number of times. */
export class StreamBuffer {
  #bytes = new Uint8Array(512);
  #start = 0;
  #end = 0;

  /** What is there, as a view that holds until the next chunk. */
  get bytes(): Uint8Array {
    return this.#bytes.subarray(this.#start, this.#end);
  }

  /** Takes a chunk in. */
  push(chunk: Uint8Array): void {
    const size = this.#end - this.#start + chunk.length;
    if (this.#end + chunk.length > this.#bytes.length) this.#move(size);
    this.#bytes.set(chunk, this.#end);
    this.#end += chunk.length;
  }

  /** To the start of a memory that is at least half empty then. */
  #move(size: number): void {
    const roomy = new Uint8Array(Math.max(512, 2 * size));
    const { bytes } = this;
    roomy.set(bytes);
    this.#bytes = roomy;
    this.#start = 0;
    this.#end = bytes.length;
  }

  /** Drops the first bytes. */
  drop(size: number): void {
    this.#start += size;
  }
}
