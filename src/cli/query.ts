/**
 * The query command: one server, every protocol that answers.
 *
 * @module
 */
import { type Endpoint, family, formatEndpoint } from "../address.ts";
import { InputError } from "../errors.ts";
import { systemClock } from "../net/clock.ts";
import { openSocket } from "../net/deno.ts";
import type { Protocol } from "../protocols/protocol.ts";
import { FIELDS, type ServerRecord } from "../record.ts";
import { type AskedServer, askServer } from "../scan/ask.ts";
import { uuidv7 } from "../scan/id.ts";
import { withoutPlayers } from "../scan/players.ts";
import { ndjsonFormat } from "../sinks/json.ts";
import { parseTarget } from "../targets/parse.ts";
import { readArgs } from "./args.ts";
import { print, tellLine } from "./console.ts";
import { onInterrupt } from "./interrupt.ts";
import { neverRanges, usualPorts } from "../targets/lists.ts";
import { resolveName } from "./resolve.ts";
import { chosenProtocols, chosenTimeout } from "./scan_settings.ts";
import { describe, useColor } from "./servers_view.ts";
import { Settings } from "./values.ts";

/** Runs `query`; returns the exit code. */
export async function runQuery(args: readonly string[]): Promise<number> {
  const settings = new Settings(readArgs("query", args));
  const [word, ...more] = settings.values.words;
  if (word === undefined || more.length > 0) {
    throw new InputError("Cannot query: name one server, as HOST or HOST:PORT");
  }
  const protocols = chosenProtocols(settings.list("protocol"));
  const timeoutMs = chosenTimeout(settings);
  const retries = settings.whole("retries", 0, 3) ?? 1;
  const { endpoints, name } = await locate(word, protocols);
  using interrupt = onInterrupt(() => {});
  const random = (size: number) => crypto.getRandomValues(new Uint8Array(size));
  const asked: { endpoint: Endpoint; server: AskedServer }[] = [];
  for (const { endpoint, first, rest } of endpoints) {
    const server = await askServer(endpoint, {
      protocols: first,
      followUps: rest,
      verify: settings.has("verify"),
      timeoutMs,
      retries,
      open: (bits) => openSocket({ address: bits === 4 ? 0 : 0n, port: 0 }),
      nonce: () => new DataView(random(8).buffer).getBigUint64(0) >> 1n,
      clock: systemClock,
      signal: interrupt.signal,
      requestedAs: name,
      scanId: uuidv7(Date.now(), random(10)),
    });
    asked.push({ endpoint, server });
    if (interrupt.signal.aborted) return 130;
  }
  return await show(settings, asked);
}

/** What to ask where. */
interface Questions {
  readonly endpoint: Endpoint;
  readonly first: readonly Protocol[];
  /** What is asked when something answered. */
  readonly rest: readonly Protocol[];
}

/** Where to ask what. With a port: everything there. Without: each protocol on its usual port. */
async function locate(
  word: string,
  protocols: readonly Protocol[],
): Promise<{ endpoints: Questions[]; name: string | null }> {
  const target = parseTarget(word);
  const isName = "name" in target;
  const addresses = isName ? await resolveName(target.name) : [target.range.start];
  if (!isName && BigInt(target.range.end) - BigInt(target.range.start) !== 1n) {
    throw new InputError(`Cannot query "${word}": it is a range; scan asks ranges`);
  }
  const [address] = addresses;
  const never = neverRanges().find(({ range: { start, end } }) =>
    typeof start === typeof address && start <= address && address < end
  );
  if (never !== undefined) {
    throw new InputError(`Cannot query "${word}": never asked: ${never.reason}`);
  }
  const name = isName ? target.name : null;
  if (target.port !== undefined) {
    const endpoint = { address, port: target.port };
    return { endpoints: [{ endpoint, first: protocols, rest: [] }], name };
  }
  const usual = usualPorts();
  const portless = protocols.find(({ onlyNamed }) => onlyNamed);
  if (portless !== undefined) {
    throw new InputError(
      `Cannot look for protocol "${portless.name}" without a port: it has no usual one; ` +
        "say HOST:PORT",
    );
  }
  const ports = new Set(protocols.flatMap((protocol) => usual(protocol.name, family(address))));
  const endpoints = [...ports].map((port) => {
    const first = protocols.filter((protocol) =>
      usual(protocol.name, family(address)).includes(port)
    );
    const rest = protocols.filter((protocol) => !first.includes(protocol));
    return { endpoint: { address, port }, first, rest };
  });
  return { endpoints, name };
}

async function show(
  settings: Settings,
  asked: readonly { endpoint: Endpoint; server: AskedServer }[],
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
        : describe(record, color).join("\n"),
    );
  }
  if (records.length > 0) return 0;
  for (const { endpoint, server } of settings.has("quiet") ? [] : asked) {
    const tried = server.outcomes.map(({ protocol, outcome }) => `${protocol} ${outcome.kind}`);
    const spared = server.spared.map((name) => `${name} not asked`);
    tellLine(`${formatEndpoint(endpoint)}: ${[...tried, ...spared].join(", ")}`);
  }
  tellLine(`blocksweep: no server answered`);
  return 1;
}
