/**
 * The formats of a webhook's requests.
 *
 * @module
 */

/** The names of all formats. receivers.ts describes them. */
export const WEBHOOK_FORMATS = ["json", "discord", "slack", "ntfy"] as const;

/** The name of a format. */
export type WebhookFormat = typeof WEBHOOK_FORMATS[number];
