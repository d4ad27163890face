/** Programs that take turns, so that a busy machine slows all of them. */

/**
 * Runs every program once a round, in an order that changes with every round.
 *
 * @returns What the runs of each came to.
 */
export async function inTurns<T>(
  names: readonly string[],
  rounds: number,
  run: (name: string, round: number) => Promise<T>,
): Promise<Map<string, T[]>> {
  const runs = new Map(names.map((name) => [name, [] as T[]]));
  for (let round = 1; round <= rounds; round++) {
    const first = round % names.length;
    for (const name of [...names.slice(first), ...names.slice(0, first)]) {
      runs.get(name)!.push(await run(name, round));
    }
  }
  return runs;
}
