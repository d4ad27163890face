/**
 * The webhook of a command that scans into databases. The code of webhooks is loaded only if an option
 * names one.
 *
 * @module
 */
import type { DatabaseLocation } from "../../store/database_location.ts";
import type { Webhook } from "../../watch/mod.ts";
import type { WebhookSetup } from "./open_webhook.ts";
import type { ScanWebhookOptions, WebhookScan } from "./scan_webhook.ts";

/**
 * Reads the files and variables that the webhook's options name.
 *
 * @param locations The databases of the scan.
 * @param warn Receives a line for a file of secrets that other users can read.
 * @returns `undefined` without a webhook.
 * @throws InputError for options that cannot be used, and without a database; Deno.errors.NotCapable.
 */
export async function loadScanWebhook(
  options: ScanWebhookOptions,
  locations: readonly DatabaseLocation[],
  warn: (message: string) => void,
): Promise<WebhookSetup | undefined> {
  const { webhookHeader, ...others } = options;
  const isNamed = webhookHeader.length > 0 ||
    Object.entries(others).some(([name, value]) => name.startsWith("webhook") && value);
  if (!isNamed) return undefined;
  return (await import("./scan_webhook.ts")).readScanWebhook(options, locations, warn);
}

/** Opens a webhook, if there is one: see `openScanWebhook`. */
export async function openLoadedWebhook(
  setup: WebhookSetup | undefined,
  scan: WebhookScan,
): Promise<Webhook | undefined> {
  if (setup === undefined) return undefined;
  return (await import("./scan_webhook.ts")).openScanWebhook(setup, scan);
}

/**
 * Waits for the delivery of what was written, within a limit: the rest waits for the next command with
 * the same webhook.
 *
 * @returns The numbers of events, in words; `undefined` without a webhook.
 */
export async function closeLoadedWebhook(hook: Webhook | undefined): Promise<string | undefined> {
  if (hook === undefined) return undefined;
  await hook.close();
  return (await import("./open_webhook.ts")).webhookCounts(hook);
}
