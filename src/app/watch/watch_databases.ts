/**
 * Databases that a watch reads and keeps up to date.
 *
 * @module
 */
import { InputError } from "../../core/errors.ts";
import type { Clock } from "../../net/clock.ts";
import { type Database, StoreError, Unavailable } from "../../store/database/database.ts";
import {
  lastServerId,
  openExisting,
  type OpenOptions,
  openStore,
  readOptOuts,
  type ScanNumbers,
  Store,
  UnconfirmedEvents,
  type WatchSpan,
  withDatabaseErrors,
  writePolls,
  writeSpans,
} from "../../store/mod.ts";
import { Journal, type WatchRules } from "../../watch/mod.ts";
import type { WatchEvent } from "../../store/events/watch_event.ts";
import { type DatabaseLocation, parseDatabaseLocation } from "../../store/database_location.ts";
import type { Range } from "../../targets/ranges.ts";
import { type Interrupt, Interrupted } from "../interrupt_signals.ts";
import type { OptionsOf } from "../options/option_table.ts";
import { connectionEnvironment } from "../options/connection_environment.ts";
import { checkFile, type FileChange, fileChangeOf } from "../databases/file_change.ts";
import { countOf } from "../../core/quantities.ts";

/** How long the end of a watch waits for an unavailable database, milliseconds. */
const CLOSE_TIMEOUT_MS = 10_000;

/** Wait for a database that another program has locked. After this time the write is tried again later. */
const BUSY_MS = 250;

/** How long the connection that reads events for a webhook waits for a locked file: it delays no poll. */
const FEED_BUSY_MS = 3000;

/**
 * Opens a database, and waits while another program has it locked.
 *
 * @throws Interrupted if an interruption ends the wait; otherwise the errors of `open`.
 */
async function openFree(
  open: typeof openExisting | typeof openStore,
  location: DatabaseLocation,
  { warn, listenForInterrupt }: DatabaseContext,
  options: OpenOptions,
): Promise<Database> {
  using interrupt = listenForInterrupt();
  const { signal } = interrupt;
  const lockWait = { signal, report: (line: string) => warn(`blocksweep: ${line}`) };
  try {
    return await open(location, connectionEnvironment(warn), { ...options, lockWait });
  } catch (error) {
    throw signal.aborted ? new Interrupted() : error;
  }
}

/** What the databases of a watch use besides its options. */
export interface DatabaseContext {
  /** Receives a line for each failure. */
  readonly warn: (line: string) => void;
  /** Begins to listen for an interruption, which ends the wait for a locked database. */
  readonly listenForInterrupt: () => Interrupt;
  /** The clock of writes. */
  readonly clock: Clock;
}

/** The arguments and options of a watch that concern databases. */
export type NamedDatabases =
  & Pick<OptionsOf<"watch">, "output" | "protocol" | "textIndex" | "partitionByMonth" | "tag">
  & {
    /** Arguments, some of which name databases to watch. */
    readonly words: readonly string[];
    /** Whether the spans of the watch are written, in which its polls count for uptime. Default: yes. */
    readonly writesSpans?: boolean;
  };

/** The databases of a watch: those whose servers are watched, and those that only store results. */
export class WatchDatabases implements AsyncDisposable {
  readonly #all: Database[] = [];
  readonly #journals: Journal[] = [];
  readonly #fileChanges: FileChange[] = [];
  /** Reads the numbers of the watch, which databases get with its heartbeat. */
  numbers: () => ScanNumbers = () => ({ probesSent: 0, replies: 0, found: 0 });
  /** Receives the events that the first database decided to report, and whether it has stored them. */
  onEvent: (event: WatchEvent, isStored: boolean) => void = () => {};

  private constructor(
    /** Paths or URLs of the databases; the watched ones come first. */
    readonly locations: readonly DatabaseLocation[],
    /** Number of watched databases. */
    private readonly watched: number,
    private readonly rules: WatchRules,
    private readonly context: DatabaseContext,
    private readonly options: OpenOptions & {
      readonly tags: readonly string[];
      readonly writesSpans: boolean;
    },
  ) {}

  /** The databases whose servers are watched. */
  get sources(): readonly Database[] {
    return this.#all.slice(0, this.watched);
  }

  /** The last id of the servers in each watched database. */
  async lastIds(): Promise<Map<Database, number>> {
    const ids = new Map<Database, number>();
    for (const database of this.sources) {
      ids.set(database, await withDatabaseErrors("read", database, () => lastServerId(database)));
    }
    return ids;
  }

  /** Whether a database decides which events are reported. */
  get decideEvents(): boolean {
    return this.#all.length > 0;
  }

  /** The journals that keep the open databases up to date. */
  get journals(): readonly Journal[] {
    return this.#journals;
  }

  /**
   * Opens the databases among the arguments. They must exist.
   *
   * @throws InputError for the first that cannot be used, and for outputs that are not databases;
   * Interrupted.
   */
  static async open(
    named: NamedDatabases,
    rules: WatchRules,
    context: DatabaseContext,
  ): Promise<WatchDatabases> {
    const { output: outputs, textIndex, partitionByMonth, tag: tags, writesSpans = true } = named;
    const options = { busyMs: BUSY_MS, textIndex, partitionByMonth, tags, writesSpans };
    const wrong = outputs.find((text) => parseDatabaseLocation(text) === undefined);
    if (wrong !== undefined) {
      throw new InputError(
        `Cannot write to "${wrong}": -o needs a database, for example servers.db; events go to standard output`,
      );
    }
    const words = [
      ...new Set(named.words.filter((word) => parseDatabaseLocation(word) !== undefined)),
    ];
    if (words.length > 0 && named.protocol !== undefined) {
      throw new InputError(
        "Cannot use --protocol with a database: each of its servers is polled in its known protocols",
      );
    }
    const texts = [...new Set([...words, ...outputs])];
    const locations = texts.map((text) => parseDatabaseLocation(text)!);
    await using stack = new AsyncDisposableStack();
    const lists = stack.use(new WatchDatabases(locations, words.length, rules, context, options));
    for (const location of locations.slice(0, words.length)) {
      await lists.#add(location, await openFree(openExisting, location, context, options));
    }
    stack.move();
    return lists;
  }

  /**
   * Opens the databases of `--output`. Missing ones are created.
   *
   * @throws InputError for the first that cannot be used.
   */
  async openOutputs(): Promise<void> {
    for (const location of this.locations.slice(this.watched)) {
      await this.#add(location, await openFree(openStore, location, this.context, this.options));
    }
  }

  /** Takes ownership of an open database. */
  async #add(location: DatabaseLocation, database: Database): Promise<void> {
    this.#all.push(database);
    const fileChange = await fileChangeOf(location);
    this.#fileChanges.push(fileChange);
    const writing = <T>(work: () => Promise<T>) =>
      withDatabaseErrors("write to", database, async () => {
        await checkFile(fileChange);
        return await work();
      });
    const { tags, writesSpans } = this.options;
    const rules = { ...this.rules, tags, unconfirmed: new UnconfirmedEvents() };
    this.#journals.push(
      new Journal({
        name: database.name,
        scanId: this.rules.scanId,
        clock: this.context.clock,
        report: (line) => this.context.warn(`blocksweep: ${line}`),
        write: (polls) => writing(() => writePolls(database, polls, rules)),
        ...(writesSpans && {
          writeSpans: (spans: readonly WatchSpan[]) =>
            writing(() =>
              database.transaction(() => writeSpans(database, this.rules.scanId, spans))
            ),
        }),
        writeHeartbeat: () =>
          writing(() => new Store(database).progress({ id: this.rules.scanId, ...this.numbers() })),
        ...(this.#all.length === 1 && {
          onEvent: (event: WatchEvent, isStored: boolean) => this.onEvent(event, isStored),
        }),
      }),
    );
  }

  /** Opens the first database over another connection; `undefined`: the watch has none. */
  async openFirstAgain(): Promise<Database | undefined> {
    const [first] = this.locations;
    return first && await openFree(openExisting, first, this.context, { busyMs: FEED_BUSY_MS });
  }

  /** The addresses that the open databases mark as opted out. */
  async optedOut(): Promise<Range[]> {
    const ranges: Range[] = [];
    for (const database of this.#all) {
      ranges.push(...await withDatabaseErrors("read", database, () => readOptOuts(database)));
    }
    return ranges;
  }

  /**
   * Records the start of the watch in each database; in an unavailable one, later.
   *
   * @param config The options of the watch, without secrets, as JSON.
   * @throws StoreError for the first that refuses it.
   */
  async begin(config: string): Promise<void> {
    const { scanId: id } = this.rules;
    const at = this.context.clock.wall();
    for (const [i, database] of this.#all.entries()) {
      const note = () => new Store(database).begin({ id, kind: "watch", at, config });
      let refusal: unknown;
      await this.journals[i].begin(() =>
        note().catch((error) => {
          if (!(error.cause instanceof Unavailable)) refusal = error;
          throw error;
        })
      );
      if (refusal !== undefined) throw refusal;
    }
  }

  /**
   * Writes pending results, and records the end of the watch.
   *
   * @returns Lines about failures, for the user.
   */
  async end(): Promise<string[]> {
    const { scanId: id, downAfter } = this.rules;
    const failures: string[] = [];
    for (const [i, database] of this.#all.entries()) {
      const journal = this.journals[i];
      await journal.close(CLOSE_TIMEOUT_MS);
      if (journal.lost > 0) {
        failures.push(`blocksweep: ${database.name}: lost ${countOf(journal.lost, "observation")}`);
      }
      if (journal.failing && journal.lost > 0) continue;
      try {
        await withDatabaseErrors("write to", database, () => checkFile(this.#fileChanges[i]));
        await new Store(database).end({
          id,
          since: 0,
          at: this.context.clock.wall(),
          state: "finished",
          downAfter,
          ...this.numbers(),
        });
      } catch (error) {
        if (!(error instanceof StoreError)) throw error;
        failures.push(`blocksweep: ${error.message}`); // the other databases still have to record the end
      }
    }
    return failures;
  }

  /** Closes all databases of the watch. */
  async [Symbol.asyncDispose](): Promise<void> {
    for (const journal of this.#journals) journal.stop();
    for (const database of this.#all) await database[Symbol.asyncDispose]();
  }
}
