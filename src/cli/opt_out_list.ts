/**
 * The user's list of addresses that asked to be left alone.
 *
 * @module
 */
import { dirname, join } from "node:path";
import { type Address, formatAddress, isLoopback } from "../address.ts";
import { InputError } from "../errors.ts";
import { parseRangeList } from "../targets/parse.ts";
import type { Range } from "../targets/ranges.ts";
import { env, reason, tellLine, userPath } from "./console.ts";

/** The list. */
export class OptOutList {
  readonly #path: string;
  readonly #noted = new Set<Address>();
  #warned = false;

  /** @param path Where it is; default: in the user's configuration folder. */
  constructor(path: string | undefined) {
    this.#path = path === undefined ? defaultPath() : userPath(path);
  }

  /**
   * The addresses on it. A list that does not exist is empty.
   *
   * @throws InputError when it cannot be read: nobody on it is asked by mistake.
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

  /** What goes before a new line: its own end, where somebody's editor left the last without. */
  #joint(): string {
    try {
      return /[^\r\n]$/.test(Deno.readTextFileSync(this.#path)) ? "\n" : "";
    } catch (error) {
      if (error instanceof Deno.errors.NotFound) return "";
      throw error;
    }
  }

  /** Adds an address. Simulated servers, on loopback, are not worth a line. */
  note(address: Address): void {
    if (isLoopback(address) || this.#noted.has(address)) return;
    this.#noted.add(address);
    const line = `${formatAddress(address)}  marker in its MOTD\n`;
    try {
      Deno.mkdirSync(dirname(this.#path), { recursive: true });
      Deno.writeTextFileSync(this.#path, this.#joint() + line, { append: true });
    } catch (error) {
      if (!this.#warned) {
        tellLine(`blocksweep: cannot note who opted out in "${this.#path}": ${reason(error)}`);
      }
      this.#warned = true;
    }
  }
}

function defaultPath(): string {
  const home = env("HOME") ?? env("USERPROFILE");
  const base = env("XDG_CONFIG_HOME") ?? env("APPDATA") ?? (home && join(home, ".config"));
  return base === undefined ? userPath("opt-out.txt") : join(base, "blocksweep", "opt-out.txt");
}
