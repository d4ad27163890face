/**
 * The webhook of a command that scans into databases: it sends the events of the first one.
 *
 * @module
 */
import { InputError } from "../../core/errors.ts";
import { withoutPlayers } from "../../protocols/declared_facts.ts";
import type { Protocol } from "../../protocols/protocol.ts";
import { openExisting } from "../../store/mod.ts";
import type { DatabaseLocation } from "../../store/database_location.ts";
import type { Webhook } from "../../watch/mod.ts";
import { connectionEnvironment } from "../options/connection_environment.ts";
import {
  openWebhook,
  readWebhook,
  type WebhookOptionValues,
  type WebhookSetup,
} from "./open_webhook.ts";

/** The options of the webhook of a scan: each of its events is in a database, and none in an outbox. */
export type ScanWebhookOptions = Omit<WebhookOptionValues, "webhookOutbox">;

/** How long the connection that reads events waits for a locked file, milliseconds. */
const BUSY_MS = 3000;

/**
 * Reads the files and variables that the webhook's options name.
 *
 * @param warn Receives a line for a file of secrets that other users can read.
 * @returns `undefined` without a webhook.
 * @throws InputError as {@linkcode readWebhook}, and without a database; Deno.errors.NotCapable.
 */
export async function readScanWebhook(
  options: ScanWebhookOptions,
  locations: readonly DatabaseLocation[],
  warn: (message: string) => void,
): Promise<WebhookSetup | undefined> {
  const setup = await readWebhook({ ...options, webhookOutbox: undefined }, warn);
  if (setup === undefined || locations.length > 0) return setup;
  throw new InputError(
    "Cannot use --webhook without a database, whose events it sends: add -o DATABASE, for example " +
      "-o servers.db",
  );
}

/** A scan with a webhook. */
export interface WebhookScan {
  /** The scan's identity, UUIDv7. */
  readonly scanId: string;
  /** Its databases, which exist. */
  readonly locations: readonly DatabaseLocation[];
  readonly allProtocols: readonly Protocol[];
  /** Receives a line for each failure. */
  readonly warn: (line: string) => void;
}

/**
 * Opens the webhook, with the events that wait for it in the first database. Names of players are not
 * sent.
 *
 * @throws StoreError; Deno.errors.NotCapable.
 */
export async function openScanWebhook(
  setup: WebhookSetup,
  { scanId, locations: [first], allProtocols, warn }: WebhookScan,
): Promise<Webhook> {
  const environment = connectionEnvironment(warn);
  return await openWebhook(setup, {
    scanId,
    locations: undefined,
    openFirstAgain: () => openExisting(first, environment, { busyMs: BUSY_MS }),
    shown: (record) => withoutPlayers(record, allProtocols),
  }, (line) => warn(`blocksweep: ${line}`));
}
