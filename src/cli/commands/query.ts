/**
 * The query command: one server, every protocol that answers.
 *
 * @module
 */
import { type Endpoint, formatEndpoint } from "../../core/address.ts";
import { InputError } from "../../core/errors.ts";
import { systemClock } from "../../net/clock.ts";
import { openSocket } from "../../net/deno/udp_socket.ts";
import { Shortage } from "../../net/file_descriptors.ts";
import { denoDialer } from "../../net/deno/tcp_dialer.ts";
import { FIELDS, type Outcome, type ServerRecord } from "../../core/record.ts";
import type { Protocol } from "../../protocols/protocol.ts";
import { type QueriedServer, queryServer } from "../../scan/query_server.ts";
import { uuidv7 } from "../../scan/scan_id.ts";
import { withoutPlayers } from "../../scan/inspect_stage/build_record.ts";
import { ndjsonFormat } from "../../sinks/json.ts";
import { requestText } from "../../targets/srv.ts";
import { readArgs } from "../options/parse_arguments.ts";
import { print, tellError, tellLine } from "../term/console.ts";
import { DEFAULTS } from "../../app/settings/defaults.ts";
import { onInterrupt } from "../../app/interrupt_signals.ts";
import { locate } from "../../app/targets/locate_server.ts";
import { resolveName, serviceFinder } from "../../app/targets/dns_lookup.ts";
import { chosenProtocols, chosenTimeout, streamLimits } from "../../app/settings/scan_settings.ts";
import { describe, useColor } from "../term/server_description.ts";
import { shortageLine } from "../../app/engines/send_error_lines.ts";
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
  const timeoutMs = chosenTimeout(settings);
  const retries = settings.whole("retries", 0, 3) ?? DEFAULTS.query.retries;
  const note = settings.has("quiet") ? () => {} : tellError;
  const { endpoints, name } = await locate(word, protocols, {
    resolve: (name) => resolveName(name, allProtocols),
    findService: serviceFinder({ note }),
    note,
    allowPrivate: settings.has("allow-private"),
  });
  using interrupt = onInterrupt(() => {});
  const random = (size: number) => crypto.getRandomValues(new Uint8Array(size));
  const shortage = new Shortage(systemClock, (code) => note(shortageLine("queries", code)));
  const asked: Asked[] = [];
  for (const { endpoint, first, rest, service } of endpoints) {
    const server = await queryServer(endpoint, {
      allProtocols,
      protocols: first,
      followUps: rest,
      verify: settings.has("verify"),
      timeoutMs,
      retries,
      open: (bits) => openSocket({ address: bits === 4 ? 0 : 0n, port: 0 }),
      dialer: denoDialer(),
      streamLimits: streamLimits(settings.milliseconds("timeout")),
      nonce: () => new DataView(random(8).buffer).getBigUint64(0) >> 1n,
      clock: systemClock,
      shortage,
      signal: interrupt.signal,
      requestedAs: name,
      service,
      scanId: uuidv7(Date.now(), random(10)),
    });
    asked.push({ endpoint, led: service && requestText(name!, service), server });
    if (interrupt.signal.aborted) return 130;
  }
  return await show(settings, asked, allProtocols);
}

/** What came of asking an endpoint. */
interface Asked {
  readonly endpoint: Endpoint;
  /** The name and its SRV record, where that led there. */
  readonly led: string | undefined;
  readonly server: QueriedServer;
}

/** How an exchange ended, in a word: of a stream, how that did. */
function ending(outcome: Outcome<unknown>): string {
  return outcome.kind === "silent" ? outcome.why ?? outcome.kind : outcome.kind;
}

async function show(
  settings: Settings,
  asked: readonly Asked[],
  allProtocols: readonly Protocol[],
): Promise<number> {
  const records = asked.map(({ server }) => server.record)
    .filter((record): record is ServerRecord => record !== undefined)
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
  for (const { endpoint, led, server } of settings.has("quiet") ? [] : asked) {
    const tried = server.outcomes.map(({ protocol, outcome }) => `${protocol} ${ending(outcome)}`);
    const suppressed = server.suppressed.map((name) => `${name} not asked`);
    const where = formatEndpoint(endpoint) + (led === undefined ? "" : ` (${led})`);
    tellLine(`${where}: ${[...tried, ...suppressed].join(", ")}`);
  }
  tellLine(`blocksweep: no server answered`);
  return 1;
}
