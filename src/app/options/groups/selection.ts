/**
 * Options that select servers of a database.
 *
 * @module
 */
import { SERVER_ORDERS } from "../../../store/queries/orders.ts";
import {
  COLUMN_ROLES,
  FLAG_LIST,
  NETWORK,
  PAST_TIME,
  PROTOCOL_LIST,
  TAG,
} from "../domain_value_types.ts";
import type { OptionGroup } from "../option.ts";
import { anyText, COUNT, keyOf, listType, someOf, wholeNumberType } from "../value_types.ts";

/** Options that select servers of a database. */
export const SELECTION = {
  title: "Selection",
  options: [
    { name: "online", commands: ["servers", "export"], help: "only servers that are online" },
    { name: "offline", commands: ["servers", "export"], help: "only servers that are offline" },
    {
      name: "software",
      commands: ["servers", "export"],
      takes: anyText("TEXT"),
      help: "only servers whose software contains this text",
    },
    {
      name: "confidence",
      commands: ["servers", "export"],
      takes: someOf(["A", "B", "C"]),
      help: "only servers whose software is known with this confidence: A, B or C",
    },
    {
      name: "edition",
      commands: ["servers", "export"],
      takes: someOf(["bedrock", "education", "pocket", "java"]),
      help: "only servers of one of these editions: bedrock, education, pocket, java",
    },
    {
      name: "protocol",
      commands: ["servers", "export"],
      takes: PROTOCOL_LIST,
      help: "only servers that replied in one of these protocols, with commas between them",
    },
    {
      name: "no-aliases",
      commands: ["servers", "export"],
      help: "leave out rows with a value in alias_of, so that each server has one row",
    },
    {
      name: "no-group",
      commands: ["servers"],
      help: "a row for each endpoint in the table, also for those that certainly are one server",
    },
    {
      name: "game-version",
      commands: ["servers", "export"],
      takes: anyText("TEXT"),
      help: "only servers of a game version; 1.21 includes 1.21.50",
    },
    {
      name: "port",
      commands: ["servers", "export"],
      takes: listType(wholeNumberType(1, 65535)),
      help: "only servers with one of these ports, such as 19132,25565",
    },
    {
      name: "network",
      commands: ["servers", "export"],
      takes: listType(NETWORK),
      help: "only servers whose address is in one of these networks, such as 192.0.2.0/24",
    },
    {
      name: "min-players",
      commands: ["servers", "export"],
      takes: wholeNumberType(0, 1e9),
      help: "only servers with at least this many players",
    },
    {
      name: "max-players",
      commands: ["servers", "export"],
      takes: wholeNumberType(0, 1e9),
      help: "only servers with at most this many players",
    },
    {
      name: "text",
      commands: ["servers", "export"],
      takes: anyText("TEXT"),
      help: "only servers whose name, MOTD, map or software contains this text",
    },
    {
      name: "flag",
      commands: ["servers", "export"],
      takes: FLAG_LIST,
      help: "only servers with one of these flags in their last reply",
    },
    {
      name: "tag",
      commands: ["servers", "export"],
      takes: TAG,
      repeat: true,
      help: "only servers with this tag, or with one of several",
    },
    {
      name: "since",
      commands: ["servers", "export"],
      takes: PAST_TIME,
      help:
        "only servers that changed in the last 90m, 24h or 7d, or since a date or a Unix time in ms",
    },
    {
      name: "sort",
      commands: ["servers", "export"],
      takes: keyOf(SERVER_ORDERS),
      default: { servers: "players" },
      defaultText: { export: "see below" },
      help:
        "order: players, average (players of the last day), new (newest server first), changed (latest change first), name, " +
        "version, address, latency or seen (last probe first); with -reversed, such as " +
        "new-reversed, in the other direction",
    },
    {
      name: "limit",
      commands: ["servers", "export", "report", "history", "scans"],
      takes: COUNT,
      default: { servers: "100", report: "50000", history: "50", scans: "50" },
      help: "maximum number of rows",
    },
    {
      name: "after",
      commands: ["servers", "export"],
      takes: anyText("SERVER"),
      help: "begin after this server, such as the last one of the page before",
    },
    {
      name: "port",
      commands: ["import"],
      takes: wholeNumberType(1, 65535),
      help: "the port for hosts without a port in the file",
    },
    {
      name: "columns",
      commands: ["import"],
      takes: COLUMN_ROLES,
      help:
        "columns of CSV files by their names or numbers: host=NAME, port=NAME, notes=NAME and " +
        "tags=NAME, with commas between them; those of host and port are otherwise found by their names",
    },
  ],
} as const satisfies OptionGroup;
