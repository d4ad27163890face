/**
 * The webhook of a watch: its URL, and the spool file of undelivered events.
 *
 * @module
 */
import { dirname } from "node:path";
import { InputError } from "../../core/errors.ts";
import { systemClock } from "../../net/clock.ts";
import type { DatabaseLocation } from "../../store/database_location.ts";
import { EventSpool, MAX_SPOOLED_BYTES, Webhook } from "../../watch/mod.ts";
import { reason, userPath } from "../environment.ts";
import { configurationPath } from "../targets/opt_out_file.ts";
import { withCommas } from "../../core/quantities.ts";

/** The options of a webhook. */
export interface WebhookPlace {
  /** The URL, which may contain secrets. */
  readonly url: string;
  /** The spool file that the user names. */
  readonly spool: string | undefined;
}

/**
 * The webhook that the options name.
 *
 * @throws InputError for a spool without a webhook.
 */
export function webhookPlace(
  { webhook, webhookSpool }: {
    readonly webhook: string | undefined;
    readonly webhookSpool: string | undefined;
  },
): WebhookPlace | undefined {
  if (webhook !== undefined) return { url: webhook, spool: webhookSpool };
  if (webhookSpool === undefined) return undefined;
  throw new InputError("Cannot use --webhook-spool without --webhook");
}

/**
 * Opens the webhook, with the events that an earlier watch left in the spool.
 *
 * @param places The databases of the watch: events wait beside the first one that is a file.
 * @param warn Receives a line for each failure.
 * @throws InputError if the spool cannot be used; Deno.errors.NotCapable.
 */
export async function openWebhook(
  { url, spool: path }: WebhookPlace,
  places: readonly DatabaseLocation[],
  warn: (message: string) => void,
): Promise<Webhook> {
  const { protocol, hostname, port } = new URL(url);
  const host = `${hostname}:${port || (protocol === "https:" ? 443 : 80)}`;
  if (Deno.permissions.querySync({ name: "net", host }).state !== "granted") {
    throw new Deno.errors.NotCapable(
      `Requires net access to "${host}", run again with the --allow-net flag`,
    );
  }
  const spool = path === undefined
    ? await openUsual(usualPath(places), warn)
    : await openSpool(userPath(path), warn);
  return new Webhook(url, { fetch, clock: systemClock, spool, report: warn });
}

/** The default spool file, as an absolute path: a task changes the current folder. */
function usualPath(places: readonly DatabaseLocation[]): string {
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
    warn(`events for the webhook are kept in memory only (${why}) and lost when the watch ends`);
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
