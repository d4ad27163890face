/**
 * The query command: one server, every protocol that answers.
 *
 * @module
 */
import { formatEndpoint } from "../../core/address.ts";
import { InputError } from "../../core/errors.ts";
import { FIELDS, type Outcome } from "../../core/record.ts";
import type { Protocol } from "../../protocols/protocol.ts";
import { withoutPlayers } from "../../scan/inspect_stage/build_record.ts";
import { ndjsonFormat } from "../../sinks/json.ts";
import { requestText } from "../../targets/srv.ts";
import { readArgs } from "../options/parse_arguments.ts";
import { print, tellError, tellLine } from "../term/console.ts";
import { DEFAULTS } from "../../app/settings/defaults.ts";
import { INTERRUPTED, onInterrupt } from "../../app/interrupt_signals.ts";
import { type QueriedEndpoint, queryHost } from "../../app/query_host.ts";
import { systemNetwork } from "../../app/system_network.ts";
import { locate } from "../../app/targets/locate_server.ts";
import { chosenProtocols, chosenTimeout, chosenVerify } from "../../app/settings/scan_settings.ts";
import { describe, useColor } from "../term/server_description.ts";
import { Settings } from "../../app/settings/option_values.ts";

/** Runs `query`; returns the exit code. */
export async function runQuery(
  args: readonly string[],
  allProtocols: readonly Protocol[],
): Promise<number> {
  const settings = new Settings(readArgs("query", args));
  const [word, ...more] = settings.values.words;
  if (word === undefined || more.length > 0) {
    throw new InputError("Cannot query: name one server, as HOST or HOST:PORT");
  }
  const protocols = chosenProtocols(settings.list("protocol"), allProtocols);
  const verify = chosenVerify(settings, protocols, allProtocols);
  chosenTimeout(settings); // refuses less than a millisecond
  const note = settings.has("quiet") ? () => {} : tellError;
  const network = systemNetwork({ note, tell: note, allProtocols });
  const allowPrivate = settings.has("allow-private");
  const located = await locate(word, protocols, { ...network, note, allowPrivate });
  using interrupt = onInterrupt(() => {});
  const queried = await queryHost(located, {
    network,
    allProtocols,
    timeoutMs: settings.milliseconds("timeout"),
    retries: settings.whole("retries", 0, 3) ?? DEFAULTS.query.retries,
    verify,
    note,
    signal: interrupt.signal,
  });
  if (interrupt.signal.aborted) return INTERRUPTED;
  return await show(settings, located.name, queried, allProtocols);
}

/** How an exchange ended, in a word: of a stream, how that did. */
function ending(outcome: Outcome<unknown>): string {
  return outcome.kind === "silent" ? outcome.why ?? outcome.kind : outcome.kind;
}

async function show(
  settings: Settings,
  name: string | null,
  queried: readonly QueriedEndpoint[],
  allProtocols: readonly Protocol[],
): Promise<number> {
  const records = queried.flatMap(({ server }) => server.record ?? [])
    .map((record) => settings.has("no-players") ? withoutPlayers(record) : record);
  const color = useColor(settings.has("no-color"));
  const format = ndjsonFormat(FIELDS);
  for (const record of records) {
    await print(
      settings.has("json")
        ? format.row(record, true).trimEnd()
        : describe(record, color, allProtocols).join("\n"),
    );
  }
  if (records.length > 0) return 0;
  for (const { asked, server } of settings.has("quiet") ? [] : queried) {
    const tried = server.outcomes.map(({ protocol, outcome }) => `${protocol} ${ending(outcome)}`);
    const suppressed = server.suppressed.map((name) => `${name} not asked`);
    const { endpoint, service } = asked;
    const led = service === undefined ? "" : ` (${requestText(name!, service)})`;
    const where = formatEndpoint(endpoint) + led;
    tellLine(`${where}: ${[...tried, ...suppressed].join(", ")}`);
  }
  tellLine(`blocksweep: no server answered`);
  return 1;
}
