/**
 * Options of outputs.
 *
 * @module
 */
import { withoutPassword } from "../connection_environment.ts";
import { GEOIP_FIELDS } from "../../geoip/geoip_fields.ts";
import { OUTPUT_FORMATS } from "../../outputs/output_formats.ts";
import { ROW_ORDERS } from "../../outputs/sorting_sink.ts";
import { DEFAULTS } from "../../settings/defaults.ts";
import { FIELDS } from "../../../core/record.ts";
import { STORED_FIELDS } from "../../../store/queries/stored_fields.ts";
import { columnList, EVENT_POSITION, TAG } from "../domain_value_types.ts";
import type { OptionGroup } from "../option.ts";
import { AGE, AGE_OR_NONE, FILE, keyOf, wholeNumberType, WRITTEN_FILE } from "../value_types.ts";

/** The files with countries and operators of addresses. */
export const GEOIP_OPTION = { name: "geoip", takes: FILE, repeat: true } as const;

const BY_SUFFIX = "by the suffix of the file";

const FORMAT_OPTION = {
  name: "format",
  takes: keyOf(OUTPUT_FORMATS),
  help: "format of the rows: csv, csv-text, ndjson, json, hostport, grep or table",
} as const;

const APPEND_OPTION = {
  name: "append",
  help: "append to the files instead of truncating them",
} as const;

const FIELDS_OPTION = {
  name: "fields",
  short: "f",
  help: "names of the columns to write, such as host,port,name; see blocksweep schema",
} as const;

const DATABASE_OUTPUTS =
  "write rows to a file (.csv .ndjson .json .txt), a database (.db, postgres:) or - (stdout)";

const TAG_OPTION = {
  name: "tag",
  takes: TAG,
  repeat: true,
  help: "add this tag to the servers that reply, or are imported, in the databases",
} as const;

const KEEP_OPTION = {
  name: "keep",
  takes: AGE,
  help: "keep all observations up to this age, such as 90d, and only some of the older ones",
} as const;

const TEXT_INDEX_OPTION = {
  name: "text-index",
  help: "create an index in the databases for the command servers --text; see docs/database.md",
} as const;

const PARTITION_OPTION = {
  name: "partition-by-month",
  help: "in a new PostgreSQL database, partition observations by month",
} as const;

/** Options that choose the outputs and their content. */
export const OUTPUT = {
  title: "Output",
  options: [
    {
      name: "output",
      short: "o",
      commands: ["scan", "export"],
      takes: WRITTEN_FILE,
      repeat: true,
      withoutSecrets: withoutPassword,
      help: DATABASE_OUTPUTS,
    },
    {
      name: "output",
      short: "o",
      commands: ["contact-page"],
      takes: WRITTEN_FILE,
      default: "-",
      help: "the file to write, such as index.html, or - (stdout)",
    },
    {
      name: "output",
      short: "o",
      commands: ["report"],
      takes: WRITTEN_FILE,
      help: "the file to write, such as report.html, or - (stdout)",
    },
    {
      name: "output",
      short: "o",
      commands: ["diff"],
      takes: WRITTEN_FILE,
      help: "write to a file (.csv .ndjson), and print the counts",
    },
    {
      name: "output",
      short: "o",
      commands: ["lan"],
      forPrograms: false,
      takes: WRITTEN_FILE,
      repeat: true,
      withoutSecrets: withoutPassword,
      help: DATABASE_OUTPUTS,
    },
    {
      name: "output",
      short: "o",
      commands: ["query"],
      forPrograms: false,
      takes: WRITTEN_FILE,
      repeat: true,
      help: "write rows to a file (.csv .ndjson .json .txt) or - (stdout)",
    },
    {
      ...FORMAT_OPTION,
      commands: ["scan", "servers", "export"],
      defaultText: {
        scan: BY_SUFFIX,
        servers: "table, or ndjson in a pipe",
        export: BY_SUFFIX,
      },
    },
    {
      ...FORMAT_OPTION,
      commands: ["query", "lan"],
      forPrograms: false,
      defaultText: BY_SUFFIX,
    },
    {
      name: "oD",
      commands: ["scan", "query", "lan", "export"],
      forPrograms: false,
      takes: WRITTEN_FILE,
      repeat: true,
      help: "write NDJSON to a file (as masscan does)",
    },
    {
      name: "oJ",
      commands: ["scan", "query", "lan", "export"],
      forPrograms: false,
      takes: WRITTEN_FILE,
      repeat: true,
      help: "write a JSON array to a file (as masscan does)",
    },
    {
      name: "oG",
      commands: ["scan", "query", "lan", "export"],
      forPrograms: false,
      takes: WRITTEN_FILE,
      repeat: true,
      help: "write grepable lines to a file (as nmap and masscan do)",
    },
    {
      name: "oL",
      commands: ["scan", "query", "lan", "export"],
      forPrograms: false,
      takes: WRITTEN_FILE,
      repeat: true,
      help: "write host:port lines to a file",
    },
    { ...APPEND_OPTION, commands: ["scan", "export"] },
    { ...APPEND_OPTION, commands: ["query", "lan"], forPrograms: false },
    { ...FIELDS_OPTION, commands: ["scan"], takes: columnList(FIELDS) },
    {
      ...FIELDS_OPTION,
      commands: ["query", "lan"],
      forPrograms: false,
      takes: columnList(FIELDS),
    },
    {
      ...FIELDS_OPTION,
      commands: ["servers", "export"],
      takes: columnList([...STORED_FIELDS, ...GEOIP_FIELDS]),
    },
    {
      ...GEOIP_OPTION,
      commands: ["servers", "export"],
      help: "a MaxMind DB file (.mmdb): add the columns country, asn and operator",
    },
    {
      ...GEOIP_OPTION,
      commands: ["history"],
      help: "a MaxMind DB file (.mmdb), for the words country: and operator:",
    },
    {
      ...GEOIP_OPTION,
      commands: ["report"],
      help: "a MaxMind DB file (.mmdb): show the countries or operators of addresses",
    },
    {
      name: "sort",
      commands: ["scan"],
      forPrograms: false,
      takes: keyOf(ROW_ORDERS),
      help: "print the table at the end of the scan, ordered by address, players or name",
    },
    {
      name: "down-after",
      commands: ["scan", "campaign collect"],
      takes: wholeNumberType(1, 1000),
      default: `${DEFAULTS.scan.downAfter}`,
      help:
        "number of scans in a row without a reply after which a server counts as offline, or a " +
        "protocol is removed from the server's row",
    },
    { ...TAG_OPTION, commands: ["scan", "watch", "crawl", "import", "campaign submit"] },
    { ...KEEP_OPTION, commands: ["scan", "watch", "crawl", "campaign collect"] },
    {
      ...TEXT_INDEX_OPTION,
      commands: ["scan", "watch", "import", "copy", "prune", "campaign collect"],
    },
    { ...TAG_OPTION, commands: ["lan"], forPrograms: false },
    { ...KEEP_OPTION, commands: ["lan"], forPrograms: false },
    { ...TEXT_INDEX_OPTION, commands: ["lan"], forPrograms: false },
    { ...PARTITION_OPTION, commands: ["lan"], forPrograms: false },
    {
      name: "observations",
      aliases: ["keep"],
      commands: ["prune"],
      takes: AGE,
      help: "keep all observations up to this age, such as 90d, and only some of the older ones " +
        "(also --keep)",
    },
    {
      name: "events",
      commands: ["prune"],
      takes: AGE_OR_NONE,
      help: "delete events older than this age, such as 1y",
    },
    {
      name: "replies",
      commands: ["prune"],
      takes: AGE_OR_NONE,
      help: "delete the bytes of last replies older than this age; 0: all",
    },
    {
      name: "players",
      commands: ["prune"],
      takes: AGE_OR_NONE,
      help: "delete players' names that servers published before this age; 0: all",
    },
    {
      ...PARTITION_OPTION,
      commands: ["scan", "watch", "import", "copy", "campaign collect"],
    },
    {
      name: "no-players",
      commands: ["scan", "query", "lan", "campaign submit"],
      help: "do not write the names of players",
    },
    {
      name: "json",
      commands: ["query", "lan", "servers"],
      forPrograms: false,
      help: "print one JSON object per server",
    },
    {
      name: "json",
      commands: ["watch", "crawl"],
      forPrograms: false,
      help: "print one JSON object per event",
    },
    {
      name: "json",
      commands: ["history"],
      help: "print one JSON object per observation, event or time",
    },
    {
      name: "events",
      commands: ["history"],
      help:
        "show events, the newest first, of all servers if none is named, in place of observations",
    },
    {
      name: "uptime",
      commands: ["history"],
      help:
        "print the periods from which the uptime of 30 days is computed, of all servers or of those that WORDs " +
        "match, as CSV; --limit does not apply",
    },
    {
      name: "follow",
      commands: ["history"],
      help:
        "with --events: show later events too, in the order of their transactions, until Ctrl-C",
    },
    {
      name: "after",
      commands: ["history"],
      takes: EVENT_POSITION,
      help:
        "with --events: show the events after this position, in the order of their transactions",
    },
    {
      name: "json",
      commands: ["diff"],
      help: "print one JSON object with the counts, and one per server",
    },
    { name: "json", commands: ["scans"], help: "print one JSON object per scan" },
    {
      name: "views",
      commands: ["scans"],
      help: "print what each vantage saw in campaigns with several views of each part, " +
        "and the networks that some of them did not see",
    },
    {
      name: "json",
      commands: ["scan"],
      forPrograms: false,
      onResume: "free",
      help: "with --dry-run or -sL: print JSON",
    },
    {
      name: "json",
      commands: ["import", "prune", "copy", "forget", "fleet"],
      help: "print one JSON object per result",
    },
    {
      name: "once", // programs have onceMs, which may be Infinity
      commands: ["lan"],
      forPrograms: false,
      takes: wholeNumberType(1, 3600, "SECONDS"),
      defaultText:
        `until Ctrl-C; no terminal: until the sweep ends, at least ${DEFAULTS.lan.once} s`,
      help: "time to run",
    },
    {
      name: "continuous",
      commands: ["lan"],
      forPrograms: false,
      help: "run until Ctrl-C without a terminal too, for example as a service",
    },
    {
      name: "no-sweep",
      commands: ["lan"],
      help: "do not sweep the networks for dedicated servers over TCP",
    },
  ],
} as const satisfies OptionGroup;
