/**
 * The forget command: removes servers from a database for good.
 *
 * @module
 */
import { connectionEnvironment } from "../../app/options/mod.ts";
import {
  type CountedServerToForget,
  findServersToForget,
  forgetServers,
  type ForgottenInFile,
  namedLocation,
  undoForget,
} from "../../app/databases/mod.ts";
import { EXIT } from "../../app/mod.ts";
import { openExisting, withDatabaseErrors } from "../../store/mod.ts";
import { InputError } from "../../core/errors.ts";
import { countOf } from "../../core/quantities.ts";
import type { Database } from "../../store/database/database.ts";
import { type CommandCall, readCommandLine } from "../options/command_line.ts";
import { printLines, reportError, reportLine } from "../term/console.ts";
import { printResult } from "../term/json_results.ts";

/** Runs `forget`; returns the exit code. */
export async function runForget(call: CommandCall): Promise<number> {
  const { words: [word, ...names], options } = readCommandLine("forget", call);
  const { optedOut, undo, dryRun, webhookOutbox: outbox } = options;
  const location = namedLocation(word);
  if (names.length === 0 && !optedOut) {
    throw new InputError("Cannot forget: name servers after the database, or use --opted-out");
  }
  if (undo && (optedOut || dryRun)) {
    throw new InputError(`Cannot use --undo with --${optedOut ? "opted-out" : "dry-run"}`);
  }
  await using database = await openExisting(location, connectionEnvironment(reportLine));
  return await withDatabaseErrors("write to", database, async () => {
    if (undo) return await undoAll(database, names, options);
    const servers = await findServersToForget(database, { names, optedOut });
    const files = await forgetServers(database, servers, { location, outbox, dryRun });
    await showServers(servers, options);
    return showFiles(database, servers, files, options);
  });
}

/** What is printed about a server without rows, which is forgotten too. */
const NOT_STORED = "no rows; no scan, watch or import may add it";

/** What is printed about the outbox of a running watch. */
const IN_USE = "in use; a watch of this database removes the events within 15 seconds itself";

/** The options that decide what is printed. */
interface Printing {
  readonly quiet: boolean;
  readonly json: boolean;
  readonly dryRun: boolean;
}

async function undoAll(
  database: Database,
  names: readonly string[],
  { quiet }: Printing,
): Promise<number> {
  for (const key of await undoForget(database, names)) {
    if (!quiet) reportLine(`${key} can be written to ${database.name} again`);
  }
  return EXIT.done;
}

async function showServers(
  servers: readonly CountedServerToForget[],
  { quiet, json }: Printing,
): Promise<void> {
  for (const { key, id, observations } of servers) {
    const known = id !== undefined;
    if (json) await printResult("forget", { server: key, in_database: known, observations });
    else if (!quiet) {
      await printLines([`${key}: ${known ? countOf(observations, "observation") : NOT_STORED}`]);
    }
  }
}

/** Reports what was removed from files, and what could not be. Returns the exit code. */
function showFiles(
  { name }: Database,
  servers: readonly CountedServerToForget[],
  files: readonly ForgottenInFile[],
  { quiet, dryRun }: Printing,
): number {
  const removed = dryRun ? "to remove" : "removed";
  for (const { path, lines, problem } of files) {
    if (problem !== undefined) {
      reportError(`Cannot remove events from "${path}": ${problem}`);
    } else if (!quiet) {
      reportLine(
        `${path}: ${lines === undefined ? IN_USE : `${countOf(lines, "line")} ${removed}`}`,
      );
    }
  }
  const forgotten = dryRun ? "would be forgotten" : "forgotten";
  const unknown = servers.filter(({ id }) => id === undefined).length;
  const rest = unknown === 0 ? "" : `, ${unknown} of them without rows`;
  if (!quiet) reportLine(`${name}: ${countOf(servers.length, "server")} ${forgotten}${rest}`);
  return files.some(({ problem }) => problem !== undefined) ? EXIT.failed : EXIT.done;
}
