/**
 * One line at the bottom of a terminal, redrawn in place without escape sequences.
 *
 * @module
 */
import { type BottomLines, keepAtBottom, type TerminalSize } from "../console.ts";
import type { LiveTerminal } from "./live_block.ts";

/** A line at the bottom of any terminal, until it is disposed. */
export class StatusRow implements BottomLines, Disposable {
  readonly #terminal: Pick<LiveTerminal, "size" | "draw">;
  readonly #line: (size: TerminalSize) => string;
  readonly #kept: Disposable;
  #text = "";
  /** Width of the line that is on the terminal now, columns. */
  #drawn = 0;

  /**
   * Prepares drawing.
   *
   * @param line Returns the line for a size of the terminal: ASCII, one column less than its width.
   */
  constructor(
    terminal: Pick<LiveTerminal, "size" | "draw">,
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
    this.#terminal.draw(`\r${this.#text.padEnd(Math.min(this.#drawn, size.columns - 1))}`);
    this.#drawn = this.#text.length;
  }

  erase(): void {
    if (this.#drawn > 0) this.#terminal.draw(`\r${" ".repeat(this.#drawn)}\r`);
    this.#drawn = 0;
  }

  restore(): void {
    this.#terminal.draw(this.#text);
    this.#drawn = this.#text.length;
  }

  /** Erases the line and stops. */
  [Symbol.dispose](): void {
    this.erase();
    this.#kept[Symbol.dispose]();
  }
}
