/**
 * The import command: reads servers from files into a database.
 *
 * @module
 */
import { systemClock } from "../../net/clock.ts";
import { InputError } from "../../core/errors.ts";
import {
  type ImportedServer,
  namesWithoutHost,
  readForeignFile,
  type TargetText,
  XmlError,
} from "../../sinks/foreign/mod.ts";
import {
  type ImportCounts,
  openStore,
  type StoredRecord,
  withDatabaseErrors,
  writeImportedRecords,
  writeImportSummary,
} from "../../store/mod.ts";
import { EXIT } from "../../app/mod.ts";
import { connectionEnvironment, type OptionsOf } from "../../app/options/mod.ts";
import {
  type ImportedName,
  type Lookups,
  LOOKUPS_AT_ONCE,
  nameInLine,
  resolveImportedName,
  resolveName,
  serviceFinder,
} from "../../app/names/mod.ts";
import { openRowFile, stored, tagTexts } from "../../app/targets/mod.ts";
import { namedLocation } from "../../app/databases/mod.ts";
import { parseAddress } from "../../core/address.ts";
import type { Database } from "../../store/database/database.ts";
import { isTag } from "../../store/rows/server_tags.ts";
import { type CommandCall, readCommandLine } from "../options/command_line.ts";
import { reportLine } from "../term/console.ts";
import { type JsonResult, printResult } from "../term/json_results.ts";
import { countOf, withCommas } from "../../core/quantities.ts";
import { decodeTextStream, oneLine } from "../../core/text.ts";

/** Number of servers that are written in one transaction. */
const BATCH = 500;

/** The formats that `import` reads, for error messages. */
const FORMATS =
  "blocksweep's rows, nmap's or masscan's -oX or -oG, masscan's -oJ, -oL or standard output, naabu's " +
  "JSON lines or CSV, zmap's CSV, CSV with columns of a host and a port, or HOST:PORT (HOST alone " +
  "with --port), also with names";

/** Runs `import`; returns the exit code. */
export async function runImport(call: CommandCall): Promise<number> {
  const { words: [word, ...paths], options } = readCommandLine(
    "import",
    call,
  );
  const { port, quiet, json, allProtocols, tag, columns, ...tables } = options;
  const location = namedLocation(word);
  if (paths.length === 0) {
    throw new InputError(
      "Cannot import: name files after the database, or - for standard input",
    );
  }
  const files = await openAll(paths);
  await using stack = new AsyncDisposableStack();
  let database: Database | undefined;
  // The database is created only after a file could be read, so a failed import leaves no empty
  // one.
  const open = async () =>
    database ??= stack.use(
      await openStore(location, connectionEnvironment(reportLine), tables),
    );
  const total = { changed: 0, new: 0, back: 0, lost: 0 };
  try {
    for (const [i, path] of paths.entries()) {
      const columnOptions = { port, allProtocols, tag, columns };
      const imported = await importFile(open, files[i], path, columnOptions, total);
      if (json) await printResult("import", resultOf(imported));
      else if (!quiet) importLines(imported).forEach(reportLine);
    }
  } finally {
    if (database !== undefined) await summarize(database, total);
  }
  return EXIT.done;
}

/** Stores the event that counts what all files have changed. */
async function summarize(database: Database, total: ImportCounts): Promise<void> {
  await withDatabaseErrors("write to", database, () => writeImportSummary(database, total));
}

/** Opens all files, before anything is written. */
async function openAll(paths: readonly string[]): Promise<ReadableStream<Uint8Array>[]> {
  const files: ReadableStream<Uint8Array>[] = [];
  for (const path of paths) {
    try {
      files.push(await openRowFile(path));
    } catch (error) {
      for (const file of files) await file.cancel();
      throw error;
    }
  }
  return files;
}

/** The invalid lines of a file: their count, and the number of the first. */
interface UnreadLines {
  readonly count: number;
  readonly first: number;
  /** The names in the first, if it may be a head without a column of a host. */
  readonly head?: readonly string[];
  /** Number of lines with a host that has no port, or with a name that has no address. */
  readonly hosts: number;
}

interface ImportedFile {
  readonly path: string;
  /** Servers that were read. */
  readonly found: number;
  /** Servers that were new, or newer than their row in the database. */
  readonly changed: number;
  readonly unread: UnreadLines;
  readonly left: LeftOut;
}

/** What a file contains besides servers, and what is not imported. */
interface LeftOut {
  /** Columns of tables, by name. */
  readonly columns: ReadonlySet<string>;
  /** Number of texts that cannot be tags. */
  tags: number;
}

/** The options of the command that concern the content of files. */
type ImportOptions = Pick<OptionsOf<"import">, "port" | "allProtocols" | "tag" | "columns">;

/** Writes the servers of one file in batches. */
class BatchWriter {
  /** Number of servers that were read. */
  found = 0;
  /** Number of servers that were new, or newer than their row in the database. */
  changed = 0;
  #batch: StoredRecord[] = [];

  /**
   * @param open Opens the database; called once.
   * @param total Counts of all files, to which those of this one are added.
   */
  constructor(
    private readonly open: () => Promise<Database>,
    private readonly options: ImportOptions,
    private readonly total: Total,
  ) {}

  /** Whether a batch waits to be written. */
  get isFull(): boolean {
    return this.#batch.length >= BATCH;
  }

  add(server: StoredRecord): void {
    this.#batch.push(server);
    this.found++;
  }

  /** Writes the servers that are not yet written, if there are any. */
  async writeRest(): Promise<void> {
    if (this.#batch.length > 0) await this.write();
  }

  /** Writes the batch. Even an empty one creates the database. */
  async write(): Promise<void> {
    const database = await this.open();
    const { allProtocols, tag, columns = [] } = this.options;
    const replacesNotes = columns.some(({ role }) => role === "notes");
    const counts = await withDatabaseErrors(
      "write to",
      database,
      () => writeImportedRecords(database, this.#batch, allProtocols, tag, replacesNotes),
    );
    this.changed += counts.changed;
    for (const name of ["changed", "new", "back", "lost"] as const) {
      this.total[name] += counts[name];
    }
    this.#batch = [];
  }
}

/** Counts of an import, which grow. */
type Total = { -readonly [name in keyof ImportCounts]: ImportCounts[name] };

/**
 * Imports a file.
 *
 * @param open Opens the database; called once.
 * @throws InputError when none of its lines can be read.
 */
async function importFile(
  open: () => Promise<Database>,
  file: ReadableStream<Uint8Array>,
  path: string,
  options: ImportOptions,
  total: Total,
): Promise<ImportedFile> {
  const writer = new BatchWriter(open, options, total);
  const left = { columns: new Set<string>(), tags: 0 };
  const unread = await readServers(file, path, options, writer, left).catch(async (error) => {
    if (!(error instanceof XmlError)) throw error;
    await writer.writeRest();
    throw new InputError(
      `Cannot import "${path}": ${error.message}; only the XML of nmap's and masscan's -oX is supported ` +
        `(${countOf(writer.found, "server")} before that line, imported)`,
    );
  });
  if (writer.found === 0 && unread.count + unread.hosts > 0) {
    if (unread.count === 0) throw new InputError(`Cannot import "${path}": ${hostsText(unread)}`);
    if (unread.head !== undefined) {
      throw new InputError(
        `Cannot import "${path}": no column of a host in: ${columnsText(unread.head)}; ` +
          "choose it with --columns host=NAME",
      );
    }
    throw new InputError(
      `Cannot import "${path}": ${unreadText(unread)}; supported are ${FORMATS}`,
    );
  }
  await writer.write();
  const { found, changed } = writer;
  return { path, found, changed, unread, left };
}

function importLines({ path, found, changed, unread, left }: ImportedFile): string[] {
  return [
    `${path}: ${countOf(found, "server")}, ` +
    `${withCommas(changed)} of them new, or newer than their rows`,
    ...(unread.count > 0 ? [`${path}: ignored ${unreadText(unread)}`] : []),
    ...(unread.hosts > 0 ? [`${path}: ignored ${hostsText(unread)}`] : []),
    ...(left.tags > 0
      ? [`${path}: ignored ${countOf(left.tags, "text")} that cannot be a tag`]
      : []),
    ...(left.columns.size > 0
      ? [
        `${path}: ignored the columns ${
          columnsText(left.columns)
        }; see --columns notes=NAME,tags=NAME`,
      ]
      : []),
  ];
}

/** The names of columns: the first ten, and the number of the others. */
function columnsText(columns: Iterable<string>): string {
  const names = [...columns].map((name) => oneLine(name).slice(0, 40));
  const more = names.length - MAX_REPORTED;
  return names.slice(0, MAX_REPORTED).join(", ") + (more > 0 ? ` and ${more} more` : "");
}

function unreadText({ count, first }: UnreadLines): string {
  return `${countOf(count, "line")} that cannot be read, the first in line ${first}`;
}

function hostsText({ hosts }: UnreadLines): string {
  return `${countOf(hosts, "line")} with a host without a port (see --port) or an address`;
}

/** The import of a file as `--json` prints it. */
function resultOf({ path, found, changed, unread, left }: ImportedFile): JsonResult<"import"> {
  return {
    file: path,
    servers: found,
    changed,
    ignored_lines: unread.count,
    first_ignored_line: unread.count > 0 ? unread.first : null,
    ignored_hosts: unread.hosts,
    ignored_columns: [...left.columns],
    ignored_tags: left.tags,
  };
}

/** Lines that are reported one by one, of each file. */
const MAX_REPORTED = 10;

/** Reads the servers of a file, and writes each full batch. Names are looked up. */
async function readServers(
  file: ReadableStream<Uint8Array>,
  path: string,
  { port, allProtocols, columns }: ImportOptions,
  writer: BatchWriter,
  left: { readonly columns: Set<string>; tags: number },
): Promise<UnreadLines> {
  const seenAt = systemClock.wall();
  const unread = new UnreadTally(path);
  const lookups: Lookups = {
    resolve: (name) => resolveName(name, allProtocols),
    findService: serviceFinder(),
    note: () => {},
  };
  const text = decodeTextStream(file);
  let names: {
    readonly number: number;
    readonly name: ImportedName;
    readonly target: TargetText;
  }[] = [];
  const add = (server: ImportedServer) => {
    left.tags += tagTexts(server.row?.tags).filter((one) => !isTag(one)).length;
    writer.add(stored(server, seenAt));
  };
  const onIgnored = (names: readonly string[]) => names.forEach((name) => left.columns.add(name));
  const defaults = { port, seenAt, columns, onIgnored };
  const lookUp = async () => {
    const found = await Promise.allSettled(
      names.map(({ name }) => resolveImportedName(name, { port, seenAt }, lookups)),
    );
    for (const [i, one] of found.entries()) {
      const { row } = names[i].target;
      if (one.status === "fulfilled") add({ ...one.value, row });
      else unread.refuse(names[i].number, one.reason);
    }
    names = [];
  };
  for await (const { number, servers, target } of readForeignFile(text, defaults)) {
    const name = target && nameInLine(target.text);
    if (name !== undefined) names.push({ number, name, target: target! });
    else if (target && parseAddress(target.text) !== undefined) unread.countHost();
    else if (servers === undefined) unread.count(number, target?.text);
    for (const server of servers ?? []) add(server);
    if (names.length >= LOOKUPS_AT_ONCE) await lookUp();
    if (writer.isFull) await writer.write();
  }
  await lookUp();
  return unread.lines;
}

/** Counts the lines of a file that give no server. */
class UnreadTally {
  #count = 0;
  #first = Infinity;
  #refused = 0;
  #hosts = 0;
  #head: readonly string[] | undefined;

  constructor(private readonly path: string) {}

  get lines(): UnreadLines {
    const first = this.#count === 0 ? 0 : this.#first;
    return { count: this.#count, first, head: this.#head, hosts: this.#hosts };
  }

  count(number: number, text?: string): void {
    if (this.#count++ === 0 && text !== undefined) this.#head = namesWithoutHost(text);
    this.#first = Math.min(this.#first, number);
  }

  /** Counts a line that has only an address. */
  countHost(): void {
    this.#hosts++;
  }

  /** Counts a line whose name has no address that may be used, and reports the reason. */
  refuse(number: number, error: unknown): void {
    if (!(error instanceof InputError)) throw error;
    this.#hosts++;
    if (++this.#refused <= MAX_REPORTED) {
      reportLine(`${this.path}: line ${number}: ${error.message}`);
    }
  }
}
