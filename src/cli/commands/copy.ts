/**
 * The copy command: copies a database into an empty one.
 *
 * @module
 */
import { brokenCellReporter, namedLocation } from "../../app/databases/mod.ts";
import { connectionEnvironment } from "../../app/options/mod.ts";
import { EXIT, onInterrupt } from "../../app/mod.ts";
import { type PrintedColumn, tableLines } from "../../app/outputs/mod.ts";
import { createTextIndex, openCopyTarget, readStore, withDatabaseErrors } from "../../store/mod.ts";
import { InputError } from "../../core/errors.ts";
import { withCommas } from "../../core/quantities.ts";
import { type ComparedTable, copyDatabase, isSameTable } from "../../store/copy/copy_database.ts";
import { type CommandCall, readCommandLine } from "../options/command_line.ts";
import { printLines, reportError, reportLine } from "../term/console.ts";
import { printResult } from "../term/json_results.ts";

/** Runs `copy`; returns the exit code. */
export async function runCopy(call: CommandCall): Promise<number> {
  const { words: [from, to], options: { quiet, json, textIndex, partitionByMonth } } =
    readCommandLine("copy", call);
  if (from === undefined || to === undefined) {
    throw new InputError(
      "Cannot copy: name two databases, for example blocksweep copy old.db servers.db",
    );
  }
  const [source, target] = [namedLocation(from), namedLocation(to)];
  const environment = connectionEnvironment(reportLine);
  const report = (line: string) => quiet ? undefined : reportLine(line);
  // The source is opened first: if it cannot be read, no target is created.
  await using database = await readStore(source, environment);
  await using copy = await openCopyTarget(target, environment, { partitionByMonth });
  const onBroken = brokenCellReporter(database.name, reportLine);
  using interrupt = onInterrupt(() => {});
  const { signal } = interrupt;
  const { complete, tables } = await withDatabaseErrors(
    "write to",
    copy,
    () => copyDatabase(database, copy, { report, signal, onBroken }),
  );
  if (!complete) {
    reportLine("the copy is unfinished; run the command again to continue it");
    return EXIT.interrupted;
  }
  if (textIndex) await createTextIndex(copy);
  if (json) { for (const table of tables) await printResult("copy", resultOf(table)); }
  else if (!quiet) await printLines(comparisonLines(tables));
  const different = tables.filter((table) => !isSameTable(table));
  if (different.length === 0) return EXIT.done;
  const names = different.map(({ table }) => table).join(", ");
  reportError(`Cannot finish the copy into ${copy.name}: its rows differ in ${names}`);
  return EXIT.failed;
}

function resultOf(table: ComparedTable) {
  return {
    table: table.table,
    rows: table.rows,
    left_out: table.leftOut,
    copied: table.copied,
    digest: table.digest,
    copied_digest: table.copiedDigest,
    equal: isSameTable(table),
  };
}

const COLUMNS: readonly PrintedColumn<ComparedTable>[] = [
  { title: "TABLE", width: 16, rank: 0, text: ({ table }) => table },
  { title: "ROWS", width: 11, rank: 0, text: ({ rows }) => withCommas(rows) },
  { title: "LEFT OUT", width: 8, rank: 0, text: ({ leftOut }) => withCommas(leftOut) },
  { title: "COPIED", width: 11, rank: 0, text: ({ copied }) => withCommas(copied) },
  { title: "DIGEST", width: 32, rank: 0, text: ({ digest }) => digest },
  { title: "EQUAL", width: 0, rank: 0, text: (table) => isSameTable(table) ? "yes" : "no" },
];

/** The comparison of both databases as a table. */
export function comparisonLines(tables: readonly ComparedTable[]): string[] {
  return tableLines(COLUMNS, tables, Infinity, 2);
}
