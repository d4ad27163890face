/**
 * Lines that are redrawn in place at the bottom of a terminal. Other text that the program prints
 * appears above them.
 *
 * The cursor stays visible, below the lines, and no mode of the terminal is changed. Therefore
 * nothing has to be restored when the program is suspended, fails or is killed.
 *
 * @module
 */
import type { Clock } from "../../../net/clock.ts";
import { type BottomLines, keepAtBottom, type TerminalSize } from "../console.ts";
import { displayWidth } from "../../../core/display_width.ts";

/** Minimum time between two drawings while a user changes the size of the terminal, milliseconds. */
const RESIZE_EVERY_MS = 100;
/**
 * Time without a drawing after which the program may have been suspended, milliseconds. The signal
 * SIGCONT may arrive after the timers that expired meanwhile.
 */
const LONG_PAUSE_MS = 800;
/** Time to wait for that signal, milliseconds. */
const SIGNAL_DELAY_MS = 50;
/** Escape sequences that set colours and formats: they take no columns. */
// deno-lint-ignore no-control-regex
const STYLES = /\x1b\[[\d;]*m/g;

/** Signals of the terminal: its size has changed; the program runs again after a suspension. */
export type TerminalSignal = "SIGWINCH" | "SIGCONT";

/** Calls back at each signal; returns a function that ends this. */
export type ListenToSignal = (signal: TerminalSignal, callback: () => void) => () => void;

/** The signals of the system. Windows has none of them. */
const systemSignals: ListenToSignal = (signal, callback) => {
  if (Deno.build.os === "windows") return () => {};
  Deno.addSignalListener(signal, callback);
  return () => Deno.removeSignalListener(signal, callback);
};

/** A terminal with lines that are redrawn in place. */
export interface LiveTerminal {
  /** The clock of all timers. */
  readonly clock: Clock;
  readonly size: () => TerminalSize;
  /** Writes to the terminal. */
  readonly draw: (text: string) => void;
  /** Whether the terminal has no escape sequences. Default: it has them. */
  readonly isDumb?: boolean;
  /** Default: the signals of the system. */
  readonly signals?: ListenToSignal;
}

/** Lines at the bottom of a terminal, until they end, or are erased. */
export class LiveBlock implements BottomLines, Disposable {
  readonly #terminal: LiveTerminal;
  readonly #lines: (size: TerminalSize) => readonly string[];
  readonly #resources = new DisposableStack();
  #cancelRedraw: (() => void) | undefined;
  /** The lines that were drawn last, and the width of the terminal then. */
  #drawn: { readonly lines: readonly string[]; readonly columns: number } | undefined;
  /** Whether these lines are on the terminal now. */
  #isShown = false;
  /** Whether other text is being written: nothing is drawn until {@linkcode restore}. */
  #isHeld = false;
  #drawnAt: number;

  /**
   * Prepares drawing.
   *
   * @param lines Returns the lines for a size of the terminal.
   */
  constructor(terminal: LiveTerminal, lines: (size: TerminalSize) => readonly string[]) {
    this.#terminal = terminal;
    this.#lines = lines;
    this.#drawnAt = terminal.clock.now();
    const { signals = systemSignals } = terminal;
    this.#resources.defer(signals("SIGWINCH", () => this.#redrawSoon(RESIZE_EVERY_MS)));
    this.#resources.defer(signals("SIGCONT", () => this.#continue()));
    this.#resources.use(keepAtBottom(this));
    this.#resources.defer(() => this.#cancelRedraw?.());
  }

  /** Draws the current lines in place of the previous ones. */
  redraw(): void {
    if (this.#resources.disposed || this.#isHeld) return;
    const { clock } = this.#terminal;
    const pausedMs = clock.now() - this.#drawnAt;
    if (!this.#isShown || pausedMs <= LONG_PAUSE_MS) return this.#drawNow();
    this.#drawnAt = clock.now();
    this.#redrawSoon(SIGNAL_DELAY_MS);
  }

  /** Draws the lines for the last time, if they were drawn before. They stay on the terminal. */
  end(): void {
    if (this.#resources.disposed) return;
    if (this.#drawn !== undefined) this.#drawNow();
    this.#isShown = false;
    this[Symbol.dispose]();
  }

  #drawNow(): void {
    const size = this.#terminal.size();
    this.#draw(this.#lines(size), size.columns);
  }

  erase(): void {
    this.#isHeld = true;
    this.#eraseNow();
  }

  #eraseNow(): void {
    const { draw, size } = this.#terminal;
    if (this.#isShown) draw(`${this.#toTop(size().columns)}\x1b[J`);
    this.#isShown = false;
  }

  restore(): void {
    this.#isHeld = false;
    const { columns } = this.#terminal.size();
    if (this.#drawn === undefined || this.#isShown || this.#resources.disposed) return;
    if (columns === this.#drawn.columns) this.#draw(this.#drawn.lines, columns);
    else this.#drawNow();
  }

  #draw(lines: readonly string[], columns: number): void {
    const { clock, draw } = this.#terminal;
    draw(`${this.#toTop(columns)}${lines.map((line) => `\x1b[2K${line}\n`).join("")}\x1b[J`);
    this.#drawn = { lines, columns };
    this.#isShown = true;
    this.#drawnAt = clock.now();
  }

  /** The escape sequence that moves the cursor to the first of the lines. */
  #toTop(columns: number): string {
    if (!this.#isShown) return "";
    // In a terminal that has become narrower, each line takes several rows.
    const rows = this.#drawn!.lines.map((line) =>
      Math.max(1, Math.ceil(displayWidth(line.replace(STYLES, "")) / Math.max(1, columns)))
    );
    return rows.length === 0 ? "" : `\x1b[${rows.reduce((sum, one) => sum + one, 0)}A\r`;
  }

  /** Draws after a suspension, below what the shell has printed. */
  #continue(): void {
    this.#isShown = false;
    this.redraw();
  }

  /** Draws once, after a minimum time since the last drawing. */
  #redrawSoon(afterMs: number): void {
    const { clock } = this.#terminal;
    const waitMs = Math.max(0, this.#drawnAt + afterMs - clock.now());
    this.#cancelRedraw ??= clock.after(waitMs, () => {
      this.#cancelRedraw = undefined;
      this.redraw();
    });
  }

  /** Erases the lines unless they have ended, and stops. */
  [Symbol.dispose](): void {
    this.#eraseNow();
    this.#resources.dispose();
  }
}
