/**
 * What a report is made of: a database, or a file of rows.
 *
 * @module
 */
import { InputError } from "../../../core/errors.ts";
import { nodePath } from "../../../core/node_modules.ts";
import { brokenCellReporter } from "../../../app/databases/mod.ts";
import { connectionEnvironment } from "../../../app/options/mod.ts";
import { readServerRows } from "../../../app/targets/mod.ts";
import { readStore, selectServers, withDatabaseErrors } from "../../../store/mod.ts";
import { readTrends, type ReportCollector, type Trend, TREND_DAYS } from "../../../web/mod.ts";
import { type DatabaseLocation, parseDatabaseLocation } from "../../../store/database_location.ts";

export interface ReadSource {
  /** Its name without folders and password. */
  readonly name: string;
  /** The trend of watched servers; files have none. */
  readonly trend: Trend | undefined;
}

/**
 * Reads all servers of a source.
 *
 * @param word The path of a database or file, or the URL of a database.
 * @throws InputError when it cannot be read, or is a file without a server.
 */
export async function readSource(
  word: string,
  collector: ReportCollector,
  report: (line: string) => void,
): Promise<ReadSource> {
  const location = parseDatabaseLocation(word);
  if (location !== undefined) return await readDatabase(location, collector, report);
  let isEmpty = true;
  for await (const server of readServerRows(word, report)) {
    collector.add(server);
    isEmpty = false;
  }
  if (isEmpty) {
    throw new InputError(
      `Cannot make a report of "${word}": it contains no row of a server; supported are the ` +
        "formats of scan and export, and files of other scanners that import reads",
    );
  }
  return { name: nodePath().basename(word), trend: undefined };
}

async function readDatabase(
  location: DatabaseLocation,
  collector: ReportCollector,
  report: (line: string) => void,
): Promise<ReadSource> {
  await using database = await readStore(location, connectionEnvironment(report));
  const onBroken = brokenCellReporter(database.name, report);
  const { file, postgres } = location;
  return await withDatabaseErrors("read", database, () =>
    database.snapshot(async () => {
      for await (const server of selectServers(database, { sort: "address" }, onBroken)) {
        collector.add(server);
      }
      const { trends: [trend] } = await readTrends(database, { days: TREND_DAYS }, database.now());
      return { name: postgres?.database ?? nodePath().basename(file), trend };
    }));
}
