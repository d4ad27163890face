/**
 * Options that choose what is probed, and in which order.
 *
 * @module
 */
import { tidyText } from "../../../core/text.ts";
import { withoutPassword } from "../connection_environment.ts";
import { DEFAULTS } from "../../settings/defaults.ts";
import {
  BUDGET,
  CONTACT,
  PER_DAY,
  PORTS,
  POSITION,
  PROTOCOL_LIST,
  SHARD,
  YIELD,
} from "../domain_value_types.ts";
import type { OptionGroup } from "../option.ts";
import { broadcastPortsText, defaultProtocols, protocolHelp } from "../protocol_help.ts";
import { anyText, COUNT, FILE, valueType, wholeNumberType } from "../value_types.ts";

/** The largest seed: whole numbers up to it are exact. */
const MAX_SEED = Number.MAX_SAFE_INTEGER;
/** The default of `--ports`, and what adaptive discovery adds. */
const [USUAL_PORTS, AROUND] = [
  "the usual ports of the protocols",
  `${DEFAULTS.adaptive.portsAround} on either side`,
];

/** Options that choose targets, exclusions and their order. */
export const TARGETS = {
  title: "Targets",
  options: [
    {
      name: "input-file",
      aliases: ["iL", "includefile", "allowlist-file"],
      commands: ["scan", "watch", "campaign submit"],
      takes: FILE,
      repeat: true,
      help: "read targets or rows from a file, - for standard input (also -iL)",
    },
    {
      name: "rescan",
      commands: ["scan"],
      takes: FILE,
      withoutSecrets: withoutPassword,
      help: "probe the servers of a database again, before other targets",
    },
    {
      name: "exclude",
      commands: ["scan", "crawl", "serve", "campaign submit", "campaign work"],
      takes: anyText("LIST"),
      repeat: true,
      help: "addresses, ranges or names that are not probed",
    },
    {
      name: "exclude-file",
      short: "b",
      aliases: ["excludefile", "blocklist-file"],
      commands: ["scan", "crawl", "serve", "campaign submit", "campaign work"],
      takes: FILE,
      repeat: true,
      help: "read exclusions from a file",
    },
    {
      name: "ports",
      short: "p",
      aliases: ["port"],
      commands: ["scan", "crawl", "campaign submit"],
      takes: PORTS,
      help: "ports to probe, such as 25565-25570,U:19132 (U: only UDP, T: only TCP)",
      defaultText: {
        "scan": `the usual ports; with --adaptive also ${AROUND}`,
        "crawl": `${USUAL_PORTS}, and ${AROUND}`,
        "campaign submit": USUAL_PORTS,
      },
    },
    {
      name: "ports",
      short: "p",
      aliases: ["port"],
      commands: ["lan"],
      takes: PORTS,
      help: "UDP ports of broadcasts, such as 19132-19140",
      defaultText: broadcastPortsText,
    },
    {
      name: "protocol",
      commands: ["scan", "query", "watch", "campaign submit"],
      takes: PROTOCOL_LIST,
      help: protocolHelp,
      defaultText: defaultProtocols,
    },
    {
      name: "allow-private",
      commands: ["scan", "query", "watch", "crawl", "serve", "campaign submit"],
      help: "let names that are not local resolve to private addresses",
    },
    {
      name: "strict",
      commands: ["scan", "watch", "campaign submit"],
      onResume: "free",
      help: "refuse targets with a name that cannot be found, in place of leaving the name out",
    },
    {
      name: "i-have-permission",
      commands: ["scan", "crawl", "campaign submit"],
      onResume: "free",
      help: "confirm that you may scan public addresses, or more than a million private ones",
    },
    {
      name: "contact",
      commands: ["scan", "watch", "crawl", "campaign submit"],
      takes: CONTACT,
      onResume: "free",
      help:
        "who answers complaints, kept with the scan; needed for public addresses, except by watch",
      defaultText: "that of the first command with it",
    },
  ],
} as const satisfies OptionGroup;

/** Options that choose the order of the targets. */
export const ORDER = {
  title: "Order",
  options: [
    {
      name: "seed",
      commands: ["scan", "campaign submit"],
      takes: wholeNumberType(0, MAX_SEED),
      defaultText: "random",
      help: "number that determines the order: the same seed gives the same order",
    },
    {
      name: "seed",
      commands: ["fleet", "demo"],
      takes: wholeNumberType(0, MAX_SEED),
      default: "1",
      help: "number that determines the fleet: the same seed gives the same fleet",
    },
    {
      name: "no-randomize",
      commands: ["scan", "campaign submit"],
      help: "probe addresses and ports in ascending order",
    },
    {
      name: "shard",
      commands: ["scan"],
      takes: SHARD,
      default: "1/1",
      help:
        "scan only shard I of N (I is 1 to N): whole networks (/24, IPv6: /48); all shards need the same --seed",
    },
    {
      name: "from",
      commands: ["scan"],
      takes: POSITION,
      default: "1:0",
      help: "start at the position that a stopped scan printed; T: marks a position over TCP",
    },
  ],
} as const satisfies OptionGroup;

export const ADAPTIVE = {
  title: "Adaptive scans",
  options: [
    {
      name: "adaptive",
      commands: ["scan"],
      help: "probe in passes: each is planned from the servers that earlier passes found",
    },
    {
      name: "budget",
      commands: ["scan"],
      takes: BUDGET,
      onResume: "free",
      defaultText: `${100 * DEFAULTS.adaptive.share}%`,
      help: "with --adaptive: end after 50% (of one probe for each target address), after 200M " +
        "probes (k, M, G), or after 12h (s, m, h)",
    },
    {
      name: "stop-below",
      commands: ["scan"],
      takes: YIELD,
      onResume: "free",
      help: "with --adaptive: end when passes find fewer servers per million probes, such as 5/M",
    },
    {
      name: "known",
      commands: ["scan"],
      takes: { ...FILE, placeholder: "DATABASE|FILE" },
      withoutSecrets: withoutPassword,
      help: "with --adaptive: servers that were known before, from a database or a file of rows; " +
        "those among the targets are probed first",
    },
    {
      name: "budget",
      commands: ["crawl"],
      takes: PER_DAY,
      help:
        "probes per day, of known servers and of discovery, at least 1000/day; for example 50M/day",
    },
    {
      name: "stop-below",
      commands: ["crawl"],
      takes: YIELD,
      help: "begin discovery anew when it finds fewer servers per million probes, such as 5/M",
    },
    {
      name: "net-budget",
      commands: ["crawl"],
      takes: COUNT,
      defaultText: `${DEFAULTS.adaptive.netBudget}`,
      help: "maximum number of probes of one round of discovery to a /24; the protocols share it",
    },
    {
      name: "net-budget",
      commands: ["scan"],
      takes: COUNT,
      defaultText: `${DEFAULTS.adaptive.netBudget}`,
      help:
        "with --adaptive: maximum number of probes to a /24 in all passes; the protocols share it",
    },
  ],
} as const satisfies OptionGroup;

/** Maximum length of a text in an entry, characters. */
const MAX_TEXT = 200;

/** A text that fits into a field of a line. */
const ONE_LINE = valueType(
  "TEXT",
  `1 to ${MAX_TEXT} visible characters, with single spaces and none at the ends`,
  (text) =>
    text !== "" && [...text].length <= MAX_TEXT && text === tidyText(text) ? text : undefined,
);

/** Options of the opt-out file, and of the page for people who are probed. */
export const OPT_OUTS = {
  title: "Contact and opt-outs",
  options: [
    {
      name: "why",
      commands: ["opt-out add"],
      takes: ONE_LINE,
      help: "the reason, such as the text of the request; required",
    },
    {
      name: "from",
      commands: ["opt-out add"],
      takes: ONE_LINE,
      help: "who wants the opt-out, such as a mail address; required",
    },
    {
      name: "contact",
      commands: ["contact-page"],
      takes: CONTACT,
      help: "who answers complaints: an e-mail address or a URL",
      defaultText: "that of the first command with it",
    },
    {
      name: "operator",
      commands: ["contact-page"],
      takes: ONE_LINE,
      help: "who scans, such as the name of a person or an organisation",
    },
    {
      name: "purpose",
      commands: ["contact-page"],
      takes: ONE_LINE,
      help: "why you scan, in one sentence",
    },
    {
      name: "retention",
      commands: ["contact-page"],
      takes: ONE_LINE,
      help: "how long you store results, such as 90 days",
    },
    {
      name: "ranges",
      commands: ["opt-out list"],
      help: "print only networks, one a line, for --exclude-file and for other scanners",
    },
    {
      name: "json",
      commands: ["opt-out list"],
      help: "print one JSON object per entry",
    },
  ],
} as const satisfies OptionGroup;
