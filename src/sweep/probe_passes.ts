/**
 * The passes over UDP: a sender for each pass, and a record of the progress over time.
 *
 * @module
 */
import type { ProbeSpace } from "../targets/space.ts";
import type { Pass, PassOptions, PassVisitor, Visited } from "./passes.ts";
import type { ProbeKind } from "./probe_kind.ts";
import { Sender, type SenderOptions, type SendProgress } from "./sender.ts";
import { type Mark, MarkHistory } from "./mark_history.ts";

/** Options of {@linkcode ProbeVisitor}, with those of its passes and senders. */
export interface ProbePassOptions extends PassOptions, Omit<SenderOptions, "onProgress"> {
  /** The kinds of probes, for the protocols of all passes. */
  readonly kinds: readonly ProbeKind[];
  /** How long late replies are awaited after the last probe, milliseconds. */
  readonly cooldownMs: number;
  /** Records the sweep's progress over time. Default: none. */
  readonly history?: MarkHistory;
}

/** Runs the passes of UDP protocols. */
export class ProbeVisitor implements PassVisitor {
  /** When the last probe was sent, milliseconds of the clock. */
  lastSent = -Infinity;
  /** The progress of the passes over time. */
  readonly history: MarkHistory;

  /** Creates a visitor that has visited no target. */
  constructor(private readonly options: ProbePassOptions) {
    const { from, clock, cooldownMs } = options;
    this.history = options.history ?? new MarkHistory(from, clock.now(), cooldownMs);
  }

  async visit(pass: Pass, space: ProbeSpace, from: Mark): Promise<Visited> {
    const { clock, progress, kinds } = this.options;
    const kind = kinds.find(({ protocol }) => protocol === pass.protocol)!;
    let visited = from.position;
    let isQuiet = true;
    const onProgress = (sending: SendProgress) => {
      visited += sending.visited;
      if (sending.sent > 0) {
        this.lastSent = clock.now();
        isQuiet = false;
      }
      this.history.record(from.pass, visited, clock.now());
      progress.note(sending.visited, sending.sent, sending.refused);
    };
    const sender = new Sender(kind, { ...this.options, onProgress });
    return { position: await sender.send(space, from.position), isQuiet };
  }
}
