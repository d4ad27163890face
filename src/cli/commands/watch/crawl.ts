/**
 * The crawl command: keeps a database fresh, and prints an event for each change.
 *
 * @module
 */
import project from "../../../../deno.json" with { type: "json" };
import {
  prepareCrawl,
  type PreparedCrawl,
  readCrawl,
  runPreparedCrawl,
} from "../../../app/crawl/mod.ts";
import { EXIT, onInterrupt, ServiceState } from "../../../app/mod.ts";
import { contactReader, keepContact } from "../../../app/targets/mod.ts";
import type { Clock } from "../../../net/clock.ts";
import type { CommandCall } from "../../options/command_line.ts";
import { readArgs, typedNames } from "../../options/parse_arguments.ts";
import { reportError, reportFigures, reportLine, writeRows } from "../../term/console.ts";
import { EventPrinter } from "../../term/event_lines.ts";
import {
  crawlStartLine,
  discoveryFigures,
  discoveryText,
  freshnessFigures,
  freshnessLine,
  watchFigures,
  watchSummary,
} from "../../term/watch_summary.ts";

/** Interval of the lines about freshness, milliseconds. */
const FRESHNESS_MS = 600_000;

/** Runs `crawl` until Ctrl-C; returns the exit code. */
export async function runCrawl({ args, allProtocols }: CommandCall): Promise<number> {
  const request = await readCrawl(readArgs("crawl", args), {
    allProtocols,
    program: project.version,
    writeRows,
    warn: reportLine,
    note: reportError,
    nameOf: typedNames("crawl", args),
    keptContact: contactReader(),
    listenForInterrupt: () => onInterrupt(() => {}),
  });
  await using crawl = await prepareCrawl(request);
  return await execute(crawl);
}

/** Runs a crawl, prints its events and its freshness, and reports its result; returns the exit code. */
async function execute(crawl: PreparedCrawl): Promise<number> {
  const {
    options: { json, quiet, contact },
    polls: { servers, network: { clock } },
    perDay,
    limits,
  } = crawl;
  using interrupt = onInterrupt(() => {});
  const printer = new EventPrinter(json || !Deno.stdout.isTerminal());
  const signal = AbortSignal.any([interrupt.signal, printer.signal]);
  await using service = new ServiceState({ clock, signal, warn: reportLine });
  const { online, counts, hook, discovery } = await runPreparedCrawl(crawl, {
    signal,
    onEvent: (event) => printer.add(event),
    begin: (counts, hasProgress, crawlStatus) => {
      service.ready({ hasProgress, status: () => freshnessLine(crawlStatus(), counts) });
      keepContact(contact, quiet ? () => {} : reportLine);
      if (quiet) return;
      reportLine(crawlStartLine(servers.length, perDay, limits !== undefined));
      const report = () => {
        const status = crawlStatus();
        reportFigures(freshnessLine(status, counts), freshnessFigures(status, counts));
      };
      report();
      repeat(report, clock, signal);
    },
  });
  await printer.printed();
  if (!quiet) {
    const summary = watchSummary(online, servers.length, counts, hook);
    reportFigures(`${summary}; ${discoveryText(discovery)}`, {
      ...watchFigures(online, servers.length, counts),
      ...discoveryFigures(discovery),
    });
  }
  return EXIT.interrupted; // only a signal ends a crawl without an error
}

/** Calls a function at an interval until the signal. */
function repeat(call: () => void, clock: Clock, signal: AbortSignal): void {
  const cancel = clock.after(FRESHNESS_MS, () => {
    call();
    if (!signal.aborted) repeat(call, clock, signal);
  });
  signal.addEventListener("abort", cancel, { once: true });
}
