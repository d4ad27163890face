/**
 * The rows of groups that lists show, do not show, and name beside others.
 *
 * @module
 */
import type { GroupMember, ServerGroup } from "./group_rules.ts";
import type { ServerGroups } from "./read_groups.ts";

/** The other rows of a server. */
export interface OtherRows {
  /** The best known of them, at most 20. */
  readonly members: readonly GroupMember[];
  /** Number of all of them. */
  readonly count: number;
}

/** Maximum number of rows of a group that are named. */
const NAMED = 20;

/**
 * The members of groups that are not shown: all that match but the first of each group.
 *
 * @param valueOf If given, the first with each value is shown.
 */
export function hiddenMembers(
  groups: ServerGroups,
  isMatch: (id: number) => boolean,
  valueOf: (id: number) => number = () => 0,
): ReadonlySet<number> {
  const hidden = new Set<number>();
  for (const group of new Set(groups.values())) {
    const shown = new Set<number>();
    for (const { id } of group) {
      if (!isMatch(id)) continue;
      const value = valueOf(id);
      if (shown.has(value)) hidden.add(id);
      shown.add(value);
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
