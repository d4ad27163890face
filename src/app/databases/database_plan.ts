/**
 * Which databases the options of a scan name. None is opened.
 *
 * @module
 */
import { type DatabaseLocation, parseDatabaseLocation } from "../../store/database_location.ts";

/** The databases of a scan, and when an unresponsive server counts as offline. */
export interface DatabasePlan {
  /** Paths and URLs of the databases. */
  readonly locations: readonly DatabaseLocation[];
  /** Number of scans in a row without a reply after which a server is offline. */
  readonly downAfter: number;
  /** How long all observations are kept, milliseconds. Default: for ever. */
  readonly keepMs?: number;
  /** Whether the databases get the index for searches in texts. Default: no. */
  readonly textIndex?: boolean;
  /** Whether PostgreSQL partitions observations by month. Default: no. */
  readonly partitionByMonth?: boolean;
}

/**
 * The databases among outputs.
 *
 * @throws InputError for a URL that cannot be read.
 */
export function namedDatabases(output: readonly string[]): DatabaseLocation[] {
  return output.map(parseDatabaseLocation).filter((location) => location !== undefined);
}

/**
 * The databases that the options name, and how they are written.
 *
 * @throws InputError for a URL that cannot be read.
 */
export function planDatabases(
  { output, downAfter, keep, ...options }: {
    readonly output: readonly string[];
    readonly downAfter: number;
    readonly keep: number | undefined;
    readonly textIndex: boolean;
    readonly partitionByMonth: boolean;
  },
): DatabasePlan {
  const { textIndex, partitionByMonth } = options;
  return {
    locations: namedDatabases(output),
    downAfter,
    keepMs: keep,
    textIndex,
    partitionByMonth,
  };
}
