/**
 * The commands that read the servers of a database: servers and export.
 *
 * @module
 */
import { systemClock } from "../../net/clock.ts";
import { InputError } from "../../core/errors.ts";
import { countOf } from "../../core/quantities.ts";
import type { Field } from "../../core/record.ts";
import type { Sink } from "../../sinks/sink.ts";
import type { WholeFile } from "../../sinks/whole_files.ts";
import { STORED_FIELDS } from "../../store/queries/stored_fields.ts";
import type { Database } from "../../store/database/database.ts";
import {
  givenFilters,
  GROUP_RULES,
  hiddenServers,
  readGroups,
  type ServerSelection,
  withDatabaseErrors,
} from "../../store/mod.ts";
import { connectionEnvironment } from "../../app/options/mod.ts";
import { readGeoipFiles, readGeoipLookup } from "../../app/geoip/mod.ts";
import { EXIT } from "../../app/mod.ts";
import {
  findServer,
  openNamed,
  selectionLine,
  type SelectionOptions,
  serverSelectionOf,
  storedServersTable,
  writeSelectedServers,
} from "../../app/databases/mod.ts";
import {
  formatWithJson,
  openOutputs,
  type OutputOptions,
  planOutputs,
  refuseDatabases,
  type RowKind,
  SoftwareTally,
  whileRead,
} from "../../app/outputs/mod.ts";
import { GEOIP_FIELDS } from "../../app/geoip/geoip_fields.ts";
import { type CommandCall, readCommandLine } from "../options/command_line.ts";
import { readSearchWords, searchSelection } from "../options/search.ts";
import { outputColumns, reportLine, writeRows } from "../term/console.ts";

/**
 * Maximum time between the time that a change gets in a database and its commit, as another program
 * measures it, milliseconds: the clocks of both programs may differ from the database's by a minute.
 */
const OVERLAP_MS = 3 * 60_000;

/** Runs `servers`; returns the exit code. */
export async function runServers(call: CommandCall): Promise<number> {
  const { words, options } = readCommandLine("servers", call);
  return await show(words, {
    ...options,
    isGrouped: !options.noGroup,
    format: formatWithJson(options),
    output: [],
    append: false,
  });
}

/** Runs `export`; returns the exit code. */
export async function runExport(call: CommandCall): Promise<number> {
  const { words, options } = readCommandLine("export", call);
  const { sort = options.since === undefined ? "address" : "changed" } = options;
  return await show(words, { ...options, isGrouped: false, sort });
}

/** The values of the options of both commands. */
interface ShowOptions extends SelectionOptions, OutputOptions {
  /** The server after which the rows begin. */
  readonly after: string | undefined;
  readonly output: readonly string[];
  readonly append: boolean;
  readonly quiet: boolean;
  /** Whether rows of one server are one row of a table. */
  readonly isGrouped: boolean;
  readonly geoip: readonly string[];
}

async function show(
  [word, ...search]: readonly string[],
  options: ShowOptions,
): Promise<number> {
  const now = systemClock.wall();
  const chosen = serverSelectionOf(options, now);
  const searched = readSearchWords(search, now);
  checkTwice(chosen, searched);
  const geoip = await readGeoipFiles(options.geoip);
  const geoipOf = await readGeoipLookup(geoip.files);
  const others = new Map<string, number>();
  const added = { hasGeoip: geoip.files.length > 0, hasTags: options.tag.length > 0, others };
  const kind = rowKind(options.fields ?? [], added, now);
  const plans = planOutputs(options, outputColumns(), kind);
  refuseDatabases(options.output, "export to");
  await using database = await openNamed(word, connectionEnvironment(reportLine));
  const { after: name } = options;
  const reading = <T>(read: () => Promise<T>) => withDatabaseErrors("read", database, read);
  const after = name === undefined ? undefined : await reading(() => findServer(database, name));
  const found = await reading(() =>
    searchSelection(database, searched, added.hasGeoip ? geoipOf : undefined)
  );
  const filters = { ...chosen, ...found };
  const isTable = plans.some(({ format }) => format.name === "table");
  const grouped = options.isGrouped && isTable
    ? await reading(() => groupedSelection(database, filters, others))
    : { selection: filters };
  const selection = { ...grouped.selection, after: after?.id };
  const report = options.quiet ? () => {} : reportLine;
  const opened = await openOutputs(plans, options.append, {
    writeRows,
    report,
    replacesFiles: true,
  });
  const { sinks } = whileRead(opened.sinks, plans, report);
  const tally = new SoftwareTally();
  const began = database.now();
  const { count: written, latest } = await writeAll(
    sinks,
    opened.wholeFiles,
    () =>
      reading(() =>
        writeSelectedServers(
          database,
          selection,
          [...sinks, tally],
          reportLine,
          geoipOf,
        )
      ),
  );
  if (options.quiet) return EXIT.done;
  geoip.attributions.forEach(reportLine);
  reportLine(await reading(() => selectionLine(database, selection, written)));
  if (isTable) tally.lines().forEach(reportLine);
  if (grouped.line !== undefined) reportLine(grouped.line);
  const isWhole = selection.after === undefined && written !== selection.limit;
  if (selection.since !== undefined && isWhole && latest > 0) {
    reportLine(
      `next export: --since ${Math.min(latest, began) - OVERLAP_MS} (it repeats some servers)`,
    );
  }
  return EXIT.done;
}

/**
 * A selection that has one row of each server, and the line that says which rows it leaves out.
 *
 * @param others Receives for each `host:port` of a server the number of its other rows.
 */
async function groupedSelection(
  database: Database,
  selection: ServerSelection,
  others: Map<string, number>,
): Promise<{ readonly selection: ServerSelection; readonly line?: string }> {
  const groups = await readGroups(database);
  if (groups.size === 0) return { selection };
  const hidden = await hiddenServers(database, selection, groups);
  const rules = new Set<string>();
  for (const group of new Set(groups.values())) {
    for (const { endpoint } of group) others.set(endpoint, group.length - 1);
    for (const { id, rules: own } of group) {
      if (hidden.has(id)) own.forEach((rule) => rules.add(GROUP_RULES[rule]));
    }
  }
  if (hidden.size === 0) return { selection };
  const line = `${countOf(hidden.size, "endpoint")} of the same servers ` +
    `${hidden.size === 1 ? "is" : "are"} not listed ([+1]: ${[...rules].join("; ")}); ` +
    "--no-group lists each endpoint";
  return { selection: { ...selection, hidden }, line };
}

/** @throws InputError for a filter of which both words and options have a value. */
function checkTwice(selection: ServerSelection, filters: object): void {
  const twice = givenFilters<string>({ ...filters }, selection).map(({ name }) => name)[0];
  if (twice === undefined) return;
  throw new InputError(
    `Cannot use words and an option for the filter "${twice}": omit one of them`,
  );
}

/** The columns of rows: with `--geoip`, country and operator after the others; with `--tag`, tags in the table. */
function rowKind(
  chosen: readonly Field[],
  added: {
    readonly hasGeoip: boolean;
    readonly hasTags: boolean;
    readonly others: ReadonlyMap<string, number>;
  },
  now: number,
): RowKind {
  const { hasGeoip } = added;
  const unknown = hasGeoip ? undefined : chosen.find((one) => GEOIP_FIELDS.includes(one));
  if (unknown !== undefined) {
    throw new InputError(`Cannot write column "${unknown.name}" without --geoip FILE.mmdb`);
  }
  return {
    columns: hasGeoip ? [...STORED_FIELDS, ...GEOIP_FIELDS] : STORED_FIELDS,
    table: (space) => storedServersTable(now, space, added),
  };
}

/** Writes, and closes the outputs even after an error. Files are replaced if there was none. */
async function writeAll<T>(
  sinks: readonly Sink[],
  files: readonly WholeFile[],
  write: () => Promise<T>,
): Promise<T> {
  try {
    const result = await writeAndClose(sinks, write);
    for (const file of files) await file.complete();
    return result;
  } catch (error) {
    for (const file of files) await file.discard();
    throw error;
  }
}

async function writeAndClose<T>(sinks: readonly Sink[], write: () => Promise<T>): Promise<T> {
  await using stack = new AsyncDisposableStack();
  for (const sink of sinks) stack.use(sink);
  return await write();
}
