/**
 * The user's file of addresses that opted out.
 *
 * @module
 */
import { nodePath, resolvePath } from "../../core/node_modules.ts";
import { type Address, formatAddress, isLoopback } from "../../core/address.ts";
import { InputError } from "../../core/errors.ts";
import { parseRangeList } from "../../targets/parse.ts";
import type { Range } from "../../targets/ranges.ts";
import { env, reason, userPath } from "../environment.ts";

/** The file in the configuration folder that keeps addresses that opted out. */
export class OptOutFile {
  readonly #path: string;
  readonly #noted = new Set<Address>();
  /** Addresses that are to be appended. */
  #pending: Address[] = [];
  #warned = false;

  /**
   * @param path The file; default: `opt-out.txt` in the user's configuration folder.
   * @param report Receives one line when the file cannot be written.
   * @throws Deno.errors.NotCapable if that folder may not be looked up.
   */
  constructor(path: string | undefined, private readonly report: (line: string) => void) {
    this.#path = path === undefined ? usualPath() : userPath(path);
  }

  /**
   * The addresses in the file. A missing file counts as empty.
   *
   * @throws InputError when the file cannot be read, so that no address in it is probed by mistake.
   */
  async read(): Promise<Range[]> {
    try {
      const text = await Deno.readTextFile(this.#path);
      return parseRangeList(text, this.#path).map(({ range }) => range);
    } catch (error) {
      if (error instanceof Deno.errors.NotFound) return [];
      if (error instanceof Deno.errors.NotCapable || error instanceof InputError) throw error;
      throw new InputError(`Cannot read "${this.#path}": ${reason(error)}`);
    }
  }

  /**
   * Adds an address, loopback excepted. Addresses that are added in one event loop iteration are
   * appended together, in a microtask: a program that exits right afterwards loses none.
   */
  note(address: Address): void {
    if (isLoopback(address) || this.#noted.has(address)) return;
    this.#noted.add(address);
    if (this.#pending.push(address) === 1) queueMicrotask(() => this.#write());
  }

  #write(): void {
    const lines = this.#pending.map((one) => `${formatAddress(one)}  marker in its MOTD\n`);
    this.#pending = [];
    try {
      Deno.mkdirSync(nodePath().dirname(this.#path), { recursive: true, mode: 0o700 });
      appendLines(this.#path, lines.join(""));
    } catch (error) {
      if (!this.#warned) {
        this.report(`blocksweep: cannot write opt-outs to "${this.#path}": ${reason(error)}`);
      }
      this.#warned = true;
    }
  }
}

/**
 * Appends lines to a file. A missing file is created with mode 0600. If the last byte of the file
 * is not a line feed, one is written first.
 */
function appendLines(path: string, lines: string): void {
  using file = Deno.openSync(path, { read: true, append: true, create: true, mode: 0o600 });
  const last = new Uint8Array([LINE_FEED]);
  if (file.statSync().size > 0) {
    file.seekSync(-1, Deno.SeekMode.End);
    file.readSync(last);
  }
  const isWhole = last[0] === LINE_FEED || last[0] === CARRIAGE_RETURN;
  let bytes = new TextEncoder().encode(isWhole ? lines : `\n${lines}`);
  while (bytes.length > 0) bytes = bytes.subarray(file.writeSync(bytes));
}

const [LINE_FEED, CARRIAGE_RETURN] = [10, 13];

/**
 * The default path of the opt-out file.
 *
 * @throws Deno.errors.NotCapable when the path depends on variables that the program may not read.
 * Without the opt-outs in that file, scans would probe addresses that opted out.
 */
function usualPath(): string {
  const refused = ["HOME", "XDG_CONFIG_HOME", "APPDATA", "USERPROFILE"].filter((variable) =>
    Deno.permissions.querySync({ name: "env", variable }).state !== "granted"
  );
  if (configurationFolder() !== undefined || refused.length === 0) {
    return configurationPath("opt-out.txt");
  }
  throw new Deno.errors.NotCapable(
    `Cannot find the opt-out file: run again with --allow-env=${refused.join()}, or name a file with ` +
      "--opt-out-file",
  );
}

/** The path of a file in the user's configuration folder; without one, in the current folder. */
export function configurationPath(file: string): string {
  const folder = configurationFolder();
  return folder === undefined ? userPath(file) : resolvePath(folder, "blocksweep", file);
}

/** The folder of the user's configuration; `undefined` if the environment names none. */
function configurationFolder(): string | undefined {
  const home = env("HOME") ?? env("USERPROFILE");
  return env("XDG_CONFIG_HOME") ?? env("APPDATA") ?? (home && resolvePath(home, ".config"));
}
