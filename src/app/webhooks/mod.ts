/**
 * Opens webhooks, to which watches and scans send events.
 *
 * @module
 */
export { webhookSummary } from "./open_webhook.ts";
