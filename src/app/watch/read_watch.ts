/**
 * Reads the options of a watch, and the files of secrets that they name. Nothing is looked up or
 * opened.
 *
 * @module
 */
import type { CallContext } from "../network/call_context.ts";
import { withoutSecrets } from "../options/connection_environment.ts";
import type { DatabaseContext } from "./watch_databases.ts";
import {
  type WatchMetricsSettings,
  watchMetricsSettings,
} from "../metrics/watch_metrics_settings.ts";
import type { GivenOptions } from "../options/given_options.ts";
import { type OptionsOf, optionsOf } from "../options/option_table.ts";
import { readOptions } from "../options/read_options.ts";
import { withKeptContact } from "../targets/kept_contact.ts";
import { readWebhook, type WebhookSetup } from "../webhooks/open_webhook.ts";

/** What a watch uses besides its options. */
export interface WatchContext extends CallContext, Omit<DatabaseContext, "clock"> {}

/** A watch whose options were read. Nothing is looked up or opened yet. */
export interface WatchRequest {
  readonly options: OptionsOf<"watch">;
  /** Servers, files and databases, perhaps with passwords of databases. */
  readonly words: readonly string[];
  /** The command: a crawl polls by its own schedule, and writes no spans. */
  readonly command: "watch" | "crawl";
  /** Words and options as they were given, without secrets. */
  readonly given: GivenOptions;
  /** The webhook, with its secrets; `undefined`: there is none. */
  readonly webhook: WebhookSetup | undefined;
  /** What is measured and served; `undefined`: nothing. */
  readonly measured: WatchMetricsSettings | undefined;
  readonly context: WatchContext;
}

/**
 * Reads the options of a watch.
 *
 * @param secret Words and options, perhaps with passwords of databases.
 * @throws InputError for options and secrets that cannot be used; Deno.errors.NotCapable.
 */
export async function readWatch(
  secret: GivenOptions,
  context: WatchContext,
): Promise<WatchRequest> {
  const options = readOptions("watch", secret, context);
  return {
    options,
    command: "watch",
    words: secret.words,
    given: await withKeptContact(withoutSecrets(secret, optionsOf("watch")), context),
    webhook: await readWebhook(options, context.note),
    measured: await watchMetricsSettings(options),
    context,
  };
}
