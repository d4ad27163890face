/** A terminal that understands the escape sequences of live lines, and no others. */
import type { TerminalSignal } from "../../../../src/cli/term/live/live_block.ts";

/** A terminal. Each character takes one column, and lines that get too long for it are wrapped. */
export class FakeTerminal {
  /** All rows, from the first that was printed. */
  rows: string[] = [""];
  /** Everything that was drawn, call by call. */
  readonly drawn: string[] = [];
  /** Functions that are called at signals. */
  readonly listeners = new Map<TerminalSignal, () => void>();
  #row = 0;
  #column = 0;

  constructor(public columns: number, public height: number) {}

  readonly size = () => ({ columns: this.columns, rows: this.height });

  readonly signals = (signal: TerminalSignal, callback: () => void) => {
    this.listeners.set(signal, callback);
    return () => void this.listeners.delete(signal);
  };

  readonly draw = (text: string) => {
    this.drawn.push(text);
    // deno-lint-ignore no-control-regex
    for (const [token] of text.matchAll(/\x1b\[[?]?[\d;]*[a-zA-Z]|\r|\n|[^\x1b\r\n]+|\x1b/g)) {
      this.#process(token);
    }
  };

  #process(token: string): void {
    // deno-lint-ignore no-control-regex
    if (/^\x1b\[[\d;]*m$/.test(token)) return;
    // deno-lint-ignore no-control-regex
    const up = token.match(/^\x1b\[(\d+)A$/);
    if (up !== null) this.#row = Math.max(this.#top, this.#row - Number(up[1]));
    else if (token === "\r") this.#column = 0;
    else if (token === "\n") this.#feed();
    else if (token === "\x1b[2K") this.rows[this.#row] = "";
    else if (token === "\x1b[J") {
      this.rows.length = this.#row + 1;
      this.rows[this.#row] = this.rows[this.#row].slice(0, this.#column);
    } else if (token.startsWith("\x1b")) throw new Error(`Unexpected: ${JSON.stringify(token)}`);
    else this.#write(token);
  }

  get #top(): number {
    return Math.max(0, this.rows.length - this.height);
  }

  #feed(): void {
    [this.#row, this.#column] = [this.#row + 1, 0];
    if (this.#row === this.rows.length) this.rows.push("");
  }

  #write(text: string): void {
    for (const character of text) {
      if (this.#column === this.columns) this.#feed();
      const before = Array.from(this.rows[this.#row].padEnd(this.#column));
      before[this.#column++] = character;
      this.rows[this.#row] = before.join("");
    }
  }

  /** Changes the size. Rows that have become too long are wrapped, as by most terminals. */
  resize(columns: number, height = this.height): void {
    [this.columns, this.height] = [columns, height];
    const rows: string[] = [];
    let [row, column] = [0, 0];
    for (const [i, text] of this.rows.entries()) {
      const parts = Array.from(text).join("").match(new RegExp(`.{1,${columns}}`, "gu")) ?? [""];
      if (i === this.#row) {
        const part = Math.min(parts.length - 1, Math.floor(this.#column / columns));
        [row, column] = [rows.length + part, this.#column - part * columns];
      }
      rows.push(...parts);
    }
    this.rows = rows;
    [this.#row, this.#column] = [row, column];
    this.listeners.get("SIGWINCH")?.();
  }

  /** Prints what another program prints. */
  print(text: string): void {
    for (const token of text.match(/\n|[^\n]+/g) ?? []) this.#process(token);
  }
}
