/**
 * A buffer for the bytes of a stream that are not decoded yet.
 *
 * @module
 */

/**
 * Joins chunks of any size. Every byte is copied a bounded number of times. A single chunk is not
 * copied.
 */
export class StreamBuffer {
  #bytes: Uint8Array = new Uint8Array();
  #start = 0;
  #end = 0;

  /** The buffered bytes, as a view that is valid until the next `push`. */
  get bytes(): Uint8Array {
    return this.#bytes.subarray(this.#start, this.#end);
  }

  /** Appends a chunk to the buffer. The caller does not change the chunk any more. */
  push(chunk: Uint8Array): void {
    const size = this.#end - this.#start + chunk.length;
    if (size === chunk.length) {
      this.#bytes = chunk;
      [this.#start, this.#end] = [0, size];
      return;
    }
    if (this.#end + chunk.length > this.#bytes.length) this.#move(size);
    this.#bytes.set(chunk, this.#end);
    this.#end += chunk.length;
  }

  /** Moves the bytes to the start of a new buffer that is at least twice as large. */
  #move(size: number): void {
    const larger = new Uint8Array(Math.max(512, 2 * size));
    const { bytes } = this;
    larger.set(bytes);
    this.#bytes = larger;
    this.#start = 0;
    this.#end = bytes.length;
  }

  /** Drops the first `size` bytes. */
  drop(size: number): void {
    this.#start += size;
  }
}
