/**
 * Send errors of sockets, by error code.
 *
 * @module
 */
import type { DatagramSocket } from "../../net/socket.ts";
import type { ScanState } from "../scan_state.ts";

/**
 * Effect of an error: the system refused to send, or sending has to wait, or a resource for
 * connections is exhausted.
 */
export type SendErrorKind = "refused" | "waits" | "short";

/** Called when an error first occurs. */
export type SendErrorListener = (code: string, kind: SendErrorKind) => void;

/** Adds up the send errors of all sockets, and reports each error code once. */
export class SendErrors {
  /** Error counters. Several sockets may share one object, which is counted once. */
  readonly #errors: readonly DatagramSocket["errors"][];
  readonly #reported = new Set<string>();

  /** Creates the sum of the errors of sockets. */
  constructor(sockets: readonly DatagramSocket[], private readonly report: SendErrorListener) {
    this.#errors = [...new Set(sockets.map(({ errors }) => errors))];
  }

  /** Updates a scan's state. */
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
      if (this.#reported.has(`${kind} ${code}`)) continue;
      this.#reported.add(`${kind} ${code}`);
      this.report(code, kind);
    }
    return sums;
  }
}
