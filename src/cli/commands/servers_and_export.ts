/**
 * The commands that read the servers of a database: servers and export.
 *
 * @module
 */
import type { Protocol } from "../../protocols/protocol.ts";
import { InputError } from "../../core/errors.ts";
import { redactUrl } from "../../core/redact.ts";
import type { Sink } from "../../sinks/sink.ts";
import { parseDatabaseLocation } from "../../store/open_store.ts";
import { STORED_FIELDS } from "../../store/server_queries.ts";
import { withDatabaseErrors } from "../../store/store.ts";
import { connectionEnvironment } from "../../app/databases/connection_environment.ts";
import { EXIT } from "../../app/exit_codes.ts";
import { readArgs } from "../options/parse_arguments.ts";
import { outputColumns, tellLine } from "../term/console.ts";
import { DEFAULTS } from "../../app/settings/defaults.ts";
import {
  openNamed,
  readSelection,
  storedServersTable,
  writeServers,
} from "../../app/databases/select_servers.ts";
import { whileRead } from "../../app/outputs/closed_pipe.ts";
import { openOutputs, planOutputs } from "../../app/outputs/open_outputs.ts";
import { countOf } from "../../core/quantities.ts";
import { SoftwareTally } from "../../app/outputs/software_tally.ts";
import { Settings } from "../../app/settings/option_values.ts";

/** A row is written up to so long after its server was asked, milliseconds. */
const OVERLAP_MS = 60_000;

/** Runs `servers`; returns the exit code. */
export async function runServers(
  args: readonly string[],
  allProtocols: readonly Protocol[],
): Promise<number> {
  const settings = new Settings(readArgs("servers", args));
  return await show(settings, DEFAULTS.servers, allProtocols);
}

/** Runs `export`; returns the exit code. */
export async function runExport(
  args: readonly string[],
  allProtocols: readonly Protocol[],
): Promise<number> {
  const settings = new Settings(readArgs("export", args));
  return await show(
    settings,
    { sort: settings.has("since") ? "overdue" : "address" },
    allProtocols,
  );
}

async function show(
  settings: Settings,
  usual: Parameters<typeof readSelection>[1],
  allProtocols: readonly Protocol[],
): Promise<number> {
  const { words } = settings.values;
  const now = Date.now();
  const selection = readSelection(settings, usual, now);
  const kind = { columns: STORED_FIELDS, table: (space: number) => storedServersTable(now, space) };
  const plans = planOutputs(settings, outputColumns(), kind, allProtocols);
  const place = settings.texts("output").find((path) => parseDatabaseLocation(path) !== undefined);
  if (place !== undefined) {
    throw new InputError(
      `Cannot export to "${
        redactUrl(place)
      }", which is a database: export to .ndjson, and import that`,
    );
  }
  await using database = await openNamed(words[0], connectionEnvironment(tellLine));
  const tell = settings.has("quiet") ? () => {} : tellLine;
  const opened = await openOutputs(plans, settings.has("append"), { beforeRows: () => {}, tell });
  const { sinks } = whileRead(opened.sinks, plans, tell);
  const tally = new SoftwareTally();
  const { count: written, latest } = await writeAll(
    sinks,
    () =>
      withDatabaseErrors(
        "read",
        database,
        () => writeServers(database, selection, [...sinks, tally]),
      ),
  );
  if (settings.has("quiet")) return EXIT.done;
  tellLine(`${countOf(written, "server")} of ${database.name}`);
  if (plans.some(({ format }) => format.name === "table")) tally.lines().forEach(tellLine);
  if (selection.since !== undefined && written > 0) {
    tellLine(
      `next time: --since ${latest - OVERLAP_MS} (some servers come again, none is left out)`,
    );
  }
  return EXIT.done;
}

/** Writes, and closes the outputs however that goes. */
async function writeAll<T>(sinks: readonly Sink[], write: () => Promise<T>): Promise<T> {
  await using stack = new AsyncDisposableStack();
  for (const sink of sinks) stack.use(sink);
  return await write();
}
