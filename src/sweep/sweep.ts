/**
 * The sweep: passes of probes over all targets that have not replied, and the wait for late replies.
 *
 * @module
 */
import { cooldown, Outstanding, type SentPass } from "./cooldown.ts";
import type { ProbeSpace } from "../targets/space.ts";
import { type Mark, MarkHistory } from "./mark_history.ts";
import {
  type Pass,
  type PassOptions,
  type PassVisitor,
  runPasses,
  spaceOf,
  type Visited,
} from "./passes.ts";
import type { ProbeKind } from "./probe_kind.ts";
import { Sender, type SenderOptions, type SendProgress } from "./sender.ts";

/** Options of {@linkcode ProbeVisitor}, with those of its passes and senders. */
interface ProbePassOptions extends PassOptions, Omit<SenderOptions, "onProgress"> {
  /** The kinds of probes, for the protocols of all passes. */
  readonly kinds: readonly ProbeKind[];
  /** How long late replies are awaited after the last probe, milliseconds. */
  readonly cooldownMs: number;
  /** Records the sweep's progress over time. Default: none. */
  readonly history?: MarkHistory;
  /** Whether a target that is skipped now may be probed again later. Default: no. */
  readonly mayProbeAgain?: () => boolean;
}

/** Runs the passes of UDP protocols. */
class ProbeVisitor implements PassVisitor {
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

  targetsOf(pass: Pass): Pick<Outstanding, "some"> | undefined {
    const { passes, mayProbeAgain = () => false } = this.options;
    if (pass.planned !== undefined) return undefined;
    const number = passes.indexOf(pass) + 1;
    const [from, to] = [number, number + 1].map((pass) => ({ pass, position: 0 }));
    const search = new Outstanding(from, to, (number) => sentPass(number, this.options));
    return {
      get some() {
        return mayProbeAgain() || search.some;
      },
    };
  }
}

/** Options of {@linkcode sweep}, with those of its passes. */
export interface SweepOptions extends ProbePassOptions {
  /**
   * Whether a probe waits for a reply, if the sockets know. Default: the endpoints that have not replied
   * may still do so.
   */
  readonly isAwaiting?: () => boolean;
  /** Whether a cancelled sweep shortens the cooldown. Default: yes. */
  readonly skipsCooldown?: () => boolean;
}

/**
 * Runs the passes and waits for late replies: up to `cooldownMs` after the last probe, and only
 * while an endpoint that was probed within that time may still reply.
 *
 * @returns The final mark: the end of the last pass, unless cancelled. After a signal that shortens
 * the cooldown, late replies are awaited at most as long as the pause between two passes. The mark
 * is then before the endpoints that may still reply, and a resumed scan probes these endpoints
 * again.
 */
export async function sweep(options: SweepOptions): Promise<Mark> {
  const { signal, clock, gapMs, cooldownMs } = options;
  const visitor = new ProbeVisitor(options);
  const { history } = visitor;
  const mark = await runPasses(options, visitor);
  const skipsCooldown = () => signal.aborted && (options.skipsCooldown?.() ?? true);
  const late = history.before(clock.now() - cooldownMs) ?? mark;
  const outstanding = options.isAwaiting === undefined
    ? new Outstanding(late, mark, (pass) => sentPass(pass, options))
    : {
      get some() {
        return options.isAwaiting!();
      },
    };
  const waitMs = () => skipsCooldown() ? Math.min(gapMs, cooldownMs) : cooldownMs;
  await cooldown(clock, () => visitor.lastSent + waitMs(), outstanding);
  if (options.isAwaiting?.() === false) return mark;
  return skipsCooldown() ? history.before(clock.now() - cooldownMs) ?? mark : mark;
}

/** The targets of a pass, for the search for outstanding replies. */
function sentPass(number: number, { passes, order, skip }: ProbePassOptions): SentPass {
  const pass = passes[number - 1];
  return {
    space: spaceOf(pass, order),
    settled: (targets, i) => skip(targets, i, pass.protocol),
  };
}
