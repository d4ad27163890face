/**
 * The summary of a scan.
 *
 * @module
 */
import type { Clock } from "../../net/clock.ts";
import {
  type AdaptiveEnd,
  type AdaptiveReport,
  type EndReason,
  MAX_NAMED,
  refusedTransports,
  type ScanEnd,
  type ScanState,
} from "../../scan/mod.ts";
import { EXIT } from "../../app/mod.ts";
import type { Plan } from "../../app/targets/mod.ts";
import { codeList, outageText, refusalText } from "../../app/engines/mod.ts";
import { omittedLines, type RepeatedScope } from "./omitted_lines.ts";
import { lossLines, rateLines } from "./loss_lines.ts";
import { type Continuable, continueLines } from "./scan_continuation.ts";
import { formatAddress } from "../../core/address.ts";
import { countOf, withCommas } from "../../core/quantities.ts";
import { digits } from "./status_line.ts";

const REASONS: Readonly<Record<EndReason, string>> = {
  "done": "done",
  "incomplete": "incomplete",
  "interrupted": "interrupted",
  "max-results": "ended by --max-results",
  "max-runtime": "ended by --max-runtime",
  "failed": "failed",
};

/** Maximum number of unresponsive networks that the summary names. */
const MAX_NETWORKS = 3;

/** An output of a scan that has ended. */
interface SummarizedOutput {
  readonly path: string;
  /** Number of rows that a database lacks, because they are in its spill file. Default: 0. */
  readonly waiting?: number;
}

/** The data of a summary besides the state of the scan. */
export interface SummaryScope {
  /** The outputs to which the rows were written. */
  readonly outputs: readonly SummarizedOutput[];
  /** The databases among these, with the passwords of their URLs. */
  readonly databases: RepeatedScope["databases"];
  /** Number of repetitions of probes without a reply. */
  readonly retries: number;
  /** Options as they were given, for commands that the summary prints. */
  readonly given: RepeatedScope["given"];
  /** The clock of the scan. */
  readonly clock: Pick<Clock, "now" | "wall">;
  /** Whether all counters are printed. Default: the important ones. */
  readonly verbose?: boolean;
}

/**
 * The lines of the summary: at most six without problems and without `--verbose`.
 */
export function summary(
  state: ScanState,
  { reason }: ScanEnd,
  { outputs, databases, retries, given, clock, verbose = false }: SummaryScope,
): string[] {
  const isResumable = reason !== "done" && reason !== "max-results";
  const seconds = ((clock.now() - state.startedAt) / 1000).toFixed(1);
  return [
    `${REASONS[reason]} in ${seconds} s: ${writtenText(state.written, outputs)}` +
    (state.lost > 0 ? `, ${withCommas(state.lost)} lost` : ""),
    ...(state.passes === 0 ? [] : [udpLine(state, verbose)]),
    ...(state.tcp.passes === 0 ? [] : [tcpLine(state.tcp, verbose)]),
    ...unresponsiveLines(state.tcp),
    ...(verbose && state.passes > 0 ? [engineLine(state)] : []),
    ...serversLine(state),
    ...adaptiveLines(state.adaptive),
    ...networkLines(state, clock.wall()),
    ...shortageLines(state),
    ...droppedLines(state),
    ...omittedLines(state, { given, databases, isResumable }),
    ...floodLines(state, verbose),
    ...rateLines(state),
    ...lossLines(state, reason === "done" && state.adaptive === undefined ? retries : undefined),
  ];
}

const ENDS: Readonly<Record<AdaptiveEnd, string>> = {
  "budget": "ended because the budget was spent",
  "stop-below": "ended by --stop-below",
  "nothing-left": "ended because nothing was left to probe within the budget of each /24",
};

/** The probes of an adaptive scan, why it ended, and the estimated number of servers. */
function adaptiveLines(
  report: AdaptiveReport | undefined,
): string[] {
  if (report === undefined) return [];
  const { spent, evenSweep, recentYield, level, estimates, endedHosts, endedNetworks, ended } =
    report;
  const share = evenSweep === 0 ? 0 : 100 * spent / evenSweep;
  const parts = [
    `adaptive: ${countOf(spent, "probe")} in complete passes (${
      digits(share)
    }% of one for each address)`,
    ...spent === 0 ? [] : [
      `${digits(recentYield)} servers per million probes at the end (water level ${digits(level)})`,
    ],
    ...ended === undefined ? [] : [ENDS[ended]],
  ];
  return [
    parts.join(", "),
    ...estimates.map(({ protocol, estimate: { found, total, low, high, skipped } }) =>
      `${protocol}: found ${withCommas(found)} on default ports of about ${rounded(total)} ` +
      `(${rounded(low)} to ${rounded(high)})${skippedText(skipped)}`
    ),
    ...endedHosts === 0 ? [] : [
      `${countOf(endedHosts, "host")}${
        endedNetworks === 0 ? "" : ` and ${countOf(endedNetworks, "/24")}`
      } not probed further, because of one server on 8 ports or more`,
    ],
  ];
}

function rounded(servers: number): string {
  return withCommas(Math.round(servers));
}

/** The /12s in which the sample ended early, because it found few servers. */
function skippedText(skipped: readonly number[]): string {
  if (skipped.length === 0) return "";
  const rest = skipped.length - MAX_NAMED;
  const names = skipped.slice(0, MAX_NAMED).map((address) => `${formatAddress(address)}/12`);
  return `, with smaller samples in ${names.join(", ")}` +
    (rest > 0 ? ` and ${withCommas(rest)} more` : "");
}

/** How many rows each output has: `60 rows written to rows.csv; 13 to servers.db`. */
function writtenText(written: number, outputs: readonly SummarizedOutput[]): string {
  // An interrupted run may have spilled rows that are not counted, because no checkpoint has them.
  const counts = Map.groupBy(outputs, ({ waiting = 0 }) => Math.max(0, written - waiting));
  return [...counts].map(([count, outputs], i) => {
    const names = outputs.map(({ path }) => path === "-" ? "standard output" : path).join(", ");
    return `${i === 0 ? `${countOf(count, "row")} written` : withCommas(count)} to ${names}`;
  }).join("; ");
}

/** ` in 2 of 4 passes`; empty for a scan that reached its last pass, unless `always` is set. */
function passesText(
  { pass, passes }: { readonly pass: number; readonly passes: number },
  always: boolean,
): string {
  return always || pass < passes ? ` in ${pass} of ${countOf(passes, "pass", "passes")}` : "";
}

/** Probes over UDP, and the replies by class. */
function udpLine(state: ScanState, verbose: boolean): string {
  const { replies, refused, errors } = state;
  const { valid, unverified, duplicate, forged, malformed, unsolicited } = replies;
  const brief = { unverified, duplicate, invalid: forged + malformed + unsolicited };
  const { valid: _, ...all } = replies;
  const codes = Object.keys(errors).length === 0 ? "" : ` (${codeList(errors)})`;
  return `UDP: sent ${countOf(state.sent, "probe")}${passesText(state, verbose)}` +
    (refused > 0 ? `, ${withCommas(refused)} more refused by the system${codes}` : codes) +
    `; replies: ${listOf(valid, "valid", verbose ? all : brief, verbose)}`;
}

/** Probes over TCP, the replies by class, and the queries of open ports by outcome. */
function tcpLine(tcp: ScanState["tcp"], verbose: boolean): string {
  const { open, valid, invalid, closed, unresponsive, cancelled, unqueried, ...replies } =
    tcp.counts;
  const { refused, unreachable, forged } = replies;
  const outcomes = { invalid, "closed without status": closed, unresponsive, cancelled, unqueried };
  return `TCP: sent ${countOf(tcp.sent, "probe")}${passesText(tcp, verbose)}` +
    (tcp.refused > 0 ? `, ${withCommas(tcp.refused)} more refused by the system` : "") +
    `; replies: ${
      listOf(open, "open", verbose ? replies : { refused, unreachable, forged }, verbose)
    }` +
    (open > 0 ? `; open ports: ${listOf(valid, "valid", outcomes, verbose)}` : "");
}

/** The networks that accepted connections and replied to no query. */
function unresponsiveLines({ unresponsiveNetworks: networks }: ScanState["tcp"]): string[] {
  if (networks.size === 0) return [];
  const names = [
    ...networks.keys().take(MAX_NETWORKS),
    ...networks.size > MAX_NETWORKS ? ["…"] : [],
  ];
  const ports = networks.values().reduce((sum, one) => sum + one, 0);
  return [
    `TCP: ${countOf(networks.size, "network or host", "networks or hosts")} accepted connections ` +
    `and replied to no query (${names.join(", ")}): ${
      countOf(ports, "query", "queries")
    } without a reply; their other open ports were queried last`,
  ];
}

/** `31 valid, 19 duplicate`: the first count always, other counts of zero only if requested. */
function listOf(
  first: number,
  name: string,
  others: Readonly<Record<string, number>>,
  zeros: boolean,
): string {
  const shown = Object.entries(others).filter(([, count]) => zeros || count > 0);
  return [[name, first] as const, ...shown].map(([kind, count]) => `${withCommas(count)} ${kind}`)
    .join(", ");
}

/** Numbers of alias rows, and of servers without a full status or a row. */
function serversLine({ aliases, noStatus, optedOut }: ScanState): string[] {
  const parts = [
    ...(aliases === 0 ? [] : [`${countOf(aliases, "alias row")} (alias_of)`]),
    ...(noStatus === 0 ? [] : [`${withCommas(noStatus)} without a full status`]),
    ...(optedOut === 0 ? [] : [`${withCommas(optedOut)} opted out and not written`]),
  ];
  return parts.length === 0 ? [] : [`servers: ${parts.join(", ")}`];
}

/** The lines for a scan whose packets were all refused by the system, or that ended in an outage. */
function networkLines(state: ScanState, wall: number): string[] {
  const { errors, outage } = state;
  const [code] = Object.entries(errors).sort(([, a], [, b]) => b - a)[0] ?? [];
  const refused = { udp: "probe over UDP", tcp: "probe over TCP" };
  return [
    ...refusedTransports(state).map((one) =>
      `results are incomplete: the system refused every ${refused[one]}` +
      (code === undefined ? "" : ` ${refusalText(code)}`)
    ),
    ...(outage === undefined ? [] : [`results are incomplete: ${outageText(outage, wall)}`]),
  ];
}

/** Servers that were left out for lack of descriptors. */
function shortageLines({ uninspected, inspectedInPart }: ScanState): string[] {
  const were = (sum: number) => sum === 1 ? "was" : "were";
  const short = "for lack of descriptors";
  const advice = "raise the limit (ulimit -n), or lower --concurrency";
  return [
    ...(uninspected === 0 ? [] : [
      `results are incomplete: ${countOf(uninspected, "server")} ${were(uninspected)} not ` +
      `inspected ${short}; ${advice}`,
    ]),
    ...(inspectedInPart === 0 ? [] : [
      `${countOf(inspectedInPart, "server")} ${were(inspectedInPart)} inspected in part ${short} ` +
      `(flag cutShort); ${advice}`,
    ]),
  ];
}

/** How many known servers were not probed, because they speak none of the named protocols. */
export function unprobedLines({ unprobed }: Pick<Plan, "unprobed">): string[] {
  if (unprobed === 0) return [];
  const [were, they] = unprobed === 1 ? ["was", "it speaks"] : ["were", "they speak"];
  return [
    `${
      countOf(unprobed, "known server")
    } ${were} not probed: ${they} none of the protocols in --protocol`,
  ];
}

/** The hosts that flooded, and the effect on the results. */
function floodLines(state: ScanState, verbose: boolean): string[] {
  const { hosts, datagrams, addresses } = state.floods;
  if (hosts === 0) return [];
  return [
    `floods: ${countOf(hosts, "host")} sent ${
      withCommas(datagrams)
    } more datagrams than expected ` +
    `(source addresses may be forged), and got no retries or follow-ups` +
    (verbose ? `: ${firstOf(addresses)}` : ""),
    ...disturbedLines(state),
  ];
}

/** The line for protocols whose results are incomplete, because floods disturbed every pass. */
function disturbedLines({ floods: { disturbed, addresses } }: ScanState): string[] {
  if (disturbed.length === 0) return [];
  return [
    `results are incomplete: the floods disturbed every pass of ${disturbed.join(", ")}; scan ` +
    `again with more --retries or a lower --rate, or leave these servers out with ` +
    `--exclude ${firstOf(addresses)}`,
  ];
}

/** The first addresses of a list, and the number of the others. */
function firstOf(addresses: readonly string[]): string {
  const rest = addresses.length - MAX_NAMED;
  const more = rest > 0 ? ` (and ${withCommas(rest)} more)` : "";
  return addresses.slice(0, MAX_NAMED).join(",") + more;
}

/** Received datagrams that the system dropped. */
function droppedLines({ dropped, engine, receiveBuffer }: ScanState): string[] {
  if (dropped === 0) return [];
  const buffer = engine === "portable" ? "" : ` (${mebibytes(receiveBuffer)})`;
  return [
    `results may be incomplete: the system dropped ${countOf(dropped, "received datagram")}: the ` +
    `receive buffer${buffer} was full, or checksums were wrong; a lower --rate or more --retries find the missing servers`,
  ];
}

/** The engine with its threads and buffers. */
function engineLine({ engine, threads, receiveBuffer, waits }: ScanState): string {
  return `engine: ${engine}` + (threads === 0 ? "" : `, ${countOf(threads, "sender thread")}`) +
    (engine === "portable" ? "" : `, receive buffer ${mebibytes(receiveBuffer)}`) +
    (Object.keys(waits).length > 0 ? `, sending waited (${codeList(waits)})` : "");
}

function mebibytes(bytes: number): string {
  return `${(bytes / 2 ** 20).toFixed(1).replace(".0", "")} MiB`;
}

/** The exit code of a scan. A scan whose results floods made incomplete has not done its work. */
export function exitCode(reason: EndReason, { floods }: Pick<ScanState, "floods">): number {
  if (reason === "failed" || reason === "incomplete") return EXIT.failed;
  if (reason === "done" && floods.disturbed.length > 0) return EXIT.failed;
  return reason === "interrupted" ? EXIT.interrupted : EXIT.done;
}

/**
 * The lines after the summary; with `--quiet` they replace the summary. They report targets that
 * were left out for lack of descriptors, unless the summary does, and how to continue an unfinished
 * scan.
 *
 * @param checkpoint Path of the checkpoint, for a command line.
 * @param wall The time, Unix milliseconds.
 */
export function endLines(
  job: Continuable,
  state: ScanState,
  end: ScanEnd,
  checkpoint: string | undefined,
  wall: number,
): string[] {
  const left = job.options.quiet
    ? [...networkLines(state, wall), ...shortageLines(state), ...disturbedLines(state)]
    : [];
  return [...left, ...continueLines(job, state, end, checkpoint)];
}
