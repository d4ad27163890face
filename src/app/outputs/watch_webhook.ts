/**
 * The webhook of a watch: its receiver, and the spool file of undelivered events.
 *
 * @module
 */
import { dirname } from "node:path";
import { InputError } from "../../core/errors.ts";
import { systemClock } from "../../net/clock.ts";
import type { DatabaseLocation } from "../../store/database_location.ts";
import {
  EventSpool,
  MAX_SPOOLED_BYTES,
  newReceiver,
  type Receiver,
  Webhook,
  type WebhookFormat,
} from "../../watch/mod.ts";
import { readTextFile, reason, userPath } from "../environment.ts";
import {
  type HeaderSource,
  readHeaders,
  readSecret,
  readUrl,
  type SecretSource,
  type WebhookUrl,
} from "./webhook_secrets.ts";
import { configurationPath } from "../targets/opt_out_file.ts";
import { withCommas } from "../../core/quantities.ts";

/** A webhook as the options describe it, with its secrets. */
export interface WebhookSetup {
  /** The receiver; its URL may contain secrets. */
  readonly receiver: Receiver;
  /** The kinds of events to send; `undefined`: all. */
  readonly events: readonly string[] | undefined;
  /** Additional headers of requests. */
  readonly headers: Readonly<Record<string, string>>;
  /** The key of signatures; `undefined`: requests are not signed. */
  readonly secret: string | undefined;
  /** The spool file that the user names. */
  readonly spool: string | undefined;
}

/** The options of a webhook. */
export interface WebhookOptionValues {
  readonly webhook: WebhookUrl | undefined;
  readonly webhookFormat: WebhookFormat | undefined;
  readonly webhookEvents: readonly string[] | undefined;
  readonly webhookTemplate: string | undefined;
  readonly webhookHeader: readonly HeaderSource[];
  readonly webhookSecret: SecretSource | undefined;
  readonly webhookSpool: string | undefined;
}

/**
 * Reads the files and variables that the options name.
 *
 * @param warn Receives a line for a file of secrets that other users can read.
 * @returns `undefined` without a webhook.
 * @throws InputError for an option without a webhook, and for an unusable secret or template;
 * Deno.errors.NotCapable.
 */
export async function readWebhook(
  options: WebhookOptionValues,
  warn: (message: string) => void,
): Promise<WebhookSetup | undefined> {
  const { webhook, webhookFormat = "json", webhookTemplate, webhookSecret } = options;
  if (webhook === undefined) {
    requireNoOthers(options);
    return undefined;
  }
  const url = typeof webhook === "string" ? webhook : await readUrl(webhook, warn);
  const template = webhookTemplate === undefined
    ? undefined
    : { text: await readTextFile(webhookTemplate), source: webhookTemplate };
  return {
    receiver: newReceiver(webhookFormat, url, template),
    events: options.webhookEvents,
    headers: await readHeaders(options.webhookHeader, warn),
    secret: webhookSecret && await readSecret("webhook-secret", webhookSecret, warn),
    spool: options.webhookSpool,
  };
}

function requireNoOthers(options: WebhookOptionValues): void {
  const given = Object.entries(options).find(([name, value]) =>
    /^webhook./.test(name) && value !== undefined && !(Array.isArray(value) && value.length === 0)
  );
  if (given === undefined) return;
  const option = given[0].replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
  throw new InputError(`Cannot use --${option} without --webhook`);
}

/**
 * Opens the webhook, with the events that an earlier watch left in the spool.
 *
 * @param places The databases of the watch: the default spool file is beside the first one that is
 * a file.
 * @param warn Receives a line for each failure.
 * @throws InputError if the spool cannot be used; Deno.errors.NotCapable.
 */
export async function openWebhook(
  { receiver, spool: path, ...options }: WebhookSetup,
  places: readonly DatabaseLocation[],
  warn: (message: string) => void,
): Promise<Webhook> {
  const { protocol, hostname, port } = new URL(receiver.url);
  const host = `${hostname}:${port || (protocol === "https:" ? 443 : 80)}`;
  if (Deno.permissions.querySync({ name: "net", host }).state !== "granted") {
    throw new Deno.errors.NotCapable(
      `Requires net access to "${host}", run again with the --allow-net flag`,
    );
  }
  const spool = path === undefined
    ? await openUsual(usualSpool(places), warn)
    : await openSpool(userPath(path), warn);
  return new Webhook(receiver, { ...options, fetch, clock: systemClock, spool, report: warn });
}

/** The default spool file, as an absolute path: a task changes the current folder. */
export function usualSpool(places: readonly DatabaseLocation[]): string {
  const file = places.find(({ postgres }) => postgres === undefined)?.file;
  return file === undefined ? configurationPath("webhook.spool") : `${userPath(file)}.webhook`;
}

/** A watch works without a spool if no file can be written. */
async function openUsual(path: string, warn: (message: string) => void): Promise<EventSpool> {
  try {
    Deno.mkdirSync(dirname(path), { recursive: true });
    return await openSpool(path, warn);
  } catch (error) {
    if (error instanceof InputError && /another watch/.test(error.message)) throw error;
    const why = error instanceof Deno.errors.NotCapable
      ? "--allow-write is not granted"
      : reason(error);
    warn(
      `events for the webhook are kept in memory only (${why}), and are lost when the watch ends`,
    );
    return await EventSpool.open({ path: undefined, onWriteError: warn });
  }
}

async function openSpool(path: string, warn: (message: string) => void): Promise<EventSpool> {
  const onWriteError = (why: string) =>
    warn(`events for the webhook are kept in memory only: cannot write "${path}": ${why}`);
  try {
    requireFile(path);
    return await EventSpool.open({ path, onWriteError });
  } catch (error) {
    if (error instanceof InputError || error instanceof Deno.errors.NotCapable) throw error;
    throw new InputError(`Cannot use "${path}": ${reason(error)}`);
  }
}

/** Opening a named pipe would wait for a writer. A large file is not a spool, and is not read. */
function requireFile(path: string): void {
  try {
    const { isFile, size } = Deno.statSync(path);
    if (isFile && size <= 4 * MAX_SPOOLED_BYTES) return;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return;
    throw error;
  }
  throw new InputError(`Cannot use "${path}": it is not a regular file, or too large for a spool`);
}

/** The numbers of delivered, waiting and lost events, those of an earlier watch included. */
export function webhookSummary({ delivered, waiting, lost, recovered, path }: Webhook): string {
  const before = recovered === 0 ? "" : ` and ${withCommas(recovered)} of an earlier watch`;
  const where = waiting === 0 ? "" : ` in "${path}"`;
  return `${before}; webhook: ${withCommas(delivered)} delivered, ${
    withCommas(waiting)
  } waiting${where}, ` +
    `${withCommas(lost)} lost`;
}
