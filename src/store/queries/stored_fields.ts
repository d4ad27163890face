/**
 * The columns of servers in databases: those of a scan's record, and their state.
 *
 * @module
 */
import { type Field, FIELDS } from "../../core/record.ts";

/** Columns of a stored record after those of a scan's record. `seen_at` is the time of the last reply there. */
export const STATE_FIELDS = [
  {
    name: "online",
    type: "boolean",
    nullable: false,
    meaning: "whether the server counts as online",
  },
  {
    name: "missed_scans",
    type: "integer",
    nullable: false,
    meaning: "scans in a row that probed the server without a reply",
  },
  {
    name: "first_seen",
    type: "integer",
    nullable: false,
    meaning: "when the server was first found or imported",
  },
  {
    name: "probed_at",
    type: "integer",
    nullable: false,
    meaning: "when the server was last probed, with or without a reply",
  },
  {
    name: "changed_at",
    type: "integer",
    nullable: false,
    meaning:
      "when the database recorded the last change of what the server publishes, or that it " +
      "went online or offline",
  },
  {
    name: "players_at",
    type: "integer",
    nullable: true,
    meaning: "when the server published the names in `players`",
  },
  {
    name: "uptime_30d",
    type: "number",
    nullable: true,
    meaning:
      "share of the watched time of the last 30 complete days in which the server was online; of " +
      "the hours of today so far, if the server was not watched in these days",
  },
  {
    name: "uptime_watched",
    type: "number",
    nullable: true,
    meaning:
      "share of the time of `uptime_30d` in which the server was watched, 0 to 1: of the 30 days up to " +
      "its end, or since `first_seen` if that is later; unknown: not watched",
  },
  {
    name: "tags",
    type: "names",
    nullable: false,
    meaning: "tags that users gave to the server",
  },
  {
    name: "notes",
    type: "text",
    nullable: true,
    meaning: "notes of users on the server, such as the title in an imported list",
  },
  {
    name: "player_flags",
    type: "facts",
    nullable: true,
    meaning:
      "the flags by which the number of players cannot be believed: for each one since when (`since`, Unix " +
      "milliseconds), and the values by which its rule decided",
  },
] as unknown as readonly Field[];

/** Fields of a server of a database, in the order of columns. */
export const STORED_FIELDS: readonly Field[] = [...FIELDS, ...STATE_FIELDS];
