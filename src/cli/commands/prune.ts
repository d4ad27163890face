/**
 * The prune command: removes rows of a database that are older than their retention.
 *
 * @module
 */
import { InputError } from "../../core/errors.ts";
import { openExisting } from "../../store/mod.ts";
import { EXIT } from "../../app/mod.ts";
import { namedLocation, prunedLine, pruneOnce } from "../../app/databases/mod.ts";
import { connectionEnvironment } from "../../app/options/mod.ts";
import { type CommandCall, readCommandLine } from "../options/command_line.ts";
import { reportLine } from "../term/console.ts";
import { printResult } from "../term/json_results.ts";

/** Runs `prune`; returns the exit code. */
export async function runPrune(call: CommandCall): Promise<number> {
  const { words: [word], options } = readCommandLine("prune", call);
  const { observations, events, replies, players, textIndex, quiet, json } = options;
  const location = namedLocation(word);
  const retention = { observations, events, replies, players };
  if (Object.values(retention).every((keepMs) => keepMs === undefined)) {
    throw new InputError(
      "Cannot prune without an age: name how long rows are kept, for example --observations 90d",
    );
  }
  const environment = connectionEnvironment(reportLine);
  if (textIndex) {
    await (await openExisting(location, environment, { textIndex }))[Symbol.asyncDispose]();
  }
  const pruned = await pruneOnce(location, retention, environment, reportLine);
  if (json) {
    const { name: _, ...counts } = pruned;
    const numbers = Object.fromEntries(
      Object.entries(counts).map(([table, count]) => [table, count ?? null]),
    ) as Record<keyof typeof counts, number | null>;
    await printResult("prune", { database: location.path, ...numbers });
  } else if (!quiet) reportLine(prunedLine(pruned));
  return EXIT.done;
}
