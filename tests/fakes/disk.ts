/**
 * A disk in memory that records its operations. A test can let a program, or the whole system, end
 * between any two operations or during one.
 */
import type { Random } from "../../src/fleet/random.ts";
import type { Disk, DiskFile } from "../../src/sinks/file_operations.ts";
import type { Output } from "../../src/sinks/sink.ts";

/** A recorded operation. A file keeps its number when it is renamed. */
export type Operation =
  | { readonly kind: "make"; readonly file: number; readonly path: string }
  | { readonly kind: "rename"; readonly from: string; readonly path: string }
  | { readonly kind: "remove"; readonly path: string }
  | {
    readonly kind: "write";
    readonly file: number;
    readonly at: number;
    readonly bytes: Uint8Array;
  }
  | { readonly kind: "truncate"; readonly file: number; readonly length: number }
  | { readonly kind: "sync"; readonly file: number };

const NAMING = new Set(["make", "rename", "remove"]);

export class FakeDisk implements Disk {
  readonly operations: Operation[] = [];
  /** Capacity of the disk, bytes. */
  room = Infinity;
  /** Returns the error of an operation; `undefined` if the operation succeeds. */
  fault: (operation: Operation, path: string) => Error | undefined = () => undefined;
  readonly #names = new Map<string, number>();
  readonly #data = new Map<number, Uint8Array<ArrayBuffer>>();
  readonly #locked = new Set<number>();
  #next = 0;

  /**
   * The content of a disk after some operations. If the next operation is a write, a part of it is
   * done.
   */
  static after(operations: readonly Operation[], count: number, torn = 0): FakeDisk {
    const disk = new FakeDisk();
    const done = operations.slice(0, count);
    const next = operations[count];
    if (next?.kind === "write") done.push({ ...next, bytes: next.bytes.subarray(0, torn) });
    for (const operation of done) disk.#do(operation);
    return disk;
  }

  /**
   * The content of a disk when the system crashes after some operations: the synced bytes of each
   * file, and a part of the others. Names are those of this time, or of the last sync.
   */
  static crashed(operations: readonly Operation[], count: number, random: Random): FakeDisk {
    const disk = new FakeDisk();
    const done = operations.slice(0, count);
    const synced = done.findLastIndex(({ kind }) => kind === "sync") + 1;
    const named = synced + random.below(count - synced + 1);
    const files = new Set(done.flatMap((one) => "file" in one ? [one.file] : []));
    const kept = new Map([...files].map((file) => {
      const last = done.findLastIndex((one) => one.kind === "sync" && one.file === file) + 1;
      return [file, last + random.below(count - last + 1)];
    }));
    for (const [i, operation] of done.entries()) {
      const until = NAMING.has(operation.kind)
        ? named
        : kept.get((operation as { file: number }).file)!;
      if (i < until) disk.#do(operation);
    }
    return disk;
  }

  /** The text of a file; `undefined` if the file does not exist. */
  text(path: string): string | undefined {
    const bytes = this.bytes(path);
    return bytes && new TextDecoder().decode(bytes);
  }

  bytes(path: string): Uint8Array | undefined {
    const file = this.#names.get(path);
    return file === undefined ? undefined : this.#data.get(file)?.slice() ?? new Uint8Array(0);
  }

  /** Creates a file, or replaces its content. */
  put(path: string, content: string | Uint8Array): void {
    const bytes = typeof content === "string" ? new TextEncoder().encode(content) : content;
    const file = this.#names.get(path) ?? this.#make(path);
    this.#data.set(file, bytes.slice());
  }

  #make(path: string): number {
    const file = this.#next++;
    this.#do({ kind: "make", file, path });
    return file;
  }

  open(path: string, how: "read" | "edit" | "make"): Promise<DiskFile> {
    const existing = this.#names.get(path);
    if (existing === undefined && how !== "make") {
      return Promise.reject(new Deno.errors.NotFound(`No such file or directory: open '${path}'`));
    }
    try {
      return Promise.resolve(this.#file(existing ?? this.#make(path), path));
    } catch (error) {
      return Promise.reject(error);
    }
  }

  // deno-lint-ignore require-await -- what fails has to reject
  async rename(from: string, path: string): Promise<void> {
    this.#do({ kind: "rename", from, path });
  }

  // deno-lint-ignore require-await
  async remove(path: string): Promise<void> {
    if (this.#names.has(path)) this.#do({ kind: "remove", path });
  }

  /** A file as an output. */
  output(path: string): Output {
    const file = this.#names.get(path) ?? this.#make(path);
    let at = this.#data.get(file)?.length ?? 0;
    // deno-lint-ignore require-await
    const act = async (operation: Operation) => this.#do(operation, path);
    return {
      name: `"${path}"`,
      write: async (bytes) => {
        const taken = bytes.subarray(0, this.#room());
        if (taken.length === 0) throw new Error("No space left on device");
        await act({ kind: "write", file, at, bytes: taken.slice() });
        at += taken.length;
        return taken.length;
      },
      truncate: (length) => {
        at = length;
        return act({ kind: "truncate", file, length });
      },
      sync: () => act({ kind: "sync", file }),
      [Symbol.asyncDispose]: () => Promise.resolve(),
    };
  }

  #room(): number {
    return this.room - [...this.#data.values()].reduce((sum, { length }) => sum + length, 0);
  }

  #file(file: number, path: string): DiskFile {
    let locked = false;
    // deno-lint-ignore require-await
    const act = async (operation: Operation) => this.#do(operation, path);
    return {
      read: () => Promise.resolve((this.#data.get(file) ?? new Uint8Array(0)).slice()),
      write: async (at, bytes) => {
        const fits = bytes.subarray(0, Math.max(0, this.#room()));
        await act({ kind: "write", file, at, bytes: fits.slice() });
        if (fits.length < bytes.length) throw new Error("No space left on device");
      },
      truncate: (length) => act({ kind: "truncate", file, length }),
      sync: () => act({ kind: "sync", file }),
      pathChange: () =>
        Promise.resolve(this.#names.get(path) === file ? undefined : "it was deleted"),
      lock: () => {
        if (this.#locked.has(file)) return Promise.resolve(false);
        locked = true;
        this.#locked.add(file);
        return Promise.resolve(true);
      },
      [Symbol.asyncDispose]: () => {
        if (locked) this.#locked.delete(file);
        return Promise.resolve();
      },
    };
  }

  #do(operation: Operation, path = "path" in operation ? operation.path : ""): void {
    const fault = this.fault(operation, path);
    if (fault !== undefined) throw fault;
    this.operations.push(operation);
    this.#apply(operation);
  }

  #apply(operation: Operation): void {
    switch (operation.kind) {
      case "make":
        this.#next = Math.max(this.#next, operation.file + 1);
        this.#names.set(operation.path, operation.file);
        break;
      case "rename": {
        const file = this.#names.get(operation.from);
        if (file === undefined) break;
        this.#names.delete(operation.from);
        this.#names.set(operation.path, file);
        break;
      }
      case "remove":
        this.#names.delete(operation.path);
        break;
      case "write": {
        const { file, at, bytes } = operation;
        const before = this.#data.get(file) ?? new Uint8Array(0);
        const length = Math.max(before.length, at + bytes.length);
        const after = resized(before, length);
        after.set(bytes, at);
        this.#data.set(file, after);
        break;
      }
      case "truncate": {
        const before = this.#data.get(operation.file) ?? new Uint8Array(0);
        this.#data.set(operation.file, resized(before, operation.length));
      }
    }
  }
}

/**
 * The same bytes with another length, cut off or followed by zeros. They stay in their buffer, which
 * grows to twice the length when it is too small: most writes append.
 */
function resized(bytes: Uint8Array<ArrayBuffer>, length: number): Uint8Array<ArrayBuffer> {
  const { buffer } = bytes;
  if (length > buffer.byteLength) {
    const after = new Uint8Array(new ArrayBuffer(2 * length), 0, length);
    after.set(bytes);
    return after;
  }
  const after = new Uint8Array(buffer, 0, length);
  after.fill(0, bytes.length);
  return after;
}
