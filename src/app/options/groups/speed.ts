/**
 * Options: rates, retries, and the engine and route of probes.
 *
 * @module
 */
import { ENGINE_CHOICES } from "../../settings/engine_names.ts";
import { DEFAULTS } from "../../settings/defaults.ts";
import { STREAM_LIMITS } from "../../../net/mod.ts";
import { DEFAULT_SPEED, LOOPBACK_SPEED } from "../../settings/defaults.ts";
import { ADDRESS, MAC, SOURCE_PORTS } from "../domain_value_types.ts";
import type { OptionGroup } from "../option.ts";
import { verifyHelp } from "../protocol_help.ts";
import {
  anyText,
  BITS,
  CAMPAIGN_RATE,
  CAP,
  oneOfType,
  RATE,
  RATE_OR_AUTO,
  RETRIES,
  timeType,
  wholeNumberType,
} from "../value_types.ts";

/** Maximum number of sender threads: more threads than cores send no faster. */
const MAX_THREADS = 64;
/** With less than a millisecond, every host would time out. */
const MIN_TIMEOUT = { ms: 1, text: "1 ms" };

const RATE_OPTION = { name: "rate", short: "r", aliases: ["max-rate"] } as const;

const CONCURRENCY_OPTION = {
  name: "concurrency",
  short: "c",
  takes: wholeNumberType(1, 100_000),
  help: "maximum number of servers queried at the same time",
} as const;

/** Options that limit rates, timeouts and repetitions, and choose the engine. */
export const SPEED = {
  title: "Speed",
  options: [
    {
      ...RATE_OPTION,
      commands: ["scan"],
      takes: RATE_OR_AUTO,
      onResume: "free",
      defaultText: `${DEFAULT_SPEED.rate}, loopback: no limit`,
      help: "maximum packets per second: 500, 10k, auto or auto:50k",
    },
    {
      ...RATE_OPTION,
      commands: ["campaign submit"],
      takes: CAMPAIGN_RATE,
      defaultText: `${DEFAULT_SPEED.rate}, loopback: no limit`,
      help: "maximum packets per second of all workers together, for example 500 or 10k",
    },
    {
      ...RATE_OPTION,
      commands: ["watch", "crawl"],
      takes: RATE,
      defaultText: `${DEFAULTS.watch.rate}, loopback: no limit`,
      help: "maximum packets per second, for example 500 or 10k",
    },
    {
      name: "bandwidth",
      commands: ["scan", "campaign submit"],
      takes: BITS,
      onResume: "free",
      help: "maximum bits per second on Ethernet, for example 500k, 10M or 1G",
    },
    {
      name: "net-rate",
      commands: ["scan", "crawl", "campaign submit"],
      takes: CAP,
      onResume: "free",
      defaultText: `${DEFAULT_SPEED.netRate}, loopback: no limit`,
      help: "maximum packets per second to a /24 (IPv6: /48), or off",
    },
    {
      name: "host-rate",
      commands: ["scan", "crawl", "campaign submit"],
      takes: CAP,
      onResume: "free",
      defaultText: `${DEFAULT_SPEED.hostRate}, loopback: no limit`,
      help: "maximum packets per second to one address, or off",
    },
    {
      ...CONCURRENCY_OPTION,
      commands: ["scan"],
      onResume: "free",
      default: `${DEFAULTS.scan.concurrency}`,
    },
    {
      ...CONCURRENCY_OPTION,
      commands: ["campaign submit"],
      default: `${DEFAULTS.scan.concurrency}`,
      help: "maximum number of servers of a part queried at the same time",
    },
    {
      ...CONCURRENCY_OPTION,
      commands: ["watch"],
      defaultText: `${DEFAULTS.watch.concurrency}, more if --interval requires it`,
    },
    {
      name: "timeout",
      short: "t",
      commands: ["scan", "query", "watch", "crawl", "campaign submit"],
      takes: timeType(MIN_TIMEOUT),
      defaultText: `${DEFAULTS.timeoutMs}ms, over TCP ${STREAM_LIMITS.totalMs / 1000}s`,
      help: "time to wait for a reply: 2s or 800ms",
    },
    {
      name: "retries",
      aliases: ["max-retries"],
      commands: ["scan", "query", "watch", "crawl", "campaign submit"],
      takes: RETRIES,
      default: {
        scan: `${DEFAULTS.scan.retries}`,
        "campaign submit": `${DEFAULTS.scan.retries}`,
        query: `${DEFAULTS.query.retries}`,
        watch: `${DEFAULTS.watch.retries}`,
        crawl: `${DEFAULTS.watch.retries}`,
      },
      help: "number of times that an unanswered probe is repeated",
    },
    {
      name: "cooldown",
      aliases: ["wait", "cooldown-time"],
      commands: ["scan", "campaign submit"],
      takes: timeType(),
      defaultText: `${DEFAULT_SPEED.cooldownMs / 1000}s, loopback: ${
        LOOPBACK_SPEED.cooldownMs / 1000
      }s`,
      help: "maximum wait for late replies after the last probe; no wait if all targets replied",
    },
    {
      name: "no-follow",
      commands: ["scan", "campaign submit"],
      help: "do not query responding servers in the other protocols",
    },
    { name: "verify", commands: ["scan", "query", "campaign submit"], help: verifyHelp },
    {
      name: "engine",
      commands: ["scan", "campaign work"],
      takes: oneOfType(ENGINE_CHOICES),
      onResume: "free",
      defaultText: "udp if FFI is granted",
      help: "what sends and receives packets: portable, udp, packet, xdp or fastest",
    },
    {
      name: "threads",
      commands: ["scan"],
      takes: wholeNumberType(0, MAX_THREADS),
      onResume: "free",
      defaultText: "0; with --engine fastest also more, on fast scans",
      help: "number of sender threads (engine udp, packet or xdp); with 0 the main thread sends",
    },
    {
      name: "interface",
      aliases: ["adapter"],
      commands: ["scan", "campaign work"],
      takes: anyText("NAME"),
      onResume: "free",
      defaultText: "the one on the route to most targets",
      help: "engines packet and xdp: the network interface that sends",
    },
    {
      name: "gateway-mac",
      aliases: ["router-mac"],
      commands: ["scan", "campaign work"],
      takes: MAC,
      onResume: "free",
      defaultText: "from the kernel, or by ARP",
      help: "engines packet and xdp: the MAC address of the gateway",
    },
    {
      name: "source-port",
      commands: ["scan"],
      takes: SOURCE_PORTS,
      onResume: "free",
      help: "local UDP port to send from; with several ports, each gets a socket",
    },
    {
      name: "source-ip",
      commands: ["scan", "campaign work"],
      takes: ADDRESS,
      onResume: "free",
      help: "local address to send from",
    },
  ],
} as const satisfies OptionGroup;
