/**
 * The diff command: the differences between two scans of a database, two databases, or two files.
 *
 * @module
 */
import { InputError } from "../../../core/errors.ts";
import { fileIdentity } from "../../../sinks/file_identity.ts";
import { WriteError } from "../../../sinks/sink.ts";
import type { Protocol } from "../../../protocols/protocol.ts";
import { type Database, StoreError } from "../../../store/database/database.ts";
import { parseDatabaseLocation } from "../../../store/database_location.ts";
import {
  type DifferenceKind,
  type EndedScan,
  endedScans,
  haveCommon,
  readEndedScan,
  scanDifferences,
  withDatabaseErrors,
} from "../../../store/mod.ts";
import { EXIT, userPath } from "../../../app/mod.ts";
import {
  isScanName,
  missedByLoss,
  namedScan,
  openNamed,
  SCAN_NAMES,
} from "../../../app/databases/mod.ts";
import { connectionEnvironment } from "../../../app/options/mod.ts";
import { isClosedPipe } from "../../../app/outputs/mod.ts";
import { listDifferences, readServerList } from "../../../app/targets/mod.ts";
import { type CommandCall, readCommandLine } from "../../options/command_line.ts";
import { printLines, reportLine } from "../../term/console.ts";
import { dateText } from "../../term/date_text.ts";
import {
  type Compared,
  countKind,
  countLines,
  fileFormatOf,
  NDJSON,
  tableOf,
  writeDifferences,
} from "./diff_output.ts";

/** Runs `diff`; returns the exit code: 0 without a difference, 1 with differences, and 2 after errors. */
export async function runDiff(call: CommandCall): Promise<number> {
  const { words, options: { json, output } } = readCommandLine("diff", call);
  try {
    const compared = await compare(words, call.allProtocols);
    const path = output ?? "-";
    const format = json && path === "-" ? NDJSON : fileFormatOf(path);
    if (json && format !== NDJSON) throw new InputError(`Cannot use --json with -o "${path}"`);
    if (format === undefined) {
      await printLines([...countLines(compared), ...tableOf(compared.servers)]);
    } else {
      await writeDifferences(path, format, compared);
      if (path !== "-") countLines(compared).forEach(reportLine);
    }
    return compared.servers.length === 0 ? EXIT.done : EXIT.failed;
  } catch (error) {
    if (isClosedPipe(error)) return EXIT.usage; // without a message, as of other commands
    const isFailure = error instanceof StoreError || error instanceof WriteError;
    // The code of other failures is that of differences.
    throw isFailure ? new InputError(error.message, { cause: error }) : error;
  }
}

async function compare(
  words: readonly string[],
  allProtocols: readonly Protocol[],
): Promise<Compared> {
  const [first, second, third] = words;
  if (first === undefined) {
    throw new InputError(
      "Cannot compare nothing: name a database, a database and two scans, or two databases or files",
    );
  }
  const isDatabase = parseDatabaseLocation(first) !== undefined;
  if (isDatabase && (second === undefined || third !== undefined || isScanName(second))) {
    return await compareScans(first, second, third);
  }
  if (second === undefined || third !== undefined) {
    const wanted = third === undefined ? "name a second one" : "scans are those of one database";
    throw new InputError(`Cannot compare "${first}": ${wanted}`);
  }
  if (isDatabase && !await isNamedThere(second)) {
    throw new InputError(
      `Cannot find "${second}": no file has this name, and a scan is ${SCAN_NAMES}`,
    );
  }
  const environment = connectionEnvironment(reportLine);
  const before = await readServerList(first, environment, reportLine);
  const now = await readServerList(second, environment, reportLine, before);
  const sides = [first, second].map((word) => parseDatabaseLocation(word)?.path ?? word);
  return {
    ...listDifferences(before, now, allProtocols),
    sides: [sides[0], sides[1]],
    byLoss: undefined,
  };
}

/** Whether a word names a database, or a file that exists; `-`: standard input. */
async function isNamedThere(word: string): Promise<boolean> {
  if (word === "-" || parseDatabaseLocation(word) !== undefined) return true;
  return await fileIdentity(userPath(word)) !== undefined;
}

/** Compares two scans of a database. Default: the last one, and the last one before that asked a server in common. */
async function compareScans(
  word: string,
  first: string | undefined,
  second: string | undefined,
): Promise<Compared> {
  await using database = await openNamed(word, connectionEnvironment(reportLine));
  return await withDatabaseErrors("read", database, () =>
    database.snapshot(async () => {
      const scans = await endedScans(database);
      const to = namedScan(second ?? "last", scans, database.now());
      const from = first === undefined
        ? await scanBefore(database, scans, to)
        : namedScan(first, scans, database.now());
      if (from === to && first !== undefined && second === undefined) {
        throw new InputError(
          `Cannot compare the scan "${first}" with the last one: it is the last one; name an earlier one`,
        );
      }
      if (scans.indexOf(from) < scans.indexOf(to)) {
        throw new InputError(
          `Cannot compare the scan ${from.id} with ${to.id}: it began later; name the earlier one first`,
        );
      }
      const [before, now] = [
        await readEndedScan(database, from),
        await readEndedScan(database, to),
      ];
      const differences = await scanDifferences(database, before, now);
      const count = (kind: DifferenceKind) => countKind(differences, kind);
      const replied = count("changed") + differences.unchanged;
      return {
        ...differences,
        sides: [sideText(from), sideText(to)] as const,
        byLoss: missedByLoss(now, replied, count("lost")),
      };
    }));
}

async function scanBefore(
  database: Database,
  scans: readonly EndedScan[],
  to: EndedScan,
): Promise<EndedScan> {
  for (const scan of scans.slice(scans.indexOf(to) + 1)) {
    if (await haveCommon(database, scan, to)) return scan;
  }
  throw new InputError(
    `Cannot compare the scan ${to.id}: no ended scan before it asked one of its servers`,
  );
}

function sideText({ id, startedAt }: EndedScan): string {
  return `scan ${id} of ${dateText(startedAt)} UTC`;
}
