/** Runs programs alternately. A busy machine then slows all of them. */

/**
 * Runs every program once per round, in an order that changes with every round.
 *
 * @returns The results of the runs, by program.
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
