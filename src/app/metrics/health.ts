/**
 * The state of the program for `/healthz`: monitoring and container runtimes read it.
 *
 * @module
 */
import { countOf } from "../../core/quantities.ts";
import type { ScanState } from "../../scan/mod.ts";
import type { WatchCounts } from "../../watch/mod.ts";
import type { WholeResponse } from "../http/http_response.ts";
import type { WrittenDatabase } from "./scan_metrics.ts";

/** The state of a program that runs. */
export interface Health {
  /** What fails now, each in a few words without names and addresses. Empty: nothing. */
  readonly failures: readonly string[];
  /** Numbers that describe the state. */
  readonly numbers: Readonly<Record<string, number>>;
}

/** The response for a state: 200, or 503 if something fails, with one line of JSON. */
export function healthResponse({ failures, numbers }: Health): WholeResponse {
  const state = failures.length === 0 ? { status: "ok" } : { status: "failing", failures };
  return {
    status: failures.length === 0 ? 200 : 503,
    headers: { "content-type": "application/json", "cache-control": "no-store" },
    body: new TextEncoder().encode(`${JSON.stringify({ ...state, ...numbers })}\n`),
  };
}

export function scanHealth(
  { sent, written, lost }: Pick<ScanState, "sent" | "written" | "lost">,
  databases: readonly WrittenDatabase[],
): Health {
  const numbers = { probes_sent: sent, rows_written: written, rows_lost: lost };
  return { failures: databaseFailures(databases), numbers };
}

/** The failure of databases; none if all of them can be written. */
function databaseFailures(databases: readonly Pick<WrittenDatabase, "failing">[]): string[] {
  const failing = databases.filter((database) => database.failing).length;
  if (failing === 0) return [];
  return [`${failing} of ${countOf(databases.length, "database")} cannot be written`];
}

/** The poll loop runs once a second. After this time without a run it is stalled, milliseconds. */
const STALLED_MS = 10_000;

/** What may fail in a watch. */
export interface WatchHealthSources {
  readonly counts: WatchCounts;
  /** Whether the sockets failed and are not open again. */
  readonly sockets: { readonly failing: boolean };
  readonly databases: readonly Pick<WrittenDatabase, "failing">[];
}

/**
 * The health of a watch.
 *
 * @param now The current time, milliseconds of the clock.
 */
export function watchHealth(
  { counts, sockets, databases }: WatchHealthSources,
  now: number,
): Health {
  const { loopAt, polls, replied, events } = counts;
  const failures = databaseFailures(databases);
  if (sockets.failing) failures.push("no socket is open");
  if (loopAt === undefined) failures.push("polling has not begun");
  else if (now - loopAt > STALLED_MS) {
    failures.push(`the poll loop has not run for ${Math.floor((now - loopAt) / 1000)} s`);
  }
  return { failures, numbers: { polls, polls_replied: replied, events } };
}
