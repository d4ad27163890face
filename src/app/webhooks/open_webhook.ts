/**
 * The webhook of a watch or a scan: its receiver, and the outbox of events that no database has.
 *
 * @module
 */
import { nodeCrypto, nodePath } from "../../core/node_modules.ts";
import { InputError } from "../../core/errors.ts";
import { systemClock } from "../../net/clock.ts";
import type { ServerRecord } from "../../core/record.ts";
import type { Database } from "../../store/database/database.ts";
import type { DatabaseLocation } from "../../store/database_location.ts";
import { EVENT_KINDS } from "../../store/events/watch_event.ts";
import { readSalt, WebhookPosition, withDatabaseErrors } from "../../store/mod.ts";
import {
  EventFeedQueue,
  EventOutbox,
  MAX_OUTBOX_BYTES,
  newReceiver,
  type Receiver,
  Webhook,
} from "../../watch/mod.ts";
import { readTextFile, reason, userPath } from "../environment.ts";
import type { OptionsOf } from "../options/option_table.ts";
import { readHeaders, readSecret, readUrl } from "../outputs/webhook_secrets.ts";
import { configurationPath } from "../opt_outs/opt_out_file.ts";
import { countOf, withCommas } from "../../core/quantities.ts";

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
  /** The file of the outbox that the user names. */
  readonly outbox: string | undefined;
}

export type WebhookOptionValues = Pick<
  OptionsOf<"watch">,
  Extract<keyof OptionsOf<"watch">, `webhook${string}`>
>;

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
    outbox: options.webhookOutbox,
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

export interface WebhookWatch {
  /** The identity of the watch or scan, UUIDv7. */
  readonly scanId: string;
  /**
   * Its databases: the outbox is beside the first one that is a file. `undefined`: a database has all
   * events, and no outbox is needed.
   */
  readonly locations: readonly DatabaseLocation[] | undefined;
  /** Opens the first database over another connection; `undefined`: the watch has none. */
  readonly openFirstAgain: () => Promise<Database | undefined>;
  /** Returns a server's record as it may be sent. */
  readonly shown: (record: ServerRecord) => ServerRecord;
}

/**
 * Opens the webhook, with the events that wait for it in the first database and in the outbox.
 *
 * @param warn Receives a line for each failure.
 * @throws InputError if the outbox cannot be used; StoreError; Deno.errors.NotCapable.
 */
export async function openWebhook(
  { receiver, outbox: path, ...options }: WebhookSetup,
  watch: WebhookWatch,
  warn: (message: string) => void,
): Promise<Webhook> {
  const { protocol, hostname, port } = new URL(receiver.url);
  const host = `${hostname}:${port || (protocol === "https:" ? 443 : 80)}`;
  if (Deno.permissions.querySync({ name: "net", host }).state !== "granted") {
    throw new Deno.errors.NotCapable(
      `Requires net access to "${host}", run again with the --allow-net flag`,
    );
  }
  const { locations } = watch;
  const outbox = path !== undefined
    ? await openOutbox(userPath(path), options.events, warn)
    : locations === undefined
    ? await EventOutbox.open({ path: undefined, onWriteError: warn })
    : await openUsual(usualOutbox(locations), locations.length > 0, options.events, warn);
  try {
    const feed = await openFeed({ receiver, ...options }, watch, outbox, warn);
    return new Webhook(receiver, {
      ...options,
      fetch,
      clock: systemClock,
      outbox,
      feed,
      report: warn,
    });
  } catch (error) {
    await outbox.close(true);
    throw error;
  }
}

/** Prepares the webhook's queue of the events in the first database; `undefined`: there is none. */
async function openFeed(
  { receiver, events = EVENT_KINDS }: Pick<WebhookSetup, "receiver" | "events">,
  { scanId, shown, openFirstAgain }: WebhookWatch,
  outbox: EventOutbox,
  report: (message: string) => void,
): Promise<EventFeedQueue | undefined> {
  const kinds = events.filter((kind) => kind !== "players"); // these are in no database
  // Without any kind, the queue still looks for forgotten servers, whose events are not sent.
  const database = await openFirstAgain();
  if (database === undefined) return undefined;
  await using stack = new AsyncDisposableStack();
  stack.use(database);
  const position = await withDatabaseErrors("write to", database, async () => {
    const webhook = webhookHash(receiver.url, await readSalt(database));
    const position = new WebhookPosition(database, { webhook, kinds }, scanId);
    const given = await position.prepare();
    if (given > 0) {
      report(`webhook events are lost: ${countOf(given, "event")} waited longer than a week`);
    }
    return position;
  });
  stack.move();
  const wasSent = (id: string) => outbox.handOver(id, position.key.webhook);
  return new EventFeedQueue({ database, position, wasSent, shown, clock: systemClock, report });
}

/** Cost of scrypt: a hash takes about 50 ms, so that trying many URLs takes too long. */
const COST = 16_384;

/** The hash by which a database recognises a webhook. The URL's user and password are not part of it. */
function webhookHash(text: string, salt: string): string {
  const url = new URL(text);
  url.username = url.password = "";
  return nodeCrypto().scryptSync(url.href, salt, 16, { N: COST }).toString("hex");
}

/** The default file of the outbox, as an absolute path: a task changes the current folder. */
export function usualOutbox(locations: readonly DatabaseLocation[]): string {
  const file = locations.find(({ postgres }) => postgres === undefined)?.file;
  return file === undefined ? configurationPath("webhook.outbox") : `${userPath(file)}.webhook`;
}

/** A watch works with an outbox in memory if no file can be written. */
async function openUsual(
  path: string,
  hasDatabase: boolean,
  kinds: WebhookSetup["events"],
  warn: (message: string) => void,
): Promise<EventOutbox> {
  try {
    Deno.mkdirSync(nodePath().dirname(path), { recursive: true });
    return await openOutbox(path, kinds, warn);
  } catch (error) {
    const isUsed = error instanceof InputError && /another watch/.test(error.message);
    if (isUsed && !hasDatabase) throw error;
    const why = error instanceof Deno.errors.NotCapable
      ? "--allow-write is not granted"
      : isUsed
      ? `another watch uses "${path}"`
      : reason(error);
    const which = hasDatabase ? "events that the database does not have" : "events for the webhook";
    warn(`${which} are kept in memory only (${why}), and are lost when the watch ends`);
    return await EventOutbox.open({ path: undefined, onWriteError: warn });
  }
}

async function openOutbox(
  path: string,
  kinds: WebhookSetup["events"],
  warn: (message: string) => void,
): Promise<EventOutbox> {
  const onWriteError = (why: string) =>
    warn(`events for the webhook are kept in memory only: cannot write "${path}": ${why}`);
  try {
    requireFile(path);
    return await EventOutbox.open({ path, kinds, onWriteError });
  } catch (error) {
    if (error instanceof InputError || error instanceof Deno.errors.NotCapable) throw error;
    throw new InputError(`Cannot use "${path}": ${reason(error)}`);
  }
}

/** Opening a named pipe would wait for a writer. A large file is not an outbox, and is not read. */
function requireFile(path: string): void {
  try {
    const { isFile, size } = Deno.statSync(path);
    if (isFile && size <= 4 * MAX_OUTBOX_BYTES) return;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return;
    throw error;
  }
  throw new InputError(
    `Cannot use "${path}": it is not a regular file, or too large for an outbox`,
  );
}

/** The end of a watch's summary: the events of an earlier watch, and {@linkcode webhookCounts}. */
export function webhookSummary(hook: Webhook): string {
  const { recovered } = hook;
  const before = recovered === 0 ? "" : ` and ${withCommas(recovered)} of an earlier watch`;
  return `${before}; ${webhookCounts(hook)}`;
}

/** The numbers of delivered, waiting and lost events, those of an earlier watch included. */
export function webhookCounts(hook: Webhook): string {
  const { delivered, waiting, waitingInOutbox, lost, path } = hook;
  const locations = [
    ...waiting > waitingInOutbox ? ["the database"] : [],
    ...waitingInOutbox > 0 ? [`"${path}"`] : [],
  ];
  const where = locations.length === 0 ? "" : ` in ${locations.join(" and ")}`;
  return `webhook: ${withCommas(delivered)} delivered, ${withCommas(waiting)} waiting${where}, ` +
    `${withCommas(lost)} lost`;
}
