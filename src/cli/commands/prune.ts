/**
 * The prune command: downsamples the old observations of a database.
 *
 * @module
 */
import { InputError } from "../../core/errors.ts";
import { openExisting } from "../../store/open_store.ts";
import { EXIT } from "../../app/exit_codes.ts";
import { readCommandLine } from "../options/read_options.ts";
import { reportLine } from "../term/console.ts";
import { printResult } from "../term/json_results.ts";
import { namedPlace } from "../../app/databases/select_servers.ts";
import { downsampledLine, downsampleOnce } from "../../app/databases/downsample.ts";
import { connectionEnvironment } from "../../app/databases/connection_environment.ts";

/** Runs `prune`; returns the exit code. */
export async function runPrune(args: readonly string[]): Promise<number> {
  const { words: [word], options: { keep, quiet, json, textIndex } } = readCommandLine(
    "prune",
    args,
  );
  const place = namedPlace(word);
  if (keep === undefined) {
    throw new InputError(
      "Cannot prune without --keep: name the age up to which all observations are kept, for example 90d",
    );
  }
  const environment = connectionEnvironment(reportLine);
  if (textIndex) {
    await (await openExisting(place, environment, { textIndex }))[Symbol.asyncDispose]();
  }
  const downsampled = await downsampleOnce(place, keep, environment);
  const { pruned, events } = downsampled;
  if (json) await printResult("prune", { database: place.path, pruned, events });
  else if (!quiet) reportLine(downsampledLine(downsampled));
  return EXIT.done;
}
