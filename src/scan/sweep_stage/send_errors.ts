/**
 * What keeps datagrams from leaving, by error code.
 *
 * @module
 */
import type { DatagramSocket } from "../../net/socket.ts";
import type { ScanState } from "../scan_state.ts";

/** What an error means: what was sent was refused, or waits; or connections are short of something. */
export type SendErrorKind = "refused" | "waits" | "short";

/** Told of an error when it first occurs. */
export type SendErrorListener = (code: string, kind: SendErrorKind) => void;

/** Adds up what sockets count, and tells of each kind of trouble once. */
export class SendErrors {
  /** Sockets may count together. */
  readonly #errors: readonly DatagramSocket["errors"][];
  readonly #told = new Set<string>();

  /** Takes the sockets. */
  constructor(sockets: readonly DatagramSocket[], private readonly tell: SendErrorListener) {
    this.#errors = [...new Set(sockets.map(({ errors }) => errors))];
  }

  /** Brings a state up to date. */
  count(state: Pick<ScanState, "errors" | "waits">): void {
    state.errors = this.#sum("refused", ({ send }) => send);
    state.waits = this.#sum("waits", ({ waits }) => waits);
  }

  #sum(
    kind: "refused" | "waits",
    of: (errors: DatagramSocket["errors"]) => Map<string, number>,
  ): Record<string, number> {
    const sums: Record<string, number> = {};
    for (const errors of this.#errors) {
      for (const [code, times] of of(errors)) sums[code] = (sums[code] ?? 0) + times;
    }
    for (const code of Object.keys(sums)) {
      if (this.#told.has(`${kind} ${code}`)) continue;
      this.#told.add(`${kind} ${code}`);
      this.tell(code, kind);
    }
    return sums;
  }
}
