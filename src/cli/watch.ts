/**
 * The watch command: known servers, asked again and again; what changes is told.
 *
 * @module
 */
import { type Endpoint, endpointKey, formatEndpoint } from "../address.ts";
import { InputError } from "../errors.ts";
import { systemClock } from "../net/clock.ts";
import { openSocket } from "../net/deno.ts";
import { denoDialer } from "../net/deno_tcp.ts";
import type { DatagramSocket } from "../net/socket.ts";
import { Switchboard } from "../net/switchboard.ts";
import { STREAM_LIMITS, StreamLink } from "../net/tcp.ts";
import { Throttle } from "../net/throttle.ts";
import { uuidv7 } from "../scan/id.ts";
import { withoutPlayers } from "../scan/players.ts";
import { readIds } from "../sinks/known.ts";
import { socketsFor } from "../sweep/window.ts";
import { neverAsked } from "../targets/lists.ts";
import { splitWords } from "../targets/parse.ts";
import {
  noCounts,
  Poller,
  watch,
  type WatchCounts,
  Watched,
  type WatchEvent,
  type WatchRules,
  Webhook,
} from "../watch/mod.ts";
import { readArgs } from "./args.ts";
import { print, readText, tellLine, userPath } from "./console.ts";
import { onInterrupt } from "./interrupt.ts";
import { locate } from "./locate.ts";
import { count, number } from "./plan.ts";
import { resolveName, serviceFinder } from "./resolve.ts";
import { chosenProtocols, chosenTimeout, streamLimits } from "./scan_settings.ts";
import { Settings } from "./values.ts";
import { eventLine } from "./watch_view.ts";

/** A full stat is cached for so long by servers: asking more often tells nothing, milliseconds. */
const LEAST_INTERVAL_MS = 5000;
/** As for scans: datagrams a second, in all and to a host. */
const RATE = 1000;
const HOST_RATE = 5;
/** First polls a second, at the most. */
const FIRST_POLLS = 200;

/** Runs `watch` until Ctrl-C; returns the exit code. */
export async function runWatch(args: readonly string[]): Promise<number> {
  const settings = new Settings(readArgs("watch", args));
  const random = (size: number) => crypto.getRandomValues(new Uint8Array(size));
  const rules = readRules(settings, uuidv7(Date.now(), random(10)));
  const protocols = chosenProtocols(settings.list("protocol"));
  const timeoutMs = chosenTimeout(settings);
  const limits = settings.text("timeout") === undefined ? STREAM_LIMITS : streamLimits(timeoutMs);
  const concurrency = settings.whole("concurrency", 1, 100_000) ?? 256;
  const retries = settings.whole("retries", 0, 3) ?? 2;
  const url = readUrl(settings.text("webhook"));
  const servers = await readServers(settings, protocols, rules);
  using interrupt = onInterrupt(() => {});
  const printer = new Printer(settings.has("json") || !Deno.stdout.isTerminal());
  const signal = AbortSignal.any([interrupt.signal, printer.signal]);
  const hook = url === undefined ? undefined : openWebhook(url, signal);
  const throttle = new Throttle({ rate: RATE, netRate: undefined, hostRate: HOST_RATE });
  const sockets = Poller.families(servers).flatMap((bits) =>
    openSockets(bits, Math.min(concurrency, servers.length))
  );
  await using board = new Switchboard(sockets, throttle, systemClock);
  const listening = board.listen(() => {});
  signal.addEventListener("abort", () => board.hangUp(), { once: true });
  const dialer = denoDialer();
  const stream = { dialer, throttle, clock: systemClock, signal };
  const poller = new Poller({
    ...{ protocols, timeoutMs, retries, board, clock: systemClock, signal, scanId: rules.scanId },
    nonce: () => new DataView(random(8).buffer).getBigUint64(0) >> 1n,
    openSole: open,
    dial: (endpoint, connectMs = limits.connectMs) =>
      new StreamLink(endpoint, { ...stream, limits: { ...limits, connectMs } }),
  });
  const names = settings.has("names");
  const quiet = settings.has("quiet");
  if (!quiet) {
    tellLine(
      `watching ${count(servers.length, "server")}, each every ${rules.intervalMs / 1000} s`,
    );
  }
  const counts = noCounts();
  const watching = watch({
    servers,
    poll: async (server) => {
      const row = await poller.poll(server);
      return row === undefined || names ? row : withoutPlayers(row);
    },
    ...{ concurrency, random: Math.random, clock: systemClock, signal, counts },
    spreadMs: Math.min(rules.intervalMs, 1000 * servers.length / FIRST_POLLS),
    onEvent: (event) => {
      printer.add(event);
      hook?.add(event);
    },
  });
  await Promise.race([watching, listening.then(() => watching)]);
  await printer.printed();
  if (!quiet) tellLine(summary(servers, counts, hook));
  return 0;
}

/** Sockets whose buffers hold what so many servers say at once; one server needs one. */
function openSockets(bits: 4 | 6, concurrency: number): DatagramSocket[] {
  const first = open(bits);
  const size = Math.min(concurrency, socketsFor(concurrency, first.receiveBuffer));
  return [first, ...Array.from({ length: size - 1 }, () => open(bits))];
}

function open(bits: 4 | 6): DatagramSocket {
  return openSocket({ address: bits === 4 ? 0 : 0n, port: 0 });
}

function readRules(settings: Settings, scanId: string): WatchRules {
  const intervalMs = settings.time("interval") ?? 60_000;
  if (intervalMs < LEAST_INTERVAL_MS) {
    throw new InputError(
      `Cannot use --interval "${settings.text("interval")}": it must be at least 5s, for ` +
        "servers keep what they tell for so long",
    );
  }
  return { intervalMs, downAfter: settings.whole("down-after", 1, 100) ?? 3, scanId };
}

function readUrl(text: string | undefined): string | undefined {
  if (text === undefined) return undefined;
  const url = URL.parse(text);
  if (url !== null && /^https?:$/.test(url.protocol)) return url.href;
  throw new InputError(`Cannot use --webhook: it wants a URL that starts with http: or https:`);
}

function openWebhook(url: string, signal: AbortSignal): Webhook {
  return new Webhook(url, {
    ...{ fetch, clock: systemClock, signal },
    onLoss: (reason) => tellLine(`blocksweep: events are lost to the webhook: ${reason}`),
  });
}

/** Formats that rows can be read back from, by suffix. */
const ROWS: Readonly<Record<string, string>> = { ndjson: "ndjson", jsonl: "ndjson", csv: "csv" };

/** The servers of all words and files, each once. */
async function readServers(
  settings: Settings,
  protocols: ReturnType<typeof chosenProtocols>,
  rules: WatchRules,
): Promise<readonly Watched[]> {
  const servers = new Map<number | bigint, Watched>();
  const add = (endpoint: Endpoint, name: string | null) => {
    const reason = neverAsked(endpoint.address);
    if (reason !== undefined) {
      throw new InputError(
        `Cannot watch ${formatEndpoint(endpoint)}: never asked: ${reason}`,
      );
    }
    const key = endpointKey(endpoint);
    if (!servers.has(key)) servers.set(key, new Watched({ ...endpoint }, name, rules));
  };
  const lookups = {
    resolve: resolveName,
    findService: serviceFinder(),
    note: (text: string) => tellLine(`blocksweep: ${text}`),
  };
  const addWord = async (word: string) => {
    const { endpoints, name } = await locate(word, protocols, lookups);
    for (const { endpoint } of endpoints) add(endpoint, name);
  };
  const files = settings.texts("input-file");
  for (const word of [...settings.values.words, ...files]) {
    const suffix = /\.([a-z]+)$/.exec(word)?.[1] ?? "";
    const isFile = files.includes(word) || suffix in ROWS || suffix === "txt";
    if (!isFile) await addWord(word);
    else if (suffix in ROWS) {
      await readText(word); // which says why, where it cannot be read
      for (const endpoint of await readIds(userPath(word), ROWS[suffix])) add(endpoint, null);
    } else {
      for (const line of splitWords(await readText(word))) await addWord(line.word);
    }
  }
  if (servers.size > 0) return [...servers.values()];
  throw new InputError("Cannot watch nothing: name servers, or files that hold some");
}

/** Prints events as they come. */
class Printer {
  readonly #failed = new AbortController();
  #printed: Promise<void> = Promise.resolve();

  constructor(private readonly json: boolean) {}

  /** Set off when nobody takes the events any longer. */
  get signal(): AbortSignal {
    return this.#failed.signal;
  }

  add(event: WatchEvent): void {
    const text = this.json ? JSON.stringify({ schema: 1, ...event }) : eventLine(event);
    this.#printed = this.#printed.then(() => print(text)).catch((error) =>
      this.#failed.abort(error)
    );
  }

  /** Waits until all are printed; throws why they could not be. */
  async printed(): Promise<void> {
    await this.#printed;
    this.signal.throwIfAborted();
  }
}

function summary(servers: readonly Watched[], counts: WatchCounts, hook?: Webhook): string {
  const online = servers.filter((server) => server.online).length;
  const late = counts.worstLateMs < 1000
    ? ""
    : `, some up to ${(counts.worstLateMs / 1000).toFixed(1)} s late`;
  const sent = hook === undefined
    ? ""
    : `; the webhook took ${number(hook.sent)}, ${number(hook.lost)} were lost`;
  return `${number(online)} of ${count(servers.length, "server")} online; ` +
    `${number(counts.polls)} polls${late}, ${number(counts.answered)} answered; ` +
    `${number(counts.events)} events${sent}`;
}
