/** All commands: purpose, usage, examples, and the arguments that they take besides options.
 *
 * @module
 */
import { CAMPAIGN_COMMANDS } from "./campaign_commands.ts";
import { portExamples, protocolNotes, type ProtocolText, rescanNote } from "./protocol_help.ts";

/** The names of the commands, in the order of the overview. */
export const COMMAND_NAMES = [
  "scan",
  "query",
  "lan",
  "watch",
  "crawl",
  "campaign submit",
  "campaign work",
  "campaign collect",
  "campaign list",
  "campaign status",
  "campaign pause",
  "campaign resume",
  "campaign cancel",
  "campaign retry",
  "campaign opt-out",
  "campaign remove",
  "opt-out add",
  "opt-out list",
  "opt-out remove",
  "contact-page",
  "servers",
  "history",
  "diff",
  "scans",
  "serve",
  "report",
  "export",
  "import",
  "prune",
  "copy",
  "forget",
  "fleet",
  "demo",
  "schema",
  "completions",
] as const;

/** The name of a command that a user can call. */
export type CallableCommand = typeof COMMAND_NAMES[number];

/** The names of the commands of campaigns that have options, and cannot be called yet. */
type CampaignCommand = keyof typeof CAMPAIGN_COMMANDS;

export type Command = CallableCommand | CampaignCommand;

/** A command as help and completions describe it. */
export interface CommandDescription {
  /** The usage line, without the name of the program. */
  readonly usage: string;
  /** What the command does, in one line. */
  readonly purpose: string;
  /** The names of the options that most people need: help lists them first. */
  readonly mostUsed?: readonly string[];
  /** Notes below the options. */
  readonly note?: ProtocolText;
  /** Examples, without the name of the program. */
  readonly examples: readonly (string | typeof portExamples)[];
  /** Options of other commands that this one lacks, and the reason or what to use instead. */
  readonly lacks?: Readonly<Record<string, string>>;
  /** The words that the command takes besides options. */
  readonly words?: {
    /** Maximum number of words; without it, the command checks the number itself. */
    readonly most?: number;
    /** What shells complete: files, or these words. */
    readonly completions?: "files" | readonly string[];
    /** Index of the file that the command writes. Default: it only reads the files in its words. */
    readonly written?: number;
  };
}

const TARGET_FORMS =
  "A TARGET is an address, 10.0.0.0/24, 10.0.0.1-10.0.0.9, 10.0.0.1-254 or a name; each may have :PORT.";

const SEARCH_NOTE =
  "The WORDs are those of the dashboard's search: texts, addresses, version:1.20..1.21, players:>0,\n" +
  "mods:yes, down:1h, since:24h, saw:lost and others; docs/guide/databases.md lists them.";
const BY_NAME = "For a name, or NAME:25565, the SRV record is looked up too; ";

/** The shells that have completions. */
export const SHELL_NAMES = ["bash", "zsh", "fish"] as const;

/** The help of each command. */
export const COMMANDS: Readonly<Record<Command, CommandDescription>> = {
  scan: {
    usage: "scan TARGET... [options]",
    purpose: "find game servers in ranges, and write a row for each",
    mostUsed: ["output", "ports", "rate", "dry-run", "resume", "i-have-permission"],
    note: (protocols) =>
      `${TARGET_FORMS}\n${
        protocolNotes(protocols)
      }${BY_NAME}all addresses of the name are probed.\n` +
      rescanNote(protocols),
    examples: [
      "scan 192.168.1.0/24",
      "scan 10.0.0.0/16 -p 19132,25565 -o servers.csv -o servers.ndjson",
      "scan -iL networks.txt --exclude 10.0.7.0/24 --rate 500 -o servers.ndjson",
      "scan 10.0.0.0/8 --i-have-permission --seed 1 --shard 1/4 -o part1.ndjson",
      portExamples,
      "scan 172.16.0.0/12 --dry-run",
    ],
  },
  query: {
    usage: "query HOST[:PORT]... [options]",
    purpose: "query servers in every protocol, and show what they publish",
    note: (protocols) =>
      `${protocolNotes(protocols)}${BY_NAME}the name's first address is queried.`,
    examples: [
      "query 192.168.1.20",
      "query play.example.org 192.168.1.20:19132",
      "query localhost:19132 --json",
      "query '[fe80::1%eth0]:19132'",
    ],
  },
  lan: {
    usage: "lan [options]",
    purpose: "find servers and open worlds on the networks of this machine",
    note:
      "To find dedicated servers, lan connects to TCP ports 25565 and 19132 of each address of the\n" +
      "machine's private networks, unless a network is larger than /22. It lists the networks that it\n" +
      "skips.\n" +
      "It omits addresses in the opt-out file. To read that file, it needs --allow-read and --allow-env.",
    examples: ["lan", "lan --once 10 --json", "lan -o servers.db", "lan -p 19132-19140"],
  },
  watch: {
    usage: "watch HOST[:PORT]|FILE|DATABASE... [options]",
    purpose: "poll known servers, and report what changes",
    note: "A FILE contains rows in any format of scan and export, or targets.\n" +
      "The watch writes changes to a DATABASE, but not to a FILE.",
    examples: [
      "watch servers.db",
      "watch play.example.org 192.168.1.20:19132",
      "watch servers.ndjson --interval 30s --json >> events.ndjson",
      "watch servers.db --webhook @discord-url.txt --webhook-format discord",
    ],
    words: { completions: "files" },
  },
  crawl: {
    usage: "crawl DATABASE [TARGET...] --budget N/day [options]",
    purpose: "keep a database fresh: poll known servers when they are due, and find new ones",
    mostUsed: ["budget", "rate", "ports", "i-have-permission"],
    note:
      "Servers that change often are polled more often. What polls leave of the budget goes to\n" +
      "adaptive discovery in the TARGETs; without them, in the public /24s of the database's servers.\n" +
      "It runs until Ctrl-C. docs/guide/crawling.md describes it.",
    examples: [
      "crawl servers.db --budget 500k/day",
      "crawl servers.db 10.0.0.0/8 --budget 50M/day --rate 2k --i-have-permission",
    ],
    words: { completions: "files" },
  },
  ...CAMPAIGN_COMMANDS,
  "opt-out add": {
    usage: "opt-out add RANGE|NAME... --why TEXT --from WHO [options]",
    purpose: "add ranges or host names to the opt-out file",
    note:
      "Scans, watches and crawls that use the file leave them out from then on, also those that run.",
    examples: [
      'opt-out add 192.0.2.0/24 --why "asked by mail" --from noc@example.net',
      'opt-out add play.example.org 2001:db8::/48 --why "ticket 4711" --from "J. Doe"',
    ],
  },
  "opt-out list": {
    usage: "opt-out list [options]",
    purpose: "show the entries of the opt-out file, also those that scans added",
    note:
      "Each line has the range or name, the date, who wants it, and why, where the file has them.",
    examples: ["opt-out list", "opt-out list --ranges > exclude.txt", "opt-out list --json"],
    words: { most: 0 },
  },
  "opt-out remove": {
    usage: "opt-out remove RANGE|NAME... [options]",
    purpose: "remove entries from the opt-out file",
    note: "Scans and watches that run keep leaving out what was removed until they end.",
    examples: ["opt-out remove 192.0.2.0/24"],
  },
  "contact-page": {
    usage: "contact-page [options]",
    purpose: "write an HTML page for people who are probed: who scans, and how to opt out",
    examples: [
      'contact-page --contact abuse@example.org --operator "Example Labs" -o index.html',
    ],
    words: { most: 0 },
  },
  servers: {
    usage: "servers DATABASE [WORD...] [options]",
    purpose: "show the servers of a database",
    note: SEARCH_NOTE,
    examples: [
      "servers servers.db --online",
      "servers servers.db version:1.20..1.21 mods:yes 'players:>0'",
      "servers servers.db 192.168.1.0/24 down:1h",
      'servers servers.db --text "sky block" --json',
    ],
    words: { completions: "files" },
  },
  history: {
    usage: "history DATABASE [HOST[:PORT]|WORD...] [options]",
    purpose: "show the observations of one server of a database, or events",
    note:
      `${SEARCH_NOTE}\nThe words of a search have to match one server only, except with --uptime.`,
    examples: [
      "history servers.db 192.168.1.20:19132",
      "history servers.db 192.168.1.20 --json",
      'history servers.db "sky block" version:1.21',
      "history servers.db --events --follow",
      "history servers.db edition:java --uptime > uptime.csv",
    ],
    words: { completions: "files" },
  },
  diff: {
    usage: "diff DATABASE|A [SCAN|B] [SCAN] [options]",
    purpose: "show what differs between two scans, two databases or two files of rows",
    note:
      "Without a SCAN: the last two scans that asked a server in common. With one: from it to the last.\n" +
      "A SCAN is an ID as scans prints it, or its first characters; last or first; or a time, for the\n" +
      "last scan that had ended by then: yesterday, 24h, 2026-01-31 (the end of that day, UTC).\n" +
      "A and B are databases, or files in any format that import reads, the older one first.\n" +
      "Exit code 0: no difference; 1: differences; 2: an error.",
    examples: [
      "diff servers.db",
      "diff servers.db yesterday last -o changes.csv",
      "diff old.csv new.ndjson --json",
    ],
    words: { most: 3, completions: "files" },
  },
  scans: {
    usage: "scans DATABASE [options]",
    purpose: "show the scans and watches of a database, and their progress",
    note:
      "A scan or watch that runs writes its progress at least every 10 seconds. One that was killed\n" +
      "is shown as stale after 60 seconds.",
    examples: [
      "scans servers.db",
      "scans servers.db --limit 1 --json",
      "scans servers.db --views",
    ],
    words: { most: 1, completions: "files" },
  },
  serve: {
    usage: "serve DATABASE [options]",
    purpose: "serve pages and a JSON API about a database, for browsers and programs",
    note:
      "The dashboard only reads its database. It is for browsers of this machine, unless --host and\n" +
      "--token-file are given. It runs until Ctrl-C. docs/guide/dashboard.md describes pages and API.\n" +
      "With --status-api, everybody who reaches the port may request the status of servers:\n" +
      "database sends nothing; allow probes the servers of --probe-allow for every client; open probes\n" +
      "any public server that a client names. docs/guide/status-service.md has routes and limits.\n" +
      "--public serves a list for visitors in place of the dashboard: docs/guide/public-list.md.",
    examples: [
      "serve servers.db",
      "serve postgres://reader@db.example.org/servers --port 8080",
      "serve servers.db --host 192.168.1.5 --token-file token.txt",
      "serve servers.db --public https://servers.example.org --contact you@example.org",
      "serve servers.db --status-api database",
      "serve servers.db --status-api allow --probe-allow play.example.org",
    ],
    words: { most: 1, completions: "files" },
  },
  report: {
    usage: "report DATABASE|FILE -o report.html [options]",
    purpose: "write one HTML file about the servers of a database or a file of rows",
    note:
      "The file needs no server, and loads nothing: numbers, charts, a map, and a table with filters.\n" +
      "A FILE contains rows in any format of scan and export, such as rows.ndjson.",
    examples: [
      "report servers.db -o report.html",
      "report rows.ndjson -o report.html --geoip country.mmdb",
    ],
    words: { most: 1, completions: "files" },
  },
  export: {
    usage: "export DATABASE [WORD...] [options]",
    purpose: "write the servers of a database to files, for other tools",
    note: `${SEARCH_NOTE}\n` +
      "Servers are ordered by address; with --since, those that changed last come first.",
    examples: [
      "export servers.db -o servers.csv -o servers.ndjson",
      "export servers.db --online -o targets.txt",
      "export servers.db --since 24h -o changed.ndjson",
    ],
    words: { completions: "files" },
  },
  import: {
    usage: "import DATABASE FILE... [options]",
    purpose: "read servers into a database from files of blocksweep or of other scanners",
    note: "The format is recognised by the content: every format of scan and export;\n" +
      "-oX and -oG of nmap; -oX, -oG, -oJ and -oL of masscan; JSON lines of naabu; CSV of zmap;\n" +
      "lines of HOST:PORT, also with names, which are looked up.",
    examples: [
      "import servers.db rows.ndjson rows.csv",
      "import servers.db nmap.xml masscan.json",
      "import servers.db zmap.csv --port 25565",
    ],
    words: { completions: "files", written: 0 },
  },
  prune: {
    usage: "prune DATABASE --observations|--events|--replies|--players TIME...",
    purpose: "delete old rows of a database",
    note: "TIME is hours, days or years: 12h, 90d, 1y. Tables without an option keep all rows.\n" +
      "All observations up to the age TIME are kept. Of observations up to four times as old, only\n" +
      "the last one of each hour is kept; of older ones, only the last one of each day (UTC).\n" +
      "The uptime of servers is computed first. Icons that no server has are deleted too.",
    examples: [
      "prune servers.db --observations 90d",
      "prune servers.db --observations 90d --events 1y --replies 30d --players 0",
    ],
    words: { most: 1, completions: "files" },
  },
  copy: {
    usage: "copy FROM TO [options]",
    purpose: "copy a database into an empty one, in SQLite or PostgreSQL",
    note:
      "Changes of FROM during the copy are not copied. TO must be empty, or contain an unfinished copy,\n" +
      "which is then continued. At the end, each table of FROM is compared with its copy.",
    examples: [
      "copy servers.db postgres://writer@db.example.org/servers",
      "copy old.db servers.db --json",
    ],
    words: { most: 2, completions: "files", written: 1 },
  },
  forget: {
    usage: "forget DATABASE SERVER...|--opted-out [options]",
    purpose: "remove servers from a database, so that no scan, watch or import restores them",
    note:
      "A SERVER is HOST:PORT, or a host with only one server in the database. A hash of each server\n" +
      "stays in the database. Spill files and the webhook's outbox beside the database are searched too.",
    examples: [
      "forget servers.db 192.168.1.20:19132 --dry-run",
      "forget servers.db play.example.org:25565",
      "forget servers.db --opted-out",
      "forget servers.db play.example.org:25565 --undo",
    ],
    words: { completions: "files" },
  },
  fleet: {
    usage: "fleet [options]",
    purpose: "simulate servers on loopback to test scanners, or check the rows of a scan of them",
    examples: [
      "fleet --servers 1000 --manifest truth.ndjson",
      "fleet --loss 5 --delay 20ms --jitter 30ms",
      "fleet --check servers.csv --manifest truth.ndjson",
    ],
  },
  demo: {
    usage: "demo [options]",
    purpose: "simulate a fleet, scan it, and check every row",
    examples: ["demo", "demo --servers 1000 --seed 7"],
    words: { most: 0 },
  },
  schema: {
    usage: "schema [--help]",
    purpose: "print the columns of a row as a JSON Schema",
    examples: ["schema"],
    words: { most: 0 },
  },
  completions: {
    usage: "completions bash|zsh|fish",
    purpose: "print completions for a shell",
    examples: ["completions bash > ~/.local/share/bash-completion/completions/blocksweep"],
    words: { most: 1, completions: SHELL_NAMES },
  },
};
