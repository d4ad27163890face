/**
 * Every option of the command line: help, parsing, completions, the configuration file and "did you
 * mean" all read this table.
 *
 * @module
 */
import { DEFAULTS } from "../../app/settings/defaults.ts";
import type { OptionForm } from "../../app/settings/option_values.ts";
import { protocolHelp, type ProtocolText, verifyHelp } from "./protocol_help.ts";
import { USUAL_MIX } from "../../fleet/simulate/software.ts";

/** A command. */
export type Command = typeof ALL[number];

/** An option. */
export interface Option extends OptionForm {
  /** What it does, in one line. */
  readonly help: ProtocolText;
  /** What holds without it: for all commands, or for each. */
  readonly usual?: string | Partial<Readonly<Record<Command, string>>>;
  /** Under which heading help lists it. */
  readonly group: string;
  /** Which commands have it. */
  readonly commands: readonly Command[];
  /** Its one-letter name. */
  readonly short?: string;
  /** Other names that users of other tools know. */
  readonly aliases?: readonly string[];
}

/** Name and value, help, and what is not as in the rest of the group. */
export type OptionRow = readonly [usage: string, help: ProtocolText, rest?: Partial<Option>];

/** The options of a heading; `commands` holds where a row does not say otherwise. */
export function group(
  name: string,
  commands: readonly Command[],
  rows: readonly OptionRow[],
): Option[] {
  return rows.map(([usage, help, rest]) => {
    const [option, value] = usage.split(" ");
    return { name: option, value, help, group: name, commands, ...rest };
  });
}

/** Every command. */
export const ALL = [
  ...["scan", "query", "lan", "watch", "servers", "history", "export", "import"] as const,
  "prune" as const,
  ...["fleet", "demo", "schema", "completions"] as const,
];

/** The options, in the order in which help lists them. */
export const OPTIONS: readonly Option[] = [
  ...group("Targets", ["scan"], [
    ["input-file FILE", "read targets from a file, - for standard input (also -iL)", {
      aliases: ["iL", "includefile", "allowlist-file"],
      repeat: true,
      commands: ["scan", "watch"],
    }],
    [
      "rescan FILE",
      "probe the servers of a database again in what they speak, the most overdue first",
    ],
    ["exclude LIST", "addresses, ranges or names not to ask", { repeat: true }],
    ["exclude-file FILE", "read exclusions from a file", {
      short: "b",
      aliases: ["excludefile", "blocklist-file"],
      repeat: true,
    }],
    ["ports PORTS", "ports to ask, as 19132,25565-25570; default: the protocols' usual ones", {
      short: "p",
      aliases: ["port"],
      commands: ["scan", "lan"],
    }],
    [
      "protocol LIST",
      protocolHelp,
      {
        commands: ["scan", "query", "watch"],
      },
    ],
    [
      "allow-private",
      "let a name that is not a local one lead to private addresses",
      { commands: ["scan", "query", "watch"] },
    ],
    [
      "i-have-permission",
      "you may scan these public addresses, or more than a million of any kind",
    ],
  ]),
  ...group("Order", ["scan"], [
    ["seed NUMBER", "repeat an order; default: a random one", {
      commands: ["scan", "fleet", "demo"],
    }],
    ["no-randomize", "ask addresses and ports in ascending order"],
    ["shard I/N", "take part I of N, from 1; every machine needs the same --seed"],
    ["from PASS:POSITION", "go on where an interrupted scan stopped"],
  ]),
  ...group("Speed", ["scan"], [
    [
      "rate NUMBER",
      "datagrams a second: 500, 10k, auto, auto:50k; default: 1000, loopback: no limit",
      { short: "r", aliases: ["max-rate"] },
    ],
    [
      "bandwidth BITS",
      "the rate in bits a second, as 500k, 10M or 1G on Ethernet",
    ],
    ["net-rate NUMBER", "datagrams a second to one /24 (IPv6: /48), or off; default: 50"],
    ["host-rate NUMBER", "datagrams a second to one address, or off; default: 5"],
    [
      "concurrency NUMBER",
      "servers asked at once",
      {
        short: "c",
        commands: ["scan", "watch"],
        usual: {
          scan: `${DEFAULTS.scan.concurrency}`,
          watch: `${DEFAULTS.watch.concurrency}, more where --interval needs it`,
        },
      },
    ],
    ["timeout TIME", "how long to wait for an answer, as 1500, 800ms or 2s", {
      short: "t",
      usual: `${DEFAULTS.timeoutMs}ms`,
      commands: ["scan", "query", "watch"],
    }],
    ["retries 0-3", "how often unanswered probes are repeated", {
      aliases: ["max-retries"],
      usual: {
        scan: `${DEFAULTS.scan.retries}`,
        query: `${DEFAULTS.query.retries}`,
        watch: `${DEFAULTS.watch.retries}`,
      },
      commands: ["scan", "query", "watch"],
    }],
    [
      "cooldown TIME",
      "how long to wait for late answers, if any can come; default: 5s, loopback: 1s",
      {
        aliases: ["wait", "cooldown-time"],
      },
    ],
    ["no-follow", "do not ask a server for the other protocols"],
    ["verify", verifyHelp, {
      commands: ["scan", "query"],
    }],
    ["engine NAME", "portable, udp, packet, xdp or fastest; default: udp where FFI is granted"],
    ["threads NUMBER", "threads that only send, but with portable; default: 0, the program's own"],
    ["interface NAME", "packet and xdp: send over this one; default: the way of most targets", {
      aliases: ["adapter"],
    }],
    ["gateway-mac MAC", "packet and xdp: the gateway's MAC; default: it is asked for", {
      aliases: ["router-mac"],
    }],
    ["source-port PORTS", "send from this port, or from these: one socket each"],
    ["source-ip ADDRESS", "send from this address"],
  ]),
  ...group("Selection", ["servers", "export"], [
    ["online", "servers that count as online"],
    ["software TEXT", "servers whose software's name holds this"],
    ["game-version TEXT", "servers of a game version; 1.21 stands for 1.21.50 too"],
    ["min-players NUMBER", "servers with so many players at least"],
    ["text TEXT", "servers whose name, MOTD, map or software holds this"],
    ["since TIME", "servers asked since 90m, 24h, 7d ago, a date, or Unix milliseconds"],
    ["sort NAME", "by players, seen, overdue, new, name, version or address", {
      usual: { servers: DEFAULTS.servers.sort, export: "see below" },
    }],
    ["limit NUMBER", "so many at the most", {
      usual: { servers: `${DEFAULTS.servers.limit}`, history: `${DEFAULTS.history.limit}` },
      commands: ["servers", "export", "history"],
    }],
    ["port NUMBER", "the port, where a file names hosts alone", { commands: ["import"] }],
  ]),
  ...group("Output", ["scan"], [
    [
      "output FILE",
      "write rows: .csv .ndjson .json .txt, .db or postgres: (databases), - (stdout)",
      {
        short: "o",
        repeat: true,
        commands: ["scan", "export"],
      },
    ],
    [
      "format NAME",
      "csv, ndjson, json, hostport, grep or table; default: by the suffix of the file",
      {
        commands: ["scan", "servers", "export"],
      },
    ],
    ["oD FILE", "write ndjson to a file", { repeat: true }],
    ["oJ FILE", "write a JSON array to a file", { repeat: true }],
    ["oG FILE", "write grepable lines to a file", { repeat: true }],
    ["oL FILE", "write host:port lines to a file", { repeat: true }],
    ["append", "add to the files in place of writing them anew", { commands: ["scan", "export"] }],
    ["fields LIST", "columns to write, of those that the schema command lists", {
      short: "f",
      commands: ["scan", "servers", "export"],
    }],
    ["sort NAME", "print the table when the scan ends: by address, players or name"],
    [
      "down-after NUMBER",
      "scans without a reply after which a server is offline; default: 3",
    ],
    [
      "keep TIME",
      "downsample observations older than this, as 90d: to one an hour, then a day",
      {
        commands: ["scan", "watch", "prune"],
      },
    ],
    ["no-players", "do not write the names of players", { commands: ["scan", "query", "lan"] }],
    ["json", "print one JSON object per server, observation or event", {
      commands: ["query", "lan", "watch", "servers", "history"],
    }],
    ["once SECONDS", "end after so long; default: Ctrl-C on a terminal, else 3 and the sweep", {
      commands: ["lan"],
    }],
    ["no-sweep", "make no connections to port 25565 of neighbours to find dedicated Java servers", {
      commands: ["lan"],
    }],
  ]),
  ...group("Control", ["scan"], [
    ["dry-run", "say what would be sent, and send nothing", { short: "d", aliases: ["dryrun"] }],
    ["list-targets", "print the targets in their order, and send nothing (also -sL)", {
      aliases: ["sL"],
    }],
    ["max-targets NUMBER", "ask so many targets at the most"],
    ["max-results NUMBER", "stop after so many rows"],
    ["max-runtime TIME", "stop after so long, as 90s, 10m or 2h"],
    ["opt-out-file FILE", "addresses that asked to be left alone: never probed, and added to", {
      commands: ["scan", "watch"],
    }],
    ["opt-out-file FILE", "addresses that opted out: no connection, no query and no row", {
      commands: ["lan"],
    }],
    ["config FILE", "read options from a JSON file; the command line goes first"],
    ["echo-config", "print the options as such a file, and send nothing"],
    ["checkpoint FILE", "keep the scan's state here; default: the first output's name.checkpoint"],
    ["resume FILE", "go on with the scan of a checkpoint: nothing else has to be said"],
    ["status-file FILE", "keep the scan's state in a JSON file, for other programs"],
    ["stats-every TIME", "print a status line so often, where there is no terminal"],
    ["metadata-file FILE", "write options and results of the scan to a JSON file at its end"],
  ]),
  ...group("Watch", ["watch"], [
    ["interval TIME", "from one poll of a server to the next, at least 5s", {
      usual: `${DEFAULTS.watch.intervalMs / 1000}s`,
    }],
    ["down-after NUMBER", "polls without an answer that make a server offline", {
      usual: `${DEFAULTS.watch.downAfter}`,
    }],
    ["rate NUMBER", "datagrams a second, as 500 or 10k", {
      short: "r",
      aliases: ["max-rate"],
      usual: `${DEFAULTS.watch.rate}, loopback: no limit`,
    }],
    ["output DATABASE", "keep a database up to date, as servers.db; a watched one is anyway", {
      short: "o",
      repeat: true,
    }],
    ["metrics PORT", "serve numbers for Prometheus on this port of loopback, or on ADDRESS:PORT", {
      commands: ["scan", "watch"],
    }],
    ["names", "keep the names of players, and tell who came and left"],
    ["webhook URL", "send events there too, as JSON, by POST"],
    ["webhook-spool FILE", "where events wait for the webhook; default: beside the first database"],
  ]),
  ...group("Fleet", ["fleet"], [
    ["servers NUMBER", "how many servers to simulate", {
      usual: { fleet: `${DEFAULTS.fleet.servers}`, demo: `${DEFAULTS.demo.servers}` },
      commands: ["fleet", "demo"],
    }],
    ["hostile NUMBER", "how many hosts beside them must not be listed: hostile, or opted out"],
    ["range RANGE", "where they stand; default: 127.16.0.0/16"],
    ["software LIST", `which software to imitate; default: ${USUAL_MIX}`],
    ["no-tcp", "simulate nothing over TCP, where each server takes a descriptor"],
    ["loss PERCENT", "datagrams to lose, each way"],
    ["duplicate PERCENT", "datagrams to double, each way"],
    ["delay TIME", "how long datagrams take, each way, as 20 (milliseconds) or 1s"],
    ["jitter TIME", "how much longer some take, likewise"],
    ["manifest FILE", "write the truth about every host to a file; with --check: read it"],
    ["check FILE", "compare a scan's rows (.csv, .ndjson) with --manifest, and simulate nothing", {
      repeat: true,
    }],
    ["protocol LIST", "with --check: the protocols that the scan had; default: the usual ones"],
    ["ports PORTS", "with --check: the ports that it had; default: the usual ones", { short: "p" }],
    ["no-follow", "with --check: the scan had --no-follow"],
    ["verify", "with --check: the scan had --verify"],
    ["log FILE", "write every datagram that comes or goes to a file"],
    ["lab", "allow private addresses and LAN worlds, on a host without a default route"],
  ]),
  ...group("General", ["scan", "query", "lan", "watch", "fleet", "demo"], [
    ["quiet", "print nothing but results and errors", {
      short: "q",
      commands: [
        ...[
          "scan",
          "query",
          "lan",
          "watch",
          "servers",
          "export",
          "import",
          "prune",
          "fleet",
        ] as const,
        "demo",
      ],
    }],
    ["verbose", "print the plan, a line for each pass, and all counters at the end", {
      short: "v",
      commands: ["scan"],
    }],
    ["no-color", "no colours; NO_COLOR does the same", {
      commands: ["scan", "query", "lan", "watch", "servers", "history", "demo"],
    }],
    ["help", "print this help", { short: "h", commands: ALL }],
    ["version", "print the version of blocksweep", { short: "V", commands: ALL }],
  ]),
];

/** The options of a command. */
export function optionsOf(command: Command): readonly Option[] {
  return OPTIONS.filter(({ commands }) => commands.includes(command));
}
