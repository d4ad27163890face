/**
 * Runs a task whose results a loop consumes one by one. When the loop is left, the task ends.
 *
 * @module
 */

/** The receiver of the results of a task. */
export interface Results<T> {
  /**
   * Adds a result. Settles when the loop takes the result. After the loop was left, results are
   * dropped.
   */
  readonly add: (result: T) => Promise<void>;
  /** Resolves when the loop has taken all but one of the results. */
  readonly room: () => Promise<void>;
  /** Aborted when the loop was left. */
  readonly left: AbortSignal;
}

/**
 * Runs a task, and yields its results.
 *
 * @param run The task, which adds results. It has to end soon after `left` is aborted.
 * @throws The error of the task, after its last result.
 */
export async function* iterateTask<T>(
  run: (results: Results<T>) => Promise<void>,
): AsyncGenerator<T, void, undefined> {
  const { readable, writable } = new TransformStream<T, T>();
  const writer = writable.getWriter();
  const leaving = new AbortController();
  const left = leaving.signal;
  // Writes to a cancelled reader reject; these rejections are expected.
  const unlessLeft = (wait: Promise<void>) =>
    wait.catch((error) => {
      if (!left.aborted) throw error;
    });
  const task = run({
    add: (result) => left.aborted ? Promise.resolve() : unlessLeft(writer.write(result)),
    room: () => unlessLeft(writer.ready),
    left,
  });
  // The loop may be busy when the task fails. The error is thrown when the loop requests the next
  // result.
  const ended = task.finally(() => unlessLeft(writer.close()));
  ended.catch(() => {});
  const reader = readable.getReader();
  try {
    for (let next; !(next = await reader.read()).done;) yield next.value;
  } finally {
    // The signal is aborted before the reader is cancelled, because rejected writes check the
    // signal.
    leaving.abort();
    await reader.cancel();
    await ended;
  }
}
