/**
 * Answers questions about all servers from a server index, and keeps the last answers.
 *
 * @module
 */
import type { MatchIndex, SearchedList, ServerGroups } from "../../store/mod.ts";
import type { DashboardFilters, Facets, MapCells } from "../queries/dashboard_data.ts";
import type { FacetName } from "../queries/schemas.ts";
import { columnOf, countFacets, countMatches, type MatchCounts } from "./facets.ts";
import { countCells, type ServerMapQuery } from "./map_cells.ts";
import { FAILED, type FoundIds, match, type Matches } from "./match.ts";
import { SERVER_BITS, type ServerIndexMemory, ServerIndexReader } from "./server_index.ts";

/** Number of values of filters for which found servers are kept. */
const KEPT_FOUND = 16;
/** Number of filters whose matches are kept: two bytes a server for each. */
const KEPT = 4;
/** How often an answer is computed again if the server index was written meanwhile. */
const ATTEMPTS = 3;
const MINUTE_MS = 60_000;

/** What is kept for filters. */
interface Kept {
  readonly revision: number;
  /** The memory of {@linkcode Kept.matches}. */
  readonly memory: Uint16Array;
  readonly matches: Matches;
  counts?: MatchCounts;
  facets?: Facets;
  hidden?: { readonly groups: ServerGroups; readonly ids: ReadonlySet<number> };
  grouped?: { readonly groups: ServerGroups; readonly facets: Facets };
}

/** Finds the rows of groups that are not shown, among those that match; with `valueOf` those of each value. */
type FindHidden = (
  groups: ServerGroups,
  isMatch: (id: number) => boolean,
  valueOf?: (id: number) => number,
) => ReadonlySet<number>;

export interface AllCounts extends MatchCounts {
  /** Servers that were last probed before a time. */
  readonly stale: number;
}

function foundKey(name: keyof FoundIds, filters: DashboardFilters): string {
  return JSON.stringify([name, filters[name], name === "scan" && filters.saw]);
}

/** A server index, and the last answers. */
export class CachedServerIndex {
  readonly #reader: ServerIndexReader;
  readonly #kept = new Map<string, Kept>();
  readonly #found = new Map<string, readonly number[]>();

  constructor(memory: ServerIndexMemory) {
    this.#reader = new ServerIndexReader(memory);
  }

  /** The identity of the database. */
  get identity(): string {
    return this.#reader.memory.identity;
  }

  /** When the newest reply arrived, Unix milliseconds; null: none did. */
  get newestReplyAt(): number | null {
    return this.#reader.newestReplyAt;
  }

  /** The `servers.id` of the servers of whose texts the server index has only a part. */
  get cutIds(): number[] {
    const { count, columns: { bits } } = this.#reader;
    return this.#idsWith(
      count,
      (row) => (bits[row] & (SERVER_BITS.cut | SERVER_BITS.removed)) === SERVER_BITS.cut,
    );
  }

  /** The `servers.id` of the servers that list mods or plugins. */
  idsListing(list: SearchedList): number[] {
    const { count, columns: { bits } } = this.#reader;
    const bit = SERVER_BITS[list];
    return this.#idsWith(count, (row) => (bits[row] & (bit | SERVER_BITS.removed)) === bit);
  }

  /**
   * Sets the servers that the database finds for the value of a filter: for texts, {@linkcode cutIds} that
   * contain them; for what the server index does not have, all.
   */
  addFound(name: keyof FoundIds, filters: DashboardFilters, ids: readonly number[]): void {
    const key = foundKey(name, filters);
    const last = this.#found.get(key) ?? [];
    if (last.length !== ids.length || last.some((id, i) => id !== ids[i])) this.#kept.clear();
    this.#found.delete(key);
    const [oldest] = this.#found.keys();
    if (this.#found.size >= KEPT_FOUND) this.#found.delete(oldest);
    this.#found.set(key, ids);
  }

  /** The number of servers that filters match, and of those that are online. */
  counts(filters: DashboardFilters): MatchCounts {
    const kept = this.#keptFor(filters);
    return kept.counts ??= countMatches(this.#reader, kept.matches);
  }

  /** The facets of the servers that filters match. Each row is a server. */
  facets(filters: DashboardFilters): Facets {
    const kept = this.#keptFor(filters);
    return kept.facets ??= this.#steady(() => countFacets(this.#reader, kept.matches));
  }

  /**
   * The facets of the servers that filters match. The rows of a server count once in all, and once for each
   * value of a facet.
   *
   * @param groups Rows that belong to one server.
   * @param find Finds the rows of groups that are not counted.
   */
  facetsOfGroups(filters: DashboardFilters, groups: ServerGroups, find: FindHidden): Facets {
    const kept = this.#keptFor(filters);
    if (kept.grouped?.groups === groups) return kept.grouped.facets;
    const { matches: { count, failed } } = kept;
    const slotOf = (id: number) => this.#reader.slotOf(id);
    const hiddenFor = (name?: FacetName) => {
      const own = name === undefined ? 0 : FAILED[name];
      const isMatch = (id: number) => {
        const slot = slotOf(id);
        return slot >= 0 && slot < count && (failed[slot] & ~own) === 0;
      };
      const codes = name === undefined ? undefined : this.#reader.columns[columnOf(name)];
      const valueOf = codes && ((id: number) => codes[slotOf(id)]);
      return [...find(groups, isMatch, valueOf)].map(slotOf);
    };
    const facets = this.#steady(() => countFacets(this.#reader, kept.matches, hiddenFor));
    kept.grouped = { groups, facets };
    return facets;
  }

  cells(query: ServerMapQuery, now: number): MapCells {
    const { matches } = this.#keptFor(query.filters);
    return this.#steady(() => countCells(this.#reader, matches, query, now));
  }

  /** The servers that filters match, as an index for pages. */
  matchIndex(filters: DashboardFilters): MatchIndex {
    const { matches: { count, failed, few } } = this.#keptFor(filters);
    return {
      count: this.counts(filters).servers,
      all: this.counts({}).servers,
      has: (id) => {
        const row = this.#reader.slotOf(id);
        return row >= 0 && row < count && failed[row] === 0;
      },
      ids: () => this.#idsWith(count, (row) => failed[row] === 0, few),
    };
  }

  /** What a function finds in groups and the servers that filters match. */
  hidden(
    filters: DashboardFilters,
    groups: ServerGroups,
    find: FindHidden,
  ): ReadonlySet<number> {
    const kept = this.#keptFor(filters);
    if (kept.hidden?.groups !== groups) {
      kept.hidden = { groups, ids: find(groups, this.matchIndex(filters).has) };
    }
    return kept.hidden.ids;
  }

  /** The `servers.id` of the servers that are aliases of an endpoint, `host:port`. */
  aliasesOf(endpoint: string): number[] {
    const { count, columns: { alias, bits }, dictionaries } = this.#reader;
    const wanted = dictionaries.alias.codesWith((text) => text === endpoint);
    return this.#idsWith(
      count,
      (row) => wanted[alias[row]] === 1 && !(bits[row] & SERVER_BITS.removed),
    );
  }

  all(staleBefore: number): AllCounts {
    const counts = this.counts({});
    const { count, columns: { bits, probedMinute } } = this.#reader;
    const minute = Math.floor(staleBefore / MINUTE_MS);
    let stale = 0;
    for (let i = 0; i < count; i++) {
      if (!(bits[i] & SERVER_BITS.removed) && probedMinute[i] < minute) stale++;
    }
    return { ...counts, stale };
  }

  /** The `servers.id` of the rows that fulfil a condition, among the first `count` or among `few`. */
  #idsWith(count: number, condition: (row: number) => boolean, few?: Uint32Array): number[] {
    const ids: number[] = [];
    const { id } = this.#reader.columns;
    const length = few?.length ?? count;
    for (let k = 0; k < length; k++) {
      const row = few === undefined ? k : few[k];
      if (condition(row)) ids.push(id[row]);
    }
    return ids;
  }

  #keptFor(filters: DashboardFilters): Kept {
    const key = JSON.stringify(filters, Object.keys(filters).sort());
    const kept = this.#kept.get(key);
    this.#kept.delete(key);
    const current = kept?.revision === this.#reader.revision
      ? kept
      : this.#match(filters, kept?.memory ?? this.#freeMemory());
    this.#kept.set(key, current);
    return current;
  }

  /** Memory for matches: that of the oldest ones, if enough are kept. New memory is freed late. */
  #freeMemory(): Uint16Array {
    const [oldest] = this.#kept;
    if (this.#kept.size < KEPT) return new Uint16Array(this.#reader.memory.capacity);
    this.#kept.delete(oldest[0]);
    return oldest[1].memory;
  }

  #match(filters: DashboardFilters, memory: Uint16Array): Kept {
    return this.#steady(() => {
      const { revision } = this.#reader;
      const foundFor = (name: keyof FoundIds) => this.#found.get(foundKey(name, filters)) ?? [];
      const found = {
        text: foundFor("text"),
        tag: foundFor("tag"),
        named: foundFor("named"),
        mods: foundFor("mods"),
        plugins: foundFor("plugins"),
        scan: foundFor("scan"),
      };
      return { revision, memory, matches: match(this.#reader, filters, found, memory) };
    });
  }

  /**
   * Computes again if the server index was written meanwhile: its values may have belonged to two
   * states.
   */
  #steady<T>(work: () => T): T {
    for (let attempt = 1;; attempt++) {
      const { revision } = this.#reader;
      const result = work();
      const isSteady = revision % 2 === 0 && this.#reader.revision === revision;
      if (isSteady || attempt === ATTEMPTS) return result;
    }
  }
}
