/**
 * Reads the options of a crawl. Nothing is looked up or opened.
 *
 * @module
 */
import { InputError } from "../../core/errors.ts";
import { MIN_REPROBE_MS } from "../../discovery/mod.ts";
import type { DatabaseLocation } from "../../store/database_location.ts";
import { withoutSecrets } from "../options/connection_environment.ts";
import { namedLocation } from "../databases/select_servers.ts";
import { watchMetricsSettings } from "../metrics/watch_metrics_settings.ts";
import type { GivenOptions } from "../options/given_options.ts";
import { type OptionsOf, optionsOf } from "../options/option_table.ts";
import { readOptions } from "../options/read_options.ts";
import { readWebhook } from "../webhooks/open_webhook.ts";
import { DEFAULTS } from "../settings/defaults.ts";
import type { ScanContext } from "../scan/read_scan.ts";
import { withKeptContact } from "../targets/kept_contact.ts";
import type { WatchContext, WatchRequest } from "../watch/read_watch.ts";

/** What a crawl uses besides its options. */
export interface CrawlContext extends WatchContext, Pick<ScanContext, "program" | "writeRows"> {}

/** A crawl whose options were read. */
export interface CrawlRequest {
  readonly options: OptionsOf<"crawl">;
  /** The database. */
  readonly location: DatabaseLocation;
  /** The targets of discovery; empty: the public /24s of the database. */
  readonly targets: readonly string[];
  /** Probes per day. */
  readonly perDay: number;
  /** Words and options as they were given, perhaps with passwords of databases. */
  readonly secret: GivenOptions;
  /** How the known servers are polled. */
  readonly watch: WatchRequest;
  readonly context: CrawlContext;
}

/**
 * Reads the options of a crawl.
 *
 * @param secret Words and options, perhaps with passwords of databases.
 * @throws InputError for words, options and secrets that cannot be used; Deno.errors.NotCapable.
 */
export async function readCrawl(
  secret: GivenOptions,
  context: CrawlContext,
): Promise<CrawlRequest> {
  const options = readOptions("crawl", secret, context);
  const [word, ...targets] = secret.words;
  const location = namedLocation(word);
  const { budget: perDay } = options;
  if (perDay === undefined) {
    throw new InputError(
      `Cannot crawl without ${context.nameOf("budget")}: name probes per day, for example 50M/day`,
    );
  }
  const watched = watchOptions(options);
  const watch: WatchRequest = {
    options: watched,
    command: "crawl",
    words: [word],
    given: await withKeptContact(withoutSecrets(secret, optionsOf("crawl")), context),
    webhook: await readWebhook(watched, context.note),
    measured: await watchMetricsSettings(watched),
    context,
  };
  return { options, location, targets, perDay, secret, watch, context };
}

/**
 * The options of a watch that polls the servers of a crawl. Its interval is the shortest time between
 * two polls of a server: within it, many servers that stop responding show an outage.
 */
function watchOptions(options: OptionsOf<"crawl">): OptionsOf<"watch"> {
  return {
    ...options,
    interval: MIN_REPROBE_MS,
    downAfter: DEFAULTS.watch.downAfter,
    backoff: false,
    inputFile: [],
    output: [],
    protocol: undefined,
    concurrency: undefined,
    textIndex: false,
    partitionByMonth: false,
    plain: true,
    strict: false,
    noColor: false,
    probe: false,
    probeAllow: [],
    probeTokenFile: undefined,
  };
}
