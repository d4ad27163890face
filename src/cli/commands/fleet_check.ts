/**
 * `fleet --check`: compares the rows of a scan with the manifest of the fleet.
 *
 * @module
 */
import { EXIT, readTextFile } from "../../app/mod.ts";
import {
  isFlawless,
  type ManifestEntry,
  parseManifest,
  type ScannedSelection,
  verdictLines,
  verifyAgainstManifest,
} from "../../fleet/mod.ts";
import type { GivenOptions, OptionsOf } from "../../app/options/mod.ts";
import { protocolsOf } from "../../app/settings/mod.ts";
import { chosenPorts } from "../../app/scan/mod.ts";
import { parse } from "@std/csv";
import { InputError } from "../../core/errors.ts";
import { serverId, type ServerRecord } from "../../core/record.ts";
import { parseRow } from "../../sinks/json.ts";
import { jsonFromCells, recordFromJson } from "../../sinks/read_rows.ts";
import { STORED_FIELDS } from "../../store/queries/stored_fields.ts";
import { print } from "../term/console.ts";
import { printResult } from "../term/json_results.ts";

/** Options that describe the scan; a simulation does not use them. */
const SCAN_OPTIONS = ["protocol", "ports", "no-follow", "verify"];
/** The options of `fleet` that are allowed with `--check`. */
const CHECK_OPTIONS = ["check", "manifest", "quiet", "json", ...SCAN_OPTIONS];

/** Refuses options that only `--check` reads. */
export function refuseCheckOptions({ given }: GivenOptions): void {
  const option = SCAN_OPTIONS.find((name) => given.has(name));
  if (option !== undefined) throw new InputError(`Cannot use --${option} without --check`);
}

/** Compares each file with the manifest and prints the differences; returns the exit code. */
export async function checkScan(
  options: OptionsOf<"fleet">,
  { given }: GivenOptions,
): Promise<number> {
  const other = [...given.keys()].find((name) => !CHECK_OPTIONS.includes(name));
  if (other !== undefined) throw new InputError(`Cannot use --${other} with --check`);
  const { manifest } = options;
  if (manifest === undefined) {
    throw new InputError("Cannot use --check: name the manifest with --manifest FILE");
  }
  const entries = await readManifest(manifest);
  const selection = selectionOf(options);
  let flawless = true;
  for (const path of options.check) {
    const { rows, faults } = rowsOf(path, await readTextFile(path));
    const format = path.endsWith(".csv") ? "csv" : "ndjson";
    const verdict = verifyAgainstManifest(entries, rows, selection, format, faults);
    if (options.json) {
      const { expected: servers, found, right, partial: in_part, faults } = verdict;
      await printResult("fleet --check", { file: path, servers, found, right, in_part, faults });
    } else {
      await print(verdictLines(path, verdict).join("\n"));
    }
    flawless &&= isFlawless(verdict);
  }
  return flawless ? EXIT.done : EXIT.failed;
}

/** The protocols and ports of the scan. */
function selectionOf(
  options: OptionsOf<"fleet">,
): ScannedSelection {
  const ports = chosenPorts(options);
  return {
    protocols: protocolsOf(options).map(({ name }) => name),
    ports: (protocol) => ports(protocol, 4),
    follow: !options.noFollow,
    verify: options.verify,
  };
}

async function readManifest(path: string): Promise<ManifestEntry[]> {
  const text = await readTextFile(path);
  try {
    return parseManifest(text);
  } catch (error) {
    throw new InputError(`Cannot read manifest "${path}": ${(error as Error).message}`);
  }
}

/** Keys of the rows of scans and of exports. */
const KEYS: ReadonlySet<string> = new Set(["schema", ...STORED_FIELDS.map(({ name }) => name)]);

/**
 * The rows of a file, parsed by the suffix of its name, and by their identifiers a fault for each key
 * that rows of this program do not have.
 */
function rowsOf(
  path: string,
  text: string,
): {
  readonly rows: readonly ServerRecord[];
  readonly faults: ReadonlyMap<string, readonly string[]>;
} {
  const objects = path.endsWith(".csv") ? csvObjects(path, text) : ndjsonObjects(text);
  const faults = new Map<string, readonly string[]>();
  const rows = objects.map(({ line, object = {} }) => {
    const row = recordFromJson(object);
    if (row === undefined) {
      throw new InputError(`Cannot read rows of "${path}": line ${line} is not a row of a scan`);
    }
    const unknown = Object.keys(object).filter((key) => !KEYS.has(key));
    const id = serverId(row);
    const found = unknown.map((key) => `${id}: unknown key ${JSON.stringify(key)}`);
    if (found.length > 0) faults.set(id, [...faults.get(id) ?? [], ...found]);
    return row;
  });
  return { rows, faults };
}

/** A line of a file, parsed as JSON. */
interface Line {
  readonly line: number;
  readonly object: Readonly<Record<string, unknown>> | undefined;
}

function csvObjects(path: string, text: string): readonly Line[] {
  try {
    const [head, ...rows] = parse(text);
    return rows.map((cells, i) => ({ line: i + 2, object: jsonFromCells(head, cells) }));
  } catch (error) {
    throw new InputError(`Cannot read rows of "${path}": ${(error as Error).message}`);
  }
}

function ndjsonObjects(text: string): readonly Line[] {
  return text.split("\n").map((line, i) => ({ line: i + 1, object: parseRow(line), text: line }))
    .filter((line) => line.text !== "");
}
