/**
 * Queues tasks of a campaign.
 *
 * @module
 */
import { HOUR_MS } from "../core/quantities.ts";
import { taskSubject } from "./names.ts";
import type { Broker } from "./nats/connection.ts";
import { brokerError } from "./nats/errors.ts";

/**
 * Time for which NATS recognises a task that is queued again, milliseconds: an hour less than the
 * duplicate window of the stream, because clocks differ.
 */
export const RECOGNISED_MS = 23 * HOUR_MS;

/** Number of tasks whose confirmations are awaited together. */
const AT_ONCE = 256;

/** A task: one view of a part, and how often it was queued. */
export interface Task {
  readonly part: number;
  /** From 1. A part that is retried gets a new number, because NATS stores each message id once. */
  readonly try: number;
  /** Which of the views of the part, from 1. It only tells tasks of a part apart. Default: the only one. */
  readonly view?: number;
}

/**
 * Queues tasks. NATS has a task once, if it is queued again within {@linkcode RECOGNISED_MS}.
 *
 * @param spec The SHA-256 of the campaign's spec.
 * @returns How many tasks were not queued before.
 */
export async function queueTasks(
  { js, urls }: Pick<Broker, "js" | "urls">,
  campaign: string,
  { spec, tasks }: { readonly spec: string; readonly tasks: readonly Task[] },
): Promise<number> {
  let queued = 0;
  for (let at = 0; at < tasks.length; at += AT_ONCE) {
    const sent = tasks.slice(at, at + AT_ONCE).map(({ part, try: count, view = 1 }) =>
      js.publish(
        taskSubject(campaign),
        JSON.stringify({ form: 1, spec, part, try: count }),
        // Another campaign of the same name has another spec.
        { msgID: `${spec}:${part}:${count}${view === 1 ? "" : `:${view}`}` },
      )
    );
    const acks = await Promise.all(sent).catch((error) => {
      throw brokerError(error, urls);
    });
    queued += acks.filter(({ duplicate }) => !duplicate).length;
  }
  return queued;
}
