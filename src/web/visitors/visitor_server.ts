/**
 * What visitors see of a server. Names of players, notes, flags, raw replies and the values of the operator are no
 * part of it.
 *
 * @module
 */
import { modsOf } from "../components/server_facts.tsx";
import { stateOf } from "../components/server_cells.tsx";
import { countText } from "../components/quantities.ts";
import { editionName, nameOf } from "../components/texts.tsx";
import type { ListedServer } from "../queries/schemas.ts";

/** The columns of a server that visitors see. */
export type VisitorServer = Pick<
  ListedServer,
  | "id"
  | "key"
  | "host"
  | "port"
  | "name"
  | "motd"
  | "edition"
  | "version"
  | "software"
  | "gamemode"
  | "map"
  | "plugins"
  | "extras"
  | "players_online"
  | "players_max"
  | "player_flags"
  | "online"
  | "seen_at"
  | "probed_at"
  | "favicon_hash"
  | "has_icon"
  | "country"
  | "tags"
>;

/** A number of players; undefined: the server is offline, or publishes none. */
export interface VisitorCount {
  readonly players: number;
  /** null: unknown. */
  readonly slots: number | null;
  /** Whether the number cannot be believed: it is above the slots, or a rule flags it. */
  readonly isDoubtful: boolean;
}

/** The number of players of a server now. */
export function playerCount(
  { players_online: players, players_max: max, player_flags: flags, ...state }: VisitorServer,
  now: number,
): VisitorCount | undefined {
  if (stateOf(state, now) !== "online" || players === null) return undefined;
  const slots = max === null || max <= 0 ? null : max;
  const isDoubtful = slots !== null && players > slots || Object.keys(flags ?? {}).length > 0;
  return { players, slots, isDoubtful };
}

/** A server in a line of text: `Sky Realm, 12/100 players, java 1.21`. */
export function titleOf(server: VisitorServer, now: number): string {
  const count = playerCount(server, now);
  const players = count === undefined
    ? stateOf(server, now)
    : `${countText(count.players)}${
      count.slots === null ? "" : `/${countText(count.slots)}`
    } players`;
  const game = [editionName(server.edition), server.version].filter((one) => one).join(" ");
  return [nameOf(server), players, game].filter((part) => part !== "").join(", ");
}

/** Whether a server lists mods. */
export function hasMods(server: VisitorServer): boolean {
  return modsOf(server).length > 0;
}
