/**
 * Options that control what a scan or a watch does besides probing, when it ends, and what it
 * prints.
 *
 * @module
 */
import { withoutPassword } from "../connection_environment.ts";
import { redactUrl } from "../../../core/redact.ts";
import { DEFAULTS } from "../../settings/defaults.ts";
import { EVENT_KINDS } from "../../../store/events/watch_event.ts";
import { MIN_INTERVAL_MS } from "../../../watch/schedule.ts";
import { WEBHOOK_FORMATS } from "../../../watch/webhook/webhook_formats.ts";
import { COMMAND_NAMES } from "../commands.ts";
import {
  HTTP_HEADER,
  METRICS_ADDRESS,
  SECRET,
  TARGET_LIST,
  WEBHOOK_URL,
} from "../domain_value_types.ts";
import type { OptionGroup } from "../option.ts";
import {
  COUNT,
  FILE,
  oneOfType,
  someOf,
  timeType,
  wholeNumberType,
  WRITTEN_FILE,
} from "../value_types.ts";

const WEBHOOK = {
  name: "webhook",
  takes: WEBHOOK_URL,
  withoutSecrets: redactUrl,
  help: "also POST events to this URL; @FILE or env:NAME contains the URL",
} as const;

const WEBHOOK_FORMAT = {
  name: "webhook-format",
  takes: oneOfType(WEBHOOK_FORMATS),
  defaultText: "json",
  help: `format of the requests: ${WEBHOOK_FORMATS.join(", ")}`,
} as const;

const WEBHOOK_EVENTS = {
  name: "webhook-events",
  takes: someOf(EVENT_KINDS),
  defaultText: "all",
  help: "kinds of events to send",
} as const;

const WEBHOOK_TEMPLATE = {
  name: "webhook-template",
  takes: FILE,
  help:
    "file with the message, or the JSON document, for each event; it has placeholders such as {name}",
} as const;

const WEBHOOK_HEADER = {
  name: "webhook-header",
  takes: HTTP_HEADER,
  repeat: true,
  help:
    "send this header with requests; its value is in a file, or in a variable (NAME=env:VARIABLE)",
} as const;

const WEBHOOK_SECRET = {
  name: "webhook-secret",
  takes: SECRET,
  help: "sign requests with the key in a file or env:NAME (HMAC-SHA-256)",
} as const;

/** A checkpoint contains no webhook: it would contain the secrets of the URL. */
const OF_SCANS = { commands: ["scan", "lan"], forPrograms: false, onResume: "forgotten" } as const;

/** Options that prepare, limit, checkpoint and observe a scan. */
export const CONTROL = {
  title: "Control",
  options: [
    {
      name: "dry-run",
      short: "d",
      aliases: ["dryrun"],
      commands: ["scan", "campaign submit"],
      forPrograms: false,
      onResume: "free",
      help: "print the plan and send nothing",
    },
    {
      name: "dry-run",
      commands: ["forget"],
      help: "print what would be removed, and change nothing",
    },
    {
      name: "opted-out",
      commands: ["forget"],
      help: "forget all servers whose addresses opted out",
    },
    {
      name: "undo",
      commands: ["forget"],
      help: "let scans, watches and imports write these servers again",
    },
    {
      name: "list-targets",
      aliases: ["sL"],
      commands: ["scan"],
      forPrograms: false,
      help: "print the targets in their order, and send nothing (also -sL)",
    },
    {
      name: "max-targets",
      commands: ["scan"],
      takes: COUNT,
      help: "probe at most this many targets",
    },
    { name: "max-results", commands: ["scan"], takes: COUNT, help: "stop after this many rows" },
    {
      name: "max-runtime",
      commands: ["scan"],
      takes: timeType(),
      onResume: "free",
      help: "stop probing after this time, such as 90s, 10m or 2h; the scan ends up to 5s or " +
        "--cooldown later",
    },
    {
      name: "opt-out-file",
      commands: ["scan", "watch", "crawl", "campaign submit", "campaign work", "campaign collect"],
      takes: FILE,
      help: "file of opted-out addresses: they are not probed, and new ones are added to it",
    },
    {
      name: "opt-out-file",
      commands: ["lan"],
      takes: FILE,
      help: "file of opted-out addresses: lan neither connects to them nor lists them",
    },
    {
      name: "opt-out-file",
      commands: ["opt-out add", "opt-out list", "opt-out remove"],
      takes: FILE,
      help: "the file of opt-outs; the default is that of scan, watch and crawl",
    },
    {
      name: "config",
      commands: ["scan"],
      forPrograms: false,
      takes: FILE,
      inConfig: false,
      onResume: "forgotten",
      help: "read options from a JSON file; command-line options override it",
    },
    {
      name: "echo-config",
      commands: ["scan"],
      forPrograms: false,
      inConfig: false,
      help: "print the options in the format of --config, and send nothing",
    },
    {
      name: "checkpoint",
      commands: ["scan"],
      takes: WRITTEN_FILE,
      defaultText: "the first output plus .checkpoint",
      help: "the file from which the scan can be resumed",
    },
    {
      name: "resume",
      commands: ["scan"],
      takes: FILE,
      onResume: "forgotten",
      help: "resume the scan of this checkpoint, with the options of that scan",
    },
    {
      name: "status-file",
      commands: ["scan"],
      takes: WRITTEN_FILE,
      onResume: "free",
      help: "write the scan's state to a JSON file, for other programs",
    },
    {
      name: "stats-every",
      commands: ["scan"],
      forPrograms: false,
      takes: timeType(),
      onResume: "free",
      help: "interval of the status lines that are printed without a terminal",
    },
    {
      name: "metadata-file",
      commands: ["scan"],
      takes: WRITTEN_FILE,
      onResume: "free",
      help: "write options and results of the scan to a JSON file at its end",
    },
    {
      name: "metrics",
      commands: ["scan", "watch", "crawl"],
      takes: METRICS_ADDRESS,
      onResume: "free",
      help: "serve metrics for Prometheus on this port of loopback, or on ADDRESS:PORT",
    },
  ],
} as const satisfies OptionGroup;

const MIN_INTERVAL = {
  ms: MIN_INTERVAL_MS,
  text: `${MIN_INTERVAL_MS / 1000}s, because servers cache their status for that long`,
};

export const WATCH = {
  title: "Watch",
  options: [
    {
      name: "interval",
      commands: ["watch"],
      takes: timeType(MIN_INTERVAL),
      default: `${DEFAULTS.watch.intervalMs / 1000}s`,
      help: `time from one poll of a server to the next, at least ${MIN_INTERVAL_MS / 1000}s`,
    },
    {
      name: "down-after",
      commands: ["watch"],
      takes: wholeNumberType(1, 100),
      default: `${DEFAULTS.watch.downAfter}`,
      help:
        "number of polls in a row without a reply after which a server counts as offline, or a " +
        "protocol is removed from the server's row",
    },
    {
      name: "backoff",
      commands: ["watch"],
      help: "poll a server less often the longer it is offline, at least once an hour",
    },
    {
      name: "output",
      short: "o",
      commands: ["watch"],
      takes: { ...WRITTEN_FILE, placeholder: "DATABASE" },
      repeat: true,
      withoutSecrets: withoutPassword,
      help: "also write to this database; databases that are watched are always written to",
    },
    {
      name: "metrics-info",
      commands: ["watch", "crawl"],
      help: "add a metric with each server's name, edition, software and version as labels",
    },
    {
      name: "probe",
      commands: ["watch"],
      help: "also serve /probe?target=HOST:PORT, which probes a server at once",
    },
    {
      name: "probe-allow",
      commands: ["watch"],
      takes: TARGET_LIST,
      repeat: true,
      help: "servers that clients of /probe may name, besides the watched servers",
    },
    {
      name: "probe-token-file",
      commands: ["watch"],
      takes: FILE,
      help:
        "the file with the token that clients of /probe have to send; needed if --metrics is not on loopback",
    },
    {
      name: "names",
      commands: ["watch", "crawl"],
      help: "store the names of players, and report which players join and leave",
    },
    { ...WEBHOOK, commands: ["watch", "crawl"] },
    { ...WEBHOOK, ...OF_SCANS },
    { ...WEBHOOK_FORMAT, commands: ["watch", "crawl"] },
    { ...WEBHOOK_FORMAT, ...OF_SCANS },
    { ...WEBHOOK_EVENTS, commands: ["watch", "crawl"] },
    { ...WEBHOOK_EVENTS, ...OF_SCANS },
    { ...WEBHOOK_TEMPLATE, commands: ["watch", "crawl"] },
    { ...WEBHOOK_TEMPLATE, ...OF_SCANS },
    { ...WEBHOOK_HEADER, commands: ["watch", "crawl"] },
    { ...WEBHOOK_HEADER, ...OF_SCANS },
    { ...WEBHOOK_SECRET, commands: ["watch", "crawl"] },
    { ...WEBHOOK_SECRET, ...OF_SCANS },
    {
      name: "webhook-outbox",
      commands: ["watch", "crawl"],
      takes: WRITTEN_FILE,
      defaultText: "beside the first database",
      help: "the file of events that are in no database and wait for the webhook",
    },
    {
      name: "webhook-outbox",
      commands: ["forget"],
      takes: WRITTEN_FILE,
      defaultText: "beside the database",
      help: "the file of events that wait for a webhook; events of the servers are removed from it",
    },
  ],
} as const satisfies OptionGroup;

/** Options that decide what is printed. */
export const GENERAL = {
  title: "General",
  options: [
    {
      name: "quiet",
      short: "q",
      commands: [
        "scan",
        "query",
        "lan",
        "watch",
        "crawl",
        "campaign submit",
        "campaign work",
        "campaign collect",
        "opt-out add",
        "opt-out list",
        "opt-out remove",
        "servers",
        "export",
        "report",
        "import",
        "prune",
        "copy",
        "forget",
        "fleet",
        "demo",
      ],
      onResume: "free",
      forPrograms: false,
      help: "print only results and errors",
    },
    {
      name: "verbose",
      short: "v",
      commands: ["scan"],
      onResume: "free",
      forPrograms: false,
      help: "print the plan, a line for each pass, and all counters at the end",
    },
    {
      name: "log-format",
      commands: [
        "scan",
        "watch",
        "crawl",
        "campaign work",
        "campaign collect",
        "serve",
        "report",
        "export",
        "import",
        "prune",
        "copy",
        "forget",
      ],
      takes: oneOfType(["text", "json"]),
      default: "text",
      inConfig: false,
      onResume: "free",
      forPrograms: false,
      help: "format of the messages on standard error: text, or json: one object per line",
    },
    {
      name: "plain",
      commands: ["scan", "watch"],
      onResume: "free",
      forPrograms: false,
      help:
        "on a terminal: print only the status line of a scan, or the events of a watch as lines",
    },
    {
      name: "no-color",
      commands: ["scan", "query", "lan", "watch", "servers", "history", "demo"],
      onResume: "free",
      forPrograms: false,
      help: "print no colours; the variable NO_COLOR has the same effect",
    },
    {
      name: "help",
      short: "h",
      commands: COMMAND_NAMES,
      inConfig: false,
      forPrograms: false,
      help: "print this help",
    },
    {
      name: "version",
      short: "V",
      commands: COMMAND_NAMES,
      inConfig: false,
      forPrograms: false,
      help: "print the version of blocksweep",
    },
  ],
} as const satisfies OptionGroup;
