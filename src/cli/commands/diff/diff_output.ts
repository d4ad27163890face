/**
 * The differences between two sides as text: counts, a table, CSV and NDJSON.
 *
 * @module
 */
import { InputError } from "../../../core/errors.ts";
import { countOf, withCommas } from "../../../core/quantities.ts";
import type { Field, ServerRecord } from "../../../core/record.ts";
import { csvFormat } from "../../../sinks/csv.ts";
import { jsonText } from "../../../sinks/json.ts";
import type { Format } from "../../../sinks/sink.ts";
import {
  DIFFERENCE_KINDS,
  type DifferenceKind,
  type Differences,
  type ServerDifference,
} from "../../../store/mod.ts";
import { lossText } from "../../../app/databases/mod.ts";
import { openOutputs, type PrintedColumn, tableLines } from "../../../app/outputs/mod.ts";
import { outputColumns, reportLine, writeRows } from "../../term/console.ts";
import { type JsonResult, resultLine } from "../../term/json_results.ts";

/** The differences, and what is known besides. */
export interface Compared extends Differences {
  /** The names of the sides. */
  readonly sides: readonly [before: string, now: string];
  /** Expected number of lost servers of which all packets were lost; `undefined`: unknown. */
  readonly byLoss: number | undefined;
}

/** Number of servers with a kind of difference. */
export function countKind({ servers }: Differences, kind: DifferenceKind): number {
  return servers.filter(({ difference }) => difference === kind).length;
}

/** The sides, and the counts. */
export function countLines(compared: Compared): string[] {
  const { sides: [before, now], unchanged, notAsked, byLoss } = compared;
  const lost = countKind(compared, "lost");
  const counts = DIFFERENCE_KINDS.map((kind) => {
    const loss = kind === "lost" && lost > 0 && byLoss !== undefined
      ? ` (${lossText(byLoss)})`
      : "";
    return `${withCommas(countKind(compared, kind))} ${kind}${loss}`;
  });
  const apart = notAsked === 0 ? "" : `; ${countOf(notAsked, "server")} not asked by one side`;
  return [
    `from ${before}`,
    `to   ${now}`,
    `${counts.join(", ")}, ${withCommas(unchanged)} unchanged${apart}`,
  ];
}

/** A difference with one of its changed columns. */
type Line = ServerDifference & {
  readonly column: string;
  readonly old: string;
  readonly now: string;
};

/** A line for each changed column, and one for each other difference. */
function linesOf(one: ServerDifference): Line[] {
  const changes = Object.entries(one.changes ?? {});
  if (changes.length === 0) {
    return [{ ...one, column: one.changes === null ? "not stored" : "", old: "", now: "" }];
  }
  return changes.map(([column, [old, now]]) => (
    { ...one, column, old: valueText(old), now: valueText(now) }
  ));
}

function valueText(value: unknown): string {
  return value === null || value === undefined
    ? ""
    : typeof value === "string"
    ? value
    : jsonText(value);
}

const COLUMNS: readonly PrintedColumn<Line>[] = [
  { title: "DIFF", width: 7, rank: 0, text: ({ difference }) => difference },
  { title: "SERVER", width: 21, rank: 0, whole: true, text: ({ server }) => server },
  { title: "SOFTWARE", width: 12, rank: 2, text: ({ software }) => software ?? "" },
  { title: "VERSION", width: 10, rank: 1, text: ({ version }) => version ?? "" },
  { title: "NAME, OR COLUMN: OLD -> NEW", width: 0, rank: 0, text: changeText },
];

function changeText({ name, difference, column, old, now }: Line): string {
  if (difference !== "changed") return name ?? "";
  return old + now === "" ? column : `${column}: ${old || "none"} -> ${now || "none"}`;
}

/** Spaces between two cells. */
const GAP = 2;

/** The differences as a table, after an empty line. */
export function tableOf(servers: readonly ServerDifference[]): string[] {
  const lines = servers.flatMap(linesOf);
  if (lines.length === 0) return [];
  return ["", ...tableLines(COLUMNS, lines, outputColumns() ?? Infinity, GAP)];
}

/** The columns of CSV, all of them texts. */
const CSV_COLUMNS = [
  "difference",
  "server",
  "name",
  "software",
  "version",
  "column",
  "old",
  "new",
].map((name) => ({ name, type: "text", nullable: true, meaning: "" }) as unknown as Field);

const CSV = csvFormat(CSV_COLUMNS);
export const NDJSON = "ndjson";

/** The format of a file by its suffix; `undefined`: a table on standard output. */
export function fileFormatOf(path: string): Format | typeof NDJSON | undefined {
  if (path === "-") return undefined;
  if (/\.csv$/i.test(path)) return CSV;
  if (/\.(ndjson|jsonl)$/i.test(path)) return NDJSON;
  throw new InputError(`Cannot write to "${path}": expected a file .csv or .ndjson`);
}

/** Writes the differences to a file, which is replaced when it is complete, or to standard output. */
export async function writeDifferences(
  path: string,
  format: Format | typeof NDJSON,
  compared: Compared,
): Promise<void> {
  const texts = format === NDJSON
    ? jsonLines(compared)
    : compared.servers.flatMap(linesOf).map((line, i) =>
      format.row({ ...line, new: line.now } as unknown as ServerRecord, i === 0)
    );
  const textFormat: Format = {
    name: "text",
    head: format === NDJSON ? "" : format.head,
    tail: "",
    appendable: false,
    row: (text) => text as unknown as string,
  };
  const plan = { path, format: textFormat, readable: false };
  const options = { writeRows, report: reportLine, replacesFiles: true };
  const { sinks: [sink], wholeFiles } = await openOutputs([plan], false, options);
  try {
    await sink.write(texts as unknown as ServerRecord[]);
    await sink[Symbol.asyncDispose]();
    for (const file of wholeFiles) await file.complete();
  } catch (error) {
    for (const file of wholeFiles) await file.discard();
    throw error;
  }
}

/** The counts, then each server, as JSON. */
function jsonLines(compared: Compared): string[] {
  const { servers, unchanged, notAsked, byLoss, sides: [from, to] } = compared;
  const none = { server: null, name: null, software: null, version: null, changes: null };
  const counts = {
    ...Object.fromEntries(DIFFERENCE_KINDS.map((kind) => [kind, countKind(compared, kind)])),
    lost_by_packet_loss: byLoss ?? null,
    unchanged,
    not_asked: notAsked,
  };
  const line = (values: JsonResult<"diff">) => `${resultLine("diff", values)}\n`;
  return [
    line({ difference: "summary", ...none, summary: { from, to, ...counts } }),
    ...servers.map((one) => line({ ...one, summary: null })),
  ];
}
