/**
 * Options of campaigns: the connection to NATS, the division into parts, workers and collectors.
 *
 * @module
 */
import { redactUrl } from "../../../core/redact.ts";
import { withoutPassword } from "../connection_environment.ts";
import { CAMPAIGN_COMMANDS } from "../campaign_commands.ts";
import type { OptionGroup } from "../option.ts";
import {
  anyText,
  FILE,
  timeType,
  type ValueType,
  valueType,
  wholeNumberType,
  WRITTEN_FILE,
} from "../value_types.ts";

/** Maximum number of parts of a campaign. */
export const MAX_PARTS = 4096;
/** Maximum number of views of each part. */
export const MAX_VIEWS = 16;
/** The vantage of workers without `--vantage`. */
export const DEFAULT_VANTAGE = "default";
/** Maximum number of parts that one worker scans at the same time. */
export const MAX_SLOTS = 64;
/** Number of parts that a worker scans at the same time without `--slots`. */
export const DEFAULT_SLOTS = 4;
/** A worker renews its lease four times in this time; below, a slow network would lose leases. */
const MIN_ACK_WAIT = { ms: 2000, text: "2s" };

/** Each command of campaigns. */
const ALL = Object.keys(CAMPAIGN_COMMANDS) as (keyof typeof CAMPAIGN_COMMANDS)[];

/** The form of a campaign's name, which is also a token of NATS' subjects. */
export const CAMPAIGN_NAME = /^[a-z0-9][a-z0-9-]{0,39}$/;

const NAME: ValueType<string> = valueType(
  "NAME",
  "1 to 40 of a-z, 0-9 and -, with a letter or a digit first",
  (text) => CAMPAIGN_NAME.test(text) ? text : undefined,
);

/** A size in bytes, with a suffix: `512M` is 512 MiB. */
const BYTES: ValueType<number> = valueType(
  "BYTES",
  "a size from 1M to 1000G, such as 512M or 1G (1G is 1,024M, 1M is 1,048,576 bytes)",
  (text) => {
    const [, digits, unit] = /^(\d{1,4})([MG])$/.exec(text) ?? [];
    const value = Number(digits) * { M: 2 ** 20, G: 2 ** 30 }[unit]!;
    return value >= 2 ** 20 && value <= 1000 * 2 ** 30 ? value : undefined;
  },
);

const REPLICAS: ValueType<"1" | "3"> = {
  ...valueType("1|3", "1 or 3", (text) => text === "1" || text === "3" ? text : undefined),
  completions: { kind: "one", words: ["1", "3"] },
};

export const CAMPAIGN = {
  title: "Campaign",
  options: [
    {
      name: "name",
      commands: ["campaign submit"],
      takes: NAME,
      defaultText: "the time in UTC, such as 2026-01-31-1430",
      help: "the name of the campaign",
    },
    {
      name: "parts",
      commands: ["campaign submit"],
      takes: wholeNumberType(1, MAX_PARTS),
      defaultText: "each part takes about a minute",
      help: "number of parts; each has at least one /24 (IPv6: /48) of the targets",
    },
    {
      name: "max-running",
      commands: ["campaign submit"],
      takes: wholeNumberType(1, MAX_PARTS),
      default: "8",
      help:
        "maximum number of parts scanned at the same time; each gets the rate divided by this number",
    },
    {
      name: "views",
      commands: ["campaign submit"],
      takes: wholeNumberType(1, MAX_VIEWS),
      default: "1",
      help:
        "scan each part this many times, one after the other, by workers of different --vantage; " +
        "a server is missed if no view found it",
    },
    {
      name: "vantage",
      commands: ["campaign work"],
      takes: NAME,
      default: DEFAULT_VANTAGE,
      help: "where this worker scans from: campaigns with --views scan each part once per vantage",
    },
    {
      name: "replicas",
      commands: ["campaign submit"],
      takes: REPLICAS,
      default: "1",
      help: "copies of each message in a new set of streams; 3 needs three NATS servers",
    },
    {
      name: "results-limit",
      commands: ["campaign submit"],
      takes: BYTES,
      default: "1G",
      help: "size of a new stream of results; workers wait while it is full",
    },
    {
      name: "ack-wait",
      commands: ["campaign submit"],
      takes: timeType(MIN_ACK_WAIT),
      default: "30s",
      help: "time after which a part of a worker that is not reachable goes to another worker",
    },
    {
      name: "slots",
      commands: ["campaign work"],
      takes: wholeNumberType(1, MAX_SLOTS),
      default: `${DEFAULT_SLOTS}`,
      help: "number of parts that this worker scans at the same time",
    },
    {
      name: "output",
      short: "o",
      commands: ["campaign collect"],
      takes: { ...WRITTEN_FILE, placeholder: "DATABASE" },
      withoutSecrets: withoutPassword,
      help: "the database that gets the rows: a file (.db) or a URL (postgres:)",
    },
    {
      name: "once",
      commands: ["campaign collect"],
      help: "end as soon as no results wait",
    },
    {
      name: "watch",
      commands: ["campaign status"],
      help: "show the progress until Ctrl-C, on a terminal in place",
    },
    {
      name: "json",
      commands: ["campaign status", "campaign list"],
      help: "print one JSON object per campaign",
    },
    { name: "json", commands: ["campaign submit"], help: "with --dry-run: print JSON" },
    {
      name: "nats",
      commands: ALL,
      takes: anyText("URL"),
      default: "nats://127.0.0.1:4222",
      withoutSecrets: redactUrl,
      help:
        "the NATS server, with user and password if it needs them, or @FILE that contains the URL; " +
        "tls: requires TLS",
    },
    {
      name: "nats-ca",
      commands: ALL,
      takes: FILE,
      help: "file of the certificate authority of the NATS server (PEM)",
    },
    {
      name: "nats-creds",
      commands: ALL,
      takes: FILE,
      help: "file with the credentials of a NATS user (.creds)",
    },
    {
      name: "nats-nkey",
      commands: ALL,
      takes: FILE,
      help: "file with the seed of the NKey of a NATS user",
    },
  ],
} as const satisfies OptionGroup;
