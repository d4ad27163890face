/**
 * The watch command: known servers, asked again and again; what changes is told.
 *
 * @module
 */
import { InputError } from "../errors.ts";
import { systemClock } from "../net/clock.ts";
import { uuidv7 } from "../scan/id.ts";
import { withoutPlayers } from "../scan/players.ts";
import { storePlace } from "../store/open.ts";
import { noCounts, watch, type WatchCounts, type WatchRules, Webhook } from "../watch/mod.ts";
import { readArgs } from "./args.ts";
import { tellLine } from "./console.ts";
import { EventPrinter } from "./event_printer.ts";
import { onInterrupt } from "./interrupt.ts";
import { readMetrics, serveMetrics } from "./metrics.ts";
import { count, number } from "./plan.ts";
import { chosenProtocols } from "./scan_settings.ts";
import { keepThin } from "./thin.ts";
import { Settings } from "./values.ts";
import { openAsking, readAsking } from "./watch_asking.ts";
import { WatchLists } from "./watch_lists.ts";
import { WatchMetrics } from "./watch_metrics.ts";
import { readServers } from "./watch_servers.ts";

/** A full stat is cached for so long by servers: asking more often tells nothing, milliseconds. */
const LEAST_INTERVAL_MS = 5000;
/** First polls a second, at the most. */
const FIRST_POLLS = 200;

/** Runs `watch` until Ctrl-C; returns the exit code. */
export async function runWatch(args: readonly string[]): Promise<number> {
  const settings = new Settings(readArgs("watch", args));
  const rules = readRules(settings);
  const protocols = chosenProtocols(settings.list("protocol"));
  const asking = readAsking(settings, protocols);
  const url = readUrl(settings.text("webhook"));
  const names = settings.has("names");
  const keepMs = settings.age("keep");
  const serving = readMetrics(settings);
  const quiet = settings.has("quiet");
  await using lists = await WatchLists.open(settings, rules);
  const servers = await readServers({
    words: settings.values.words.filter((word) => storePlace(word) === undefined),
    files: settings.texts("input-file"),
    ...{ lists: lists.sources, protocols, names, rules },
  });
  using interrupt = onInterrupt(() => {});
  const printer = new EventPrinter(settings.has("json") || !Deno.stdout.isTerminal());
  const signal = AbortSignal.any([interrupt.signal, printer.signal]);
  const hook = url === undefined ? undefined : openWebhook(url, signal);
  const tell = (line: string) => tellLine(`blocksweep: ${line}`);
  const attach = lists.all.length === 0 ? undefined : names ? "all" : "icons";
  const { scanId } = rules;
  const { poller, board } = openAsking(servers, asking, { scanId, signal, tell, attach });
  if (!quiet) {
    tellLine(
      `watching ${count(servers.length, "server")}, each every ${rules.intervalMs / 1000} s`,
    );
  }
  const counts = noCounts();
  const metrics = new WatchMetrics(servers, counts, lists.journals);
  await using _served = serving && serveMetrics(serving, () => metrics.families());
  await lists.begin(settings.values);
  const watching = watch({
    servers,
    poll: async (server) => {
      const row = await poller.poll(server);
      return row === undefined || names ? row : withoutPlayers(row);
    },
    ...{ random: Math.random, clock: systemClock, signal, counts },
    concurrency: asking.concurrency,
    spreadMs: Math.min(rules.intervalMs, 1000 * servers.length / FIRST_POLLS),
    onPoll: (lateMs) => metrics.late(lateMs),
    onEvent: (event) => {
      metrics.told(event);
      printer.add(event);
      hook?.add(event);
    },
    onPolled: (server, events, at, answer) => {
      for (const journal of lists.journals) journal.note(server, events, at, answer);
    },
  });
  await Promise.all([watching, board.listen(), keepThin(lists.all, keepMs, signal, tell)]);
  const online = servers.filter((server) => server.online).length;
  (await lists.end(counts, online)).forEach(tellLine);
  await printer.printed();
  if (!quiet) tellLine(summary(online, servers.length, counts, hook));
  return 0;
}

function readRules(settings: Settings): WatchRules {
  const intervalMs = settings.time("interval") ?? 60_000;
  if (intervalMs < LEAST_INTERVAL_MS) {
    throw new InputError(
      `Cannot use --interval "${settings.text("interval")}": it must be at least 5s, for ` +
        "servers keep what they tell for so long",
    );
  }
  const scanId = uuidv7(Date.now(), crypto.getRandomValues(new Uint8Array(10)));
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

function summary(online: number, all: number, counts: WatchCounts, hook?: Webhook): string {
  const late = counts.worstLateMs < 1000
    ? ""
    : `, some up to ${(counts.worstLateMs / 1000).toFixed(1)} s late`;
  const sent = hook === undefined
    ? ""
    : `; the webhook took ${number(hook.sent)}, ${number(hook.lost)} were lost`;
  return `${number(online)} of ${count(all, "server")} online; ` +
    `${number(counts.polls)} polls${late}, ${number(counts.answered)} answered; ` +
    `${number(counts.events)} events${sent}`;
}
