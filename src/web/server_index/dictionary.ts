/**
 * A dictionary of texts in shared memory: a column contains the numbers of texts. One thread adds
 * texts, and others read them meanwhile.
 *
 * @module
 */

/** The memory of a dictionary. Pages that are not used take no memory. */
export interface DictionaryMemory {
  /** The number of texts, of which the first one stands for an unknown value. */
  readonly count: SharedArrayBuffer;
  /** The end of each text in {@linkcode bytes}. */
  readonly ends: SharedArrayBuffer;
  /** The texts, one after the other, in UTF-8. */
  readonly bytes: SharedArrayBuffer;
}

/** Maximum number of texts. */
const MAX_TEXTS = 2 ** 18;
/** Maximum size of all texts, bytes. */
const MAX_BYTES = 2 ** 24;
/** The number of an unknown value, and of a text that is not in a full dictionary. */
export const UNKNOWN_NUMBER = 0;

export function newDictionary(): DictionaryMemory {
  const count = new SharedArrayBuffer(4);
  new Int32Array(count)[0] = 1;
  return {
    count,
    ends: new SharedArrayBuffer(4 * MAX_TEXTS),
    bytes: new SharedArrayBuffer(MAX_BYTES),
  };
}

export class DictionaryWriter {
  readonly #codes = new Map<string, number>();
  readonly #encoder = new TextEncoder();
  readonly #count: Int32Array;
  readonly #ends: Uint32Array;
  readonly #bytes: Uint8Array;

  constructor(memory: DictionaryMemory, private readonly most = MAX_TEXTS) {
    this.#count = new Int32Array(memory.count);
    this.#ends = new Uint32Array(memory.ends);
    this.#bytes = new Uint8Array(memory.bytes);
  }

  /**
   * The number of a text; {@linkcode UNKNOWN_NUMBER} for `null`, and for a new text when the dictionary is
   * full.
   */
  codeOf(text: string | null): number {
    return text === null ? UNKNOWN_NUMBER : this.#codes.get(text) ?? this.#add(text);
  }

  #add(text: string): number {
    const code = this.#count[0];
    if (code >= this.most) return UNKNOWN_NUMBER;
    const start = this.#ends[code - 1];
    const { read, written } = this.#encoder.encodeInto(text, this.#bytes.subarray(start));
    if (read < text.length) return UNKNOWN_NUMBER;
    this.#ends[code] = start + written;
    Atomics.store(this.#count, 0, code + 1);
    this.#codes.set(text, code);
    return code;
  }
}

/** Reads texts of a dictionary, and keeps them. */
export class DictionaryReader {
  readonly #texts: string[] = [];
  readonly #decoder = new TextDecoder();
  readonly #count: Int32Array;
  readonly #ends: Uint32Array;
  readonly #bytes: Uint8Array;

  constructor(memory: DictionaryMemory) {
    this.#count = new Int32Array(memory.count);
    this.#ends = new Uint32Array(memory.ends);
    this.#bytes = new Uint8Array(memory.bytes);
  }

  /** Number of texts. */
  get size(): number {
    return Atomics.load(this.#count, 0);
  }

  /** The text with a number; null: unknown. */
  textOf(code: number): string | null {
    if (code === UNKNOWN_NUMBER) return null;
    return this.#texts[code] ??= this.#decoder.decode(
      this.#bytes.subarray(this.#ends[code - 1], this.#ends[code]),
    );
  }

  /**
   * For each number, 1 if a condition is true for its text. An unknown value never fulfils a
   * condition.
   */
  codesWith(condition: (text: string) => boolean): Uint8Array {
    const found = new Uint8Array(this.size);
    for (let code = 1; code < found.length; code++) {
      if (condition(this.textOf(code)!)) found[code] = 1;
    }
    return found;
  }
}
