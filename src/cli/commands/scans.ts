/**
 * The scans command: the scans and watches of a database, and their progress.
 *
 * @module
 */
import { dateText } from "../term/date_text.ts";
import { clockTime, countOf, withCommas } from "../../core/quantities.ts";
import { harmlessText } from "../../core/text.ts";
import { jsonText } from "../../sinks/json.ts";
import {
  countScans,
  listedParts,
  newestScans,
  readViews,
  scanName,
  type ScanViews,
  type StoredScan,
  type ViewCounts,
  withDatabaseErrors,
} from "../../store/mod.ts";
import { connectionEnvironment } from "../../app/options/mod.ts";
import { openNamed } from "../../app/databases/mod.ts";
import { EXIT } from "../../app/mod.ts";
import { type PrintedColumn, tableLines } from "../../app/outputs/mod.ts";
import { type CommandCall, readCommandLine } from "../options/command_line.ts";
import { outputColumns, print, printLines, reportLine } from "../term/console.ts";

/** Runs `scans`; returns the exit code. */
export async function runScans(call: CommandCall): Promise<number> {
  const { words: [word], options: { limit, json, views } } = readCommandLine("scans", call);
  await using database = await openNamed(word, connectionEnvironment(reportLine));
  const { scans, all } = await withDatabaseErrors("read", database, async () => {
    const scans = await newestScans(database, limit);
    return { scans, all: scans.length < limit ? scans.length : await countScans(database) };
  });
  if (json) {
    const read = <T>(work: () => Promise<T>) => withDatabaseErrors("read", database, work);
    for (const scan of scans) {
      const parts = await read(() => listedParts(database, scan.scan_id));
      const seen = views && { views: await read(() => readViews(database, scan.scan_id)) ?? null };
      await print(jsonText({ ...scan, ...parts, ...seen }));
    }
  } else if (views) {
    const space = outputColumns() ?? Infinity;
    for (const scan of scans) {
      const seen = await withDatabaseErrors(
        "read",
        database,
        () => readViews(database, scan.scan_id),
      );
      if (seen !== undefined) await printLines(viewLines(scan, seen, space));
    }
  } else {
    await printLines(scanLines(scans, database.now(), outputColumns() ?? Infinity));
  }
  if (all > scans.length) {
    reportLine(
      `the newest ${withCommas(scans.length)} of ${countOf(all, "scan")}; raise --limit for more`,
    );
  }
  return EXIT.done;
}

/** Spaces between two cells. */
const GAP = 2;

/** Scans as a table. */
export function scanLines(scans: readonly StoredScan[], now: number, space: number): string[] {
  return scans.length === 0 ? ["no scans"] : tableLines(columnsAt(now), scans, space, GAP);
}

/** Maximum number of networks of a scan in its table of views; JSON has all. */
const MAX_NETWORKS = 20;

/** What each vantage saw in a scan: a table of the vantages, and one of networks. */
export function viewLines(
  scan: Pick<StoredScan, "started_at" | "scan_id" | "state" | "campaign" | "shard">,
  { vantages, networks }: ScanViews,
  space: number,
): string[] {
  const left = networks.length - MAX_NETWORKS;
  return [
    harmlessText(
      `${scanName(scan)}, scan ${scan.scan_id} of ${dateText(scan.started_at)} UTC, ${scan.state}`,
    ),
    ...tableLines(VIEW_COLUMNS, vantages, space, GAP),
    ...networks.length === 0
      ? ["no network has servers that some vantages did not see"]
      : tableLines(
        [{ title: "NETWORK", width: 18, rank: 0, text: ({ network }) => network }, ...VIEW_COLUMNS],
        networks.slice(0, MAX_NETWORKS),
        space,
        GAP,
      ),
    ...left > 0 ? [`and ${withCommas(left)} more; --json prints all`] : [],
    "",
  ];
}

const VIEW_COLUMNS: readonly PrintedColumn<ViewCounts>[] = [
  { title: "VANTAGE", width: 16, rank: 0, text: ({ vantage }) => vantage },
  { title: "SEEN", width: 9, rank: 0, text: ({ seen }) => withCommas(seen) },
  { title: "ONLY IT SAW", width: 11, rank: 0, text: ({ only }) => withCommas(only) },
  { title: "UNSEEN", width: 9, rank: 0, text: ({ unseen }) => withCommas(unseen) },
];

function columnsAt(now: number): readonly PrintedColumn<StoredScan>[] {
  return [
    { title: "STARTED (UTC)", width: 19, rank: 0, text: (scan) => dateText(scan.started_at) },
    { title: "KIND", width: 6, rank: 3, text: ({ kind }) => kind },
    { title: "STATE", width: 11, rank: 0, text: ({ state }) => state },
    { title: "DONE", width: 6, rank: 1, text: doneText },
    { title: "ETA", width: 8, rank: 2, text: (scan) => etaText(scan, now) },
    { title: "SENT", width: 13, rank: 4, text: ({ probes_sent }) => withCommas(probes_sent) },
    { title: "REPLIES", width: 10, rank: 5, text: ({ replies }) => withCommas(replies) },
    { title: "FOUND", width: 9, rank: 1, text: ({ found }) => withCommas(found) },
    { title: "LOSS", width: 6, rank: 6, text: ({ packet_loss: loss }) => percent(loss) },
    { title: "RATE", width: 9, rank: 7, text: ({ rate }) => rate === null ? "" : withCommas(rate) },
    { title: "ID", width: 13, rank: 9, text: ({ scan_id: id }) => id.slice(0, 13) },
    { title: "RUNS", width: 4, rank: 8, text: ({ runs }) => `${runs}` },
    { title: "RANGES", width: 0, rank: 0, text: rangesText },
  ];
}

function percent(share: number | null): string {
  return share === null ? "" : `${(100 * share).toFixed(1)}%`;
}

function doneText({ kind, position, total }: StoredScan): string {
  return kind === "sweep" && total > 0 ? percent(Math.min(1, position / total)) : "";
}

function etaText({ state, ends_at: at }: StoredScan, now: number): string {
  return state !== "running" || at === null ? "" : clockTime(Math.max(0, at - now) / 1000);
}

function rangesText(scan: StoredScan): string {
  const { ranges, excluded, widened, sampled } = scan;
  const name = scanName(scan);
  const shown = ranges.slice(0, 3).join(", ");
  const more = ranges.length > 3 ? ` and ${withCommas(ranges.length - 3)} more` : "";
  const without = excluded.length === 0 ? "" : `, ${countOf(excluded.length, "range")} excluded`;
  return `${name && `${name}: `}${shown}${more}${without}${widened ? " (widened)" : ""}${
    sampled ? " (sampled)" : ""
  }`;
}
