/**
 * What a report is made of: a database, or a file of rows.
 *
 * @module
 */
import { InputError } from "../../../core/errors.ts";
import { nodePath } from "../../../core/node_modules.ts";
import { brokenCellReporter } from "../../../app/databases/broken_cells.ts";
import { connectionEnvironment } from "../../../app/options/connection_environment.ts";
import { readServerRows } from "../../../app/targets/servers_in_files.ts";
import { type DatabaseLocation, parseDatabaseLocation } from "../../../store/database_location.ts";
import { readStore } from "../../../store/open_store.ts";
import { selectServers } from "../../../store/server_queries.ts";
import { withDatabaseErrors } from "../../../store/store.ts";
import type { Trend } from "../../../web/queries/dashboard_data.ts";
import { readTrends } from "../../../web/data/trends.ts";
import type { ReportCollector } from "../../../web/report/report_data.ts";
import { TREND_DAYS } from "../../../web/report/report_page.tsx";

/** A source whose servers were read. */
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
      const [trend] = await readTrends(database, { days: TREND_DAYS }, database.now());
      return { name: postgres?.database ?? nodePath().basename(file), trend };
    }));
}
