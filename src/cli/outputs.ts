/**
 * Opening what the rows go to.
 *
 * @module
 */
import { InputError } from "../errors.ts";
import { type Field, FIELDS } from "../record.ts";
import { csvFormat } from "../sinks/csv.ts";
import { jsonFormat, ndjsonFormat } from "../sinks/json.ts";
import { grepFormat, listFormat, tableFormat } from "../sinks/lines.ts";
import { type OpenedFile, openFile, standardOutput } from "../sinks/output.ts";
import { type Format, type Sink, TextSink } from "../sinks/sink.ts";
import { closest } from "./args.ts";
import { userPath } from "./console.ts";
import type { Settings } from "./values.ts";

/** Where rows go, and in which form. */
export interface OutputPlan {
  /** A path, or `-`. */
  readonly path: string;
  /** The form. */
  readonly format: Format;
  /** Whether it can be read back which servers it holds. */
  readonly readable: boolean;
}

const FORMATS: Readonly<Record<string, (fields: readonly Field[]) => Format>> = {
  csv: csvFormat,
  ndjson: ndjsonFormat,
  json: jsonFormat,
  list: () => listFormat,
  grep: () => grepFormat,
  table: () => tableFormat,
};

const SUFFIXES: Readonly<Record<string, string>> = {
  csv: "csv",
  ndjson: "ndjson",
  jsonl: "ndjson",
  json: "json",
  txt: "list",
  gnmap: "grep",
};

/** Formats whose rows hold the chosen columns and no others. */
const HAS_FIELDS = new Set(["csv", "ndjson", "json"]);

/** Options that name file and format at once. */
const SHORTCUTS = { oD: "ndjson", oJ: "json", oG: "grep", oL: "list" } as const;

/**
 * What the options say about outputs. Without any, rows go to standard output: as a table where it
 * is a terminal, else as NDJSON.
 *
 * @throws InputError for an unknown column or format, or two outputs in one place.
 */
export function planOutputs(settings: Settings, isTerminal: boolean): OutputPlan[] {
  const fields = chosenFields(settings.list("fields"));
  const identified = ["host", "port"].every((name) => fields.some((one) => one.name === name));
  const named = settings.oneOf("format", Object.keys(FORMATS));
  const plans = settings.texts("output").map((path) => ({
    path,
    name: formatOf(path, named, isTerminal),
  }));
  for (const [option, name] of Object.entries(SHORTCUTS)) {
    plans.push(...settings.texts(option).map((path) => ({ path, name })));
  }
  if (plans.length === 0) plans.push({ path: "-", name: formatOf("-", named, isTerminal) });
  if (plans.filter(({ path }) => path === "-").length > 1) {
    throw new InputError("Cannot write two outputs to standard output");
  }
  return plans.map(({ path, name }) => ({
    path,
    format: FORMATS[name](fields),
    readable: path !== "-" && name !== "json" && (identified || !HAS_FIELDS.has(name)),
  }));
}

function formatOf(path: string, named: string | undefined, isTerminal: boolean): string {
  if (path === "-") return named ?? (isTerminal ? "table" : "ndjson");
  const suffix = /\.([^./\\]+)$/.exec(path)?.[1].toLowerCase() ?? "";
  const format = SUFFIXES[suffix] ?? named;
  if (format !== undefined) return format;
  throw new InputError(
    `Cannot tell the format of "${path}": end it in .csv, .ndjson, .json or .txt, or say --format`,
  );
}

function chosenFields(names: readonly string[] | undefined): readonly Field[] {
  if (names === undefined) return FIELDS;
  if (names.length === 0) throw new InputError("Cannot write no fields: --fields is empty");
  const twice = names.find((name, i) => names.indexOf(name) < i);
  if (twice !== undefined) throw new InputError(`Cannot write field "${twice}" twice`);
  return names.map((name) => {
    const field = FIELDS.find((other) => other.name === name);
    if (field !== undefined) return field;
    const meant = closest(name, FIELDS.map((other) => other.name));
    const hint = meant === undefined ? "the schema command lists them" : `did you mean "${meant}"?`;
    throw new InputError(`Cannot write field "${name}": there is none of that name; ${hint}`);
  });
}

/**
 * Opens the outputs: all of them, before one is emptied.
 *
 * @param beforeRows Called before rows go to standard output.
 * @throws InputError for the first that cannot be written; what the others hold is still there.
 */
export async function openOutputs(
  plans: readonly OutputPlan[],
  append: boolean,
  beforeRows: () => void,
): Promise<Sink[]> {
  const files = new Map<OutputPlan, OpenedFile>();
  try {
    for (const plan of plans) {
      if (plan.path === "-") continue;
      files.set(plan, await openFile(userPath(plan.path), plan.format, append));
    }
    for (const { output, length } of files.values()) await output.truncate(length);
  } catch (error) {
    for (const { output } of files.values()) await output[Symbol.asyncDispose]();
    throw error;
  }
  return plans.map((plan) => {
    const file = files.get(plan);
    return file === undefined
      ? new TextSink(standardOutput(beforeRows), plan.format)
      : new TextSink(file.output, plan.format, file.length, file.joint);
  });
}
