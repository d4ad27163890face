/**
 * The watch command: polls known servers, and prints an event for each change.
 *
 * @module
 */
import { EXIT, onInterrupt, ServiceState } from "../../../app/mod.ts";
import { contactReader, keepContact } from "../../../app/targets/mod.ts";
import {
  type PreparedWatch,
  prepareWatch,
  readWatch,
  runPreparedWatch,
} from "../../../app/watch/mod.ts";
import type { WatchCounts } from "../../../watch/mod.ts";
import { countOf } from "../../../core/quantities.ts";
import type { CommandCall } from "../../options/command_line.ts";
import { readArgs, typedNames } from "../../options/parse_arguments.ts";
import {
  draw,
  isDumb,
  logsJson,
  reportError,
  reportFigures,
  reportLine,
  terminalSize,
} from "../../term/console.ts";
import { EventPrinter } from "../../term/event_lines.ts";
import { openWatchTable } from "../../term/live/watch_table.ts";
import { useColor } from "../../term/server_description.ts";
import { startLine, watchFigures, watchSummary } from "../../term/watch_summary.ts";

/** Runs `watch` until Ctrl-C; returns the exit code. */
export async function runWatch({ args, allProtocols }: CommandCall): Promise<number> {
  const request = await readWatch(readArgs("watch", args), {
    allProtocols,
    warn: reportLine,
    note: reportError,
    nameOf: typedNames("watch", args),
    keptContact: contactReader(),
    listenForInterrupt: () => onInterrupt(() => {}),
  });
  await using watch = await prepareWatch(request);
  return await execute(watch);
}

/** Runs a watch, prints its events, and reports its result; returns the exit code. */
async function execute(watch: PreparedWatch): Promise<number> {
  const { servers, rules, options: { json, plain, quiet, contact } } = watch;
  using interrupt = onInterrupt(() => {});
  const atTerminal = Deno.stdout.isTerminal();
  const printer = new EventPrinter(json || !atTerminal);
  const signal = AbortSignal.any([interrupt.signal, printer.signal]);
  const isLive = atTerminal && !isDumb() && !json && !plain && !quiet && !logsJson();
  using table = new DisposableStack();
  signal.addEventListener("abort", () => table.dispose(), { once: true });
  await using service = new ServiceState({ clock: watch.network.clock, signal, warn: reportLine });
  const { online, counts, hook } = await runPreparedWatch(watch, {
    signal,
    onEvent: (event) => printer.add(event),
    begin: (counts, hasProgress) => {
      const status = () =>
        `${countOf(servers.length, "endpoint")}, ${countOf(counts.polls, "poll")}`;
      service.ready({ hasProgress, status });
      keepContact(contact, quiet ? () => {} : reportLine);
      if (!quiet) reportLine(startLine(servers.length, rules));
      if (isLive && !signal.aborted) table.use(openTable(watch, counts));
    },
  });
  await printer.printed();
  if (!quiet) {
    const summary = watchSummary(online, servers.length, counts, hook);
    reportFigures(summary, watchFigures(online, servers.length, counts));
  }
  return EXIT.interrupted; // only a signal ends a watch without an error
}

/** Opens the live table of the watched servers. */
function openTable(
  { servers, options: { noColor }, network: { clock } }: PreparedWatch,
  counts: WatchCounts,
): Disposable {
  return openWatchTable({
    servers,
    counts,
    clock,
    size: terminalSize,
    draw,
    color: useColor(noColor),
  });
}
