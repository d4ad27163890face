/**
 * The query command: one or several servers, each in every protocol.
 *
 * @module
 */
import { formatEndpoint } from "../../core/address.ts";
import { Malformed, Truncated } from "../../core/bytes.ts";
import { InputError } from "../../core/errors.ts";
import type { Outcome } from "../../core/record.ts";
import type { Protocol } from "../../protocols/protocol.ts";
import { harmlessText } from "../../core/text.ts";
import { requestText } from "../../targets/srv.ts";
import type { CommandCall } from "../options/command_line.ts";
import { readArgs, typedNames } from "../options/parse_arguments.ts";
import { outputColumns, print, reportError, reportLine, writeRows } from "../term/console.ts";
import { EXIT, onInterrupt } from "../../app/mod.ts";
import {
  locateHosts,
  type NamedHost,
  type QueriedEndpoint,
  type QueryCall,
  queryEndpoints,
  readQuery,
  recordsOf,
} from "../../app/query/mod.ts";
import { contextNetwork } from "../../app/network/call_context.ts";
import { FoundRows, planFoundRows } from "../../app/outputs/mod.ts";
import { protocolsOf } from "../../app/settings/mod.ts";
import { versionsWith } from "../../classify/game_versions.ts";
import { describe, useColor } from "../term/server_description.ts";

/** Maximum number of hosts that are queried at the same time. */
const MAX_AT_ONCE = 32;

/** Runs `query`; returns the exit code. */
export async function runQuery({ args, allProtocols }: CommandCall): Promise<number> {
  const request = readQuery(readArgs("query", args), {
    allProtocols,
    warn: reportLine,
    note: reportError,
    nameOf: typedNames("query", args),
  }, contextNetwork);
  const { options, words } = request;
  if (words.length === 0) throw new InputError("Cannot query: name a host, as HOST or HOST:PORT");
  const plans = planFoundRows(options, outputColumns());
  const hosts = await locateHosts(request);
  using interrupt = onInterrupt(() => {});
  await using rows = plans.length === 0
    ? undefined
    : await FoundRows.open(plans, options.append, { writeRows, report: reportLine });
  const show = printer(request, rows);
  using wait = announceWait(request, reportLine, Deno.stderr.isTerminal());
  const replied = await queryAll(
    hosts,
    async (...shown) => {
      wait[Symbol.dispose]();
      return await show(...shown);
    },
    request,
    interrupt.signal,
  );
  await rows?.close();
  if (interrupt.signal.aborted) return EXIT.interrupted;
  return replied && hosts.length === words.length ? EXIT.done : EXIT.failed;
}

/** Time until a line says what the query waits for, milliseconds. */
const ANNOUNCED_MS = 1000;

/**
 * Prints what the query waits for on a terminal, after a second, unless the result is disposed before.
 * It is disposed before the first host is shown, so that the line is never between rows.
 */
export function announceWait(
  { options, network: { clock } }: QueryCall,
  show: (line: string) => void,
  isTerminal: boolean,
): Disposable {
  if (options.quiet || !isTerminal) return { [Symbol.dispose]: () => {} };
  const names = protocolsOf(options).map(({ name }) => name);
  const hint = names.length > 1 ? ` (--protocol ${names[0]} queries only one)` : "";
  const line = `waiting for replies in ${names.join(", ")}${hint}`;
  return { [Symbol.dispose]: clock.after(ANNOUNCED_MS, () => show(line)) };
}

/** Prints the replies of a host; returns whether there were any. */
type ShowHost = (host: NamedHost, queried: readonly QueriedEndpoint[]) => Promise<boolean>;

/**
 * Queries hosts, several at the same time but never two at one address, and shows them in order.
 *
 * @returns Whether all hosts replied.
 */
async function queryAll(
  hosts: readonly NamedHost[],
  show: ShowHost,
  request: QueryCall,
  interrupted: AbortSignal,
): Promise<boolean> {
  const failed = new AbortController();
  const signal = AbortSignal.any([interrupted, failed.signal]);
  const byAddress = Map.groupBy(
    hosts.keys(),
    (i) => hosts[i].located.endpoints[0].endpoint.address,
  );
  const groups = byAddress.values();
  const queried: (readonly QueriedEndpoint[])[] = [];
  let [shown, missing, printing] = [0, 0, Promise.resolve()];
  const showNext = async () => {
    for (; queried[shown] !== undefined && !interrupted.aborted; shown++) {
      if (!await show(hosts[shown], queried[shown])) missing++;
    }
  };
  const worker = async () => {
    for (const group of groups) {
      for (const i of group) {
        if (signal.aborted) return;
        queried[i] = await queryEndpoints(hosts[i].located, request, signal);
        await (printing = printing.then(showNext));
      }
    }
  };
  try {
    await Promise.all(Array.from({ length: MAX_AT_ONCE }, worker));
  } finally {
    failed.abort();
  }
  return missing === 0;
}

/** Writes hosts to the outputs; without outputs, describes them on standard output. */
function printer(
  request: QueryCall,
  rows: FoundRows | undefined,
): ShowHost {
  const { quiet, noColor, allProtocols } = request.options;
  const color = useColor(noColor);
  let described = 0;
  return async ({ word, located }, queried) => {
    const records = recordsOf(request, queried);
    for (const record of records) {
      await rows?.add(record);
      rows?.signal.throwIfAborted();
      if (rows !== undefined) continue;
      const lines = describe(record, color, allProtocols, versionsWith);
      if (described++ > 0) lines.unshift(""); // a blank line between servers
      await print(lines.join("\n"));
    }
    for (const { protocolsThere: { endpoint }, server } of quiet ? [] : queried) {
      if (!server.hasOptedOut) continue;
      reportError(
        `${formatEndpoint(endpoint)} opts out: scan, lan and watch leave its address out`,
      );
    }
    if (records.length > 0) return true;
    const reasons = queried.map((one) => attempts(one, located.name, allProtocols)).join("; ");
    // The endpoint of a host that was named as HOST:PORT is printed only once.
    const shown = quiet ? word : reasons.startsWith(`${word} (`) ? reasons : `${word}: ${reasons}`;
    reportError(`no reply from ${shown}`);
    return false;
  };
}

/** Descriptions of outcomes of exchanges and connections. */
const ENDINGS: Readonly<Record<string, string>> = {
  noReply: "no reply",
  slow: "no complete reply in time",
  timeout: "timed out",
  noTls: "TLS handshake failed",
  closed: "closed without status",
  reset: "closed without status",
  exhausted: "no file descriptor",
};

/** Describes how an exchange, or its connection, ended. */
function ending(outcome: Outcome<unknown>, protocol: Protocol | undefined): string {
  if (outcome.kind === "replied" && protocol?.isWeak?.(outcome.status)) {
    return "reply without a status";
  }
  if (outcome.kind === "malformed") return `malformed${faultOf(outcome.error)}`;
  const word = outcome.kind === "noReply" ? outcome.why ?? outcome.kind : outcome.kind;
  return ENDINGS[word] ?? word;
}

/** What is wrong with a reply, as its decoder names it. */
function faultOf(error: Error): string {
  if (error instanceof Malformed) return `: ${harmlessText(error.what)}`;
  return error instanceof Truncated ? `: ends before ${harmlessText(error.what)}` : "";
}

/** The protocols sent to an endpoint, and their outcomes: `127.0.0.1:25565 (slp refused)`. */
function attempts(
  { protocolsThere: { endpoint, service }, server }: QueriedEndpoint,
  name: string | null,
  allProtocols: readonly Protocol[],
) {
  const tried = server.outcomes.map(({ protocol, outcome }) =>
    `${protocol} ${ending(outcome, allProtocols.find((one) => one.name === protocol))}`
  );
  const suppressed = server.suppressed.map((protocol) => `${protocol} not sent`);
  const led = service === undefined ? "" : ` by ${requestText(name!, service)}`;
  return `${formatEndpoint(endpoint)}${led} (${[...tried, ...suppressed].join(", ")})`;
}
