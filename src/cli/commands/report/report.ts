/**
 * The report command: one HTML file about the servers of a database or file.
 *
 * @module
 */
import { systemClock } from "../../../net/clock.ts";
import { EXIT, writeTextFile } from "../../../app/mod.ts";
import { readGeoipFiles, readGeoipLookup } from "../../../app/geoip/mod.ts";
import { ReportCollector, reportPage } from "../../../web/mod.ts";
import { InputError } from "../../../core/errors.ts";
import { countOf } from "../../../core/quantities.ts";
import { type CommandCall, readCommandLine } from "../../options/command_line.ts";
import { print, reportLine } from "../../term/console.ts";
import { checkPageOutput } from "./page_output.ts";
import { readSource } from "./report_source.ts";

/** Runs `report`; returns the exit code. */
export async function runReport(call: CommandCall): Promise<number> {
  const { words: [source], options } = readCommandLine("report", call);
  const { output, limit, quiet } = options;
  if (source === undefined) {
    throw new InputError(
      "Cannot make a report: name a database or a file of rows, for example servers.db",
    );
  }
  if (output === undefined) {
    throw new InputError("Cannot make a report without a file for it: -o report.html");
  }
  await checkPageOutput(output);
  const { files, attributions } = await readGeoipFiles(options.geoip);
  const collector = new ReportCollector(limit, await readGeoipLookup(files));
  const { name, trend } = await readSource(source, collector, reportLine);
  const data = collector.result();
  const html = reportPage(data, {
    source: name,
    now: systemClock.wall(),
    trend,
    hasGeoip: files.length > 0,
    attributions,
  });
  if (output === "-") await print(html.trimEnd());
  else await writeTextFile(output, html);
  const { servers } = data.facets;
  const rows = data.rows.length < servers ? `, ${countOf(data.rows.length, "row")}` : "";
  const written = output === "-" ? "standard output" : output;
  if (!quiet) reportLine(`${written}: ${countOf(servers, "server")} of ${name}${rows}`);
  return EXIT.done;
}
