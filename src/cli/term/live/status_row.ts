/**
 * One line at the bottom of a terminal, redrawn in place without escape sequences. Only a line that a
 * narrower terminal has wrapped is erased with them, because no other character leads to its first row.
 *
 * @module
 */
import { type BottomLines, keepAtBottom, type TerminalSize } from "../console.ts";
import type { LiveTerminal } from "./live_block.ts";

/** A line at the bottom of any terminal, until it is disposed. */
export class StatusRow implements BottomLines, Disposable {
  readonly #terminal: Pick<LiveTerminal, "size" | "draw" | "isDumb">;
  readonly #line: (size: TerminalSize) => string;
  readonly #kept: Disposable;
  #text = "";
  /** Width of the line that is on the terminal now, columns. */
  #drawn = 0;
  /** Whether other text is being written: nothing is drawn until {@linkcode restore}. */
  #isHeld = false;

  /**
   * Prepares drawing.
   *
   * @param line Returns the line for a size of the terminal: ASCII, one column less than its width.
   */
  constructor(
    terminal: Pick<LiveTerminal, "size" | "draw" | "isDumb">,
    line: (size: TerminalSize) => string,
  ) {
    this.#terminal = terminal;
    this.#line = line;
    this.#kept = keepAtBottom(this);
  }

  /** Draws the current line over the previous one. */
  redraw(): void {
    const size = this.#terminal.size();
    this.#text = this.#line(size);
    if (this.#isHeld) return;
    const { toStart, left } = this.#start(size);
    this.#terminal.draw(`${toStart}${this.#text.padEnd(left)}`);
    this.#drawn = this.#text.length;
  }

  erase(): void {
    this.#isHeld = true;
    const { toStart, left } = this.#start(this.#terminal.size());
    if (this.#drawn > 0) this.#terminal.draw(`${toStart}${" ".repeat(left)}\r`);
    this.#drawn = 0;
  }

  /** How to get to the start of the drawn line, and how many of its columns are left there then. */
  #start({ columns }: TerminalSize): { readonly toStart: string; readonly left: number } {
    const above = Math.ceil(this.#drawn / Math.max(1, columns)) - 1;
    return this.#drawn >= columns && !this.#terminal.isDumb
      ? { toStart: `${above > 0 ? `\x1b[${above}A` : ""}\r\x1b[J`, left: 0 }
      : { toStart: "\r", left: Math.max(0, Math.min(this.#drawn, columns - 1)) };
  }

  restore(): void {
    this.#isHeld = false;
    this.#terminal.draw(this.#text);
    this.#drawn = this.#text.length;
  }

  /** Erases the line and stops. */
  [Symbol.dispose](): void {
    this.erase();
    this.#kept[Symbol.dispose]();
  }
}
