/**
 * What a scan says when it has ended.
 *
 * @module
 */
import type { ScanEnd } from "../../scan/scan_options.ts";
import {
  type EndReason,
  MOST_NAMED,
  type OmittedEndpoint,
  type ScanState,
} from "../../scan/scan_state.ts";
import { formatAddress } from "../../core/address.ts";
import { portList } from "../../targets/ports.ts";
import { programName } from "./console.ts";
import { INTERRUPTED } from "../../app/interrupt_signals.ts";
import { lossLines, rateLines } from "./loss_lines.ts";
import { type Continuable, continueLines } from "./scan_continuation.ts";
import type { Plan } from "../../app/targets/scan_plan.ts";
import { countOf, withCommas } from "../../core/quantities.ts";
import { codeList } from "../../app/engines/send_error_lines.ts";

const REASONS: Readonly<Record<EndReason, string>> = {
  "done": "done",
  "incomplete": "incomplete",
  "interrupted": "interrupted",
  "max-results": "ended by --max-results",
  "max-runtime": "ended by --max-runtime",
  "failed": "failed",
};

/**
 * The lines of the summary.
 *
 * @param outputs Where all rows went.
 * @param retries How often the silent were asked again.
 */
export function summary(
  state: ScanState,
  { reason }: ScanEnd,
  outputs: readonly { readonly path: string }[],
  retries: number,
): string[] {
  const { replies, tcp } = state;
  const seconds = ((performance.now() - state.startedAt) / 1000).toFixed(1);
  const named = outputs.map(({ path }) => path === "-" ? "standard output" : path).join(", ");
  const arrived = Object.values(replies).reduce((sum, count) => sum + count, 0);
  const kinds = Object.entries(replies).map(([kind, count]) => `${withCommas(count)} ${kind}`);
  return [
    `${REASONS[reason]} in ${seconds} s: ${countOf(state.written, "row")} written to ${named}` +
    (state.lost > 0 ? `, ${withCommas(state.lost)} lost` : ""),
    ...(state.passes === 0 ? [] : [
      `sent ${countOf(state.sent, "probe")} in ${state.pass} of ${state.passes} passes` +
      (state.refused > 0 ? `; ${withCommas(state.refused)} more were refused by the system` : "") +
      (Object.keys(state.errors).length > 0 ? ` (${codeList(state.errors)})` : ""),
      engineLine(state),
    ]),
    ...(tcp.passes === 0 ? [] : [
      `began ${countOf(tcp.sent, "connection")} in ${tcp.pass} of ${tcp.passes} passes: ` +
      Object.entries(tcp.counts).map(([kind, sum]) => `${withCommas(sum)} ${kind}`).join(", "),
    ]),
    ...shortageLines(state),
    `received ${countOf(arrived, "datagram")} besides conversations: ${kinds.join(", ")}`,
    ...omittedLines(state),
    ...floodLines(state),
    ...rateLines(state),
    ...lossLines(state, reason === "done" ? retries : undefined),
    ...(state.aliases > 0
      ? [`${countOf(state.aliases, "row")} of servers that another row describes (alias_of)`]
      : []),
    ...(state.noStatus > 0 ? [`${countOf(state.noStatus, "server")} told no status`] : []),
    ...(state.optedOut > 0 ? [`${countOf(state.optedOut, "server")} asked to be left alone`] : []),
  ];
}

/** What no descriptor could be had for. */
function shortageLines({ tcp, uninspected, inspectedInPart }: ScanState): string[] {
  const were = (sum: number) => sum === 1 ? "was" : "were";
  const short = "for lack of descriptors";
  const advice = "raise the limit (ulimit -n), or lower --concurrency";
  return [
    ...(tcp.unprobed === 0 ? [] : [
      `results are incomplete: ${countOf(tcp.unprobed, "TCP target")} ${were(tcp.unprobed)} not ` +
      `probed ${short}; ${advice}`,
    ]),
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

/** Endpoints that can be interviewed at once at one address without a proof of any. */
const MOST_AGAIN = 64;

/** The hosts of endpoints that were omitted, and a command that finds servers among the first ones. */
function omittedLines({ replies: { omitted }, omittedAt }: ScanState): string[] {
  if (omitted === 0) return [];
  const hosts = [...Map.groupBy(omittedAt, ({ endpoint }) => formatAddress(endpoint.address))];
  const named = hosts.slice(0, MOST_NAMED).map(([host, { length }]) => `${host} (${length})`)
    .join(", ");
  const rest = hosts.length > MOST_NAMED ? ", and others" : "";
  return [
    `results may be incomplete: ${countOf(omitted, "endpoint")} that replied ` +
    `${omitted === 1 ? "was" : "were"} omitted, because too many replies were unverified` +
    (named === "" ? "; scan again" : `: ${named}${rest}`), // a resumed scan knows only how many
    ...hosts.slice(0, 1).map(([host, endpoints]) =>
      `scan omitted endpoints again, at most ${MOST_AGAIN} of a host at a time: ` +
      scanAgainCommand(host, endpoints.slice(0, MOST_AGAIN))
    ),
  ];
}

/** The command that scans omitted endpoints of a host. */
function scanAgainCommand(host: string, omitted: readonly OmittedEndpoint[]): string {
  const protocols = [...new Set(omitted.map(({ protocol }) => protocol))].join(",");
  const ports = portList(omitted.map(({ endpoint }) => endpoint.port));
  return [programName(), "scan", host, "--protocol", protocols, "-p", ports].join(" ");
}

/** How many known servers were sent nothing, for the user named other protocols than theirs. */
export function unprobedLines({ unprobed }: Pick<Plan, "unprobed">): string[] {
  if (unprobed === 0) return [];
  const [were, their] = unprobed === 1 ? ["was", "its"] : ["were", "their"];
  return [
    `${
      countOf(unprobed, "known server")
    } ${were} not probed: none of ${their} protocols is among ` +
    "those of --protocol",
  ];
}

/** The hosts that flooded, and what that means for the results. */
function floodLines({ floods: { hosts, datagrams, addresses, disturbed } }: ScanState): string[] {
  if (hosts === 0) return [];
  const named = addresses.slice(0, MOST_NAMED).join(",");
  const rest = hosts > MOST_NAMED ? ` (and ${withCommas(hosts - MOST_NAMED)} more)` : "";
  return [
    `${countOf(hosts, "host")} flooded, or datagrams were forged in ` +
    `${hosts === 1 ? "its" : "their"} name: left out of retries and follow-ups; ` +
    `${countOf(datagrams, "more datagram")}`,
    disturbed.length === 0
      ? `flooding ${hosts === 1 ? "host" : "hosts"}: ${named}${rest}`
      : `results are incomplete: the flood disturbed every pass of ${disturbed.join(", ")}; scan ` +
        `again with more --retries, or at a lower --rate, or, which leaves their servers out, ` +
        `with --exclude ${named}${rest}`,
  ];
}

/** The engine; its buffers where they were asked for, and what found no room in them. */
function engineLine({ engine, threads, receiveBuffer, dropped, waits }: ScanState): string {
  const mebibytes = (receiveBuffer / 2 ** 20).toFixed(1).replace(".0", "");
  return `engine ${engine}` + (threads === 0 ? "" : `, ${countOf(threads, "sending thread")}`) +
    (engine === "portable" ? "" : `, receive buffer ${mebibytes} MiB`) +
    (Object.keys(waits).length > 0 ? `, sending waited (${codeList(waits)})` : "") +
    (dropped === 0
      ? ""
      : `; ${countOf(dropped, "datagram")} found no room in it: servers may be missing, a lower ` +
        "--rate or another pass (--retries) finds them");
}

/** The exit code of a scan. */
export function exitCode(reason: EndReason): number {
  if (reason === "failed" || reason === "incomplete") return 1;
  return reason === "interrupted" ? INTERRUPTED : 0;
}

/**
 * What is printed behind the summary, or with `--quiet` in its place: what was left out for lack of
 * descriptors, where no summary names it, and how to continue a scan that has not finished.
 *
 * @param checkpoint Its checkpoint, as the user may type it.
 */
export function endLines(
  job: Continuable,
  state: ScanState,
  end: ScanEnd,
  checkpoint: string | undefined,
): string[] {
  const left = job.settings.has("quiet") ? shortageLines(state) : [];
  return [...left, ...continueLines(job, state, end, checkpoint)];
}
