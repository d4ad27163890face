/**
 * The prune command: downsamples the old observations of a database.
 *
 * @module
 */
import { InputError } from "../../core/errors.ts";
import { EXIT } from "../../app/exit_codes.ts";
import { readArgs } from "../options/parse_arguments.ts";
import { tellLine } from "../term/console.ts";
import { namedPlace } from "../../app/databases/select_servers.ts";
import { downsampleOnce } from "../../app/databases/downsample.ts";
import { connectionEnvironment } from "../../app/databases/connection_environment.ts";
import { Settings } from "../../app/settings/option_values.ts";

/** Runs `prune`; returns the exit code. */
export async function runPrune(args: readonly string[]): Promise<number> {
  const settings = new Settings(readArgs("prune", args));
  const { words } = settings.values;
  const place = namedPlace(words[0]);
  const keepMs = settings.age("keep");
  if (keepMs === undefined) {
    throw new InputError("Cannot prune without --keep: how long all observations are kept, as 90d");
  }
  const line = await downsampleOnce(place, keepMs, connectionEnvironment(tellLine));
  if (!settings.has("quiet")) tellLine(line);
  return EXIT.done;
}
