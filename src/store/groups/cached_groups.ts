/**
 * Keeps the groups of a database: rows that certainly belong to one server.
 *
 * @module
 */
import type { Database } from "../database/database.ts";
import type { GroupMember, ServerGroup } from "./group_rules.ts";
import { type PairVerdicts, readGroups, type ServerGroups } from "./read_groups.ts";

/** The other rows of a server. */
export interface OtherRows {
  /** The best known of them, at most 20. */
  readonly members: readonly GroupMember[];
  /** Number of all of them. */
  readonly count: number;
}

/** How long groups are kept: at least this time, and this multiple of the time to read them. */
const [KEPT_MS, KEPT_TIMES] = [10_000, 100];
/** For how long numbers of players are read at once, milliseconds. */
const BUDGET_MS = 200;
/** Maximum number of rows of a group that are named. */
const NAMED = 20;

/** The groups of a database. They are read again after some time, less often if reading takes long. */
export class CachedGroups {
  #groups: ServerGroups = new Map();
  #validUntil = -Infinity;
  readonly #verdicts: PairVerdicts = new Map();

  async read(database: Database): Promise<ServerGroups> {
    const now = performance.now();
    if (now < this.#validUntil) return this.#groups;
    this.#groups = await readGroups(database, this.#verdicts, BUDGET_MS);
    const end = performance.now();
    this.#validUntil = end + Math.max(KEPT_MS, KEPT_TIMES * (end - now));
    return this.#groups;
  }
}

/** The members of groups that are not shown: all that match but the first of each group. */
export function hiddenMembers(
  groups: ServerGroups,
  isMatch: (id: number) => boolean,
): ReadonlySet<number> {
  const hidden = new Set<number>();
  for (const group of new Set(groups.values())) {
    let isShown = false;
    for (const { id } of group) {
      if (!isMatch(id)) continue;
      if (isShown) hidden.add(id);
      isShown = true;
    }
  }
  return hidden;
}

/** The rows of a group beside one of them; null without a group. */
export function othersOf(group: ServerGroup | undefined, own: number): OtherRows | null {
  if (group === undefined) return null;
  const members = group.slice(0, NAMED + 1).filter(({ id }) => id !== own).slice(0, NAMED);
  return { members, count: group.length - 1 };
}
