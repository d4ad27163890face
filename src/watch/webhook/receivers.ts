/**
 * The receivers of a webhook: what each accepts in one request, and in which form.
 *
 * - `json`: an array of events, or a JSON template for each event
 * - `discord`: "Execute Webhook" with `content` of at most 2,000 characters
 * - `slack`: an incoming webhook with `text`
 * - `ntfy`: a message published as JSON, so that no text of a server is in a header
 *
 * @module
 */
import { InputError } from "../../core/errors.ts";
import { countOf } from "../../core/quantities.ts";
import { jsonText } from "../../sinks/json.ts";
import type { WatchEvent } from "../../store/events/watch_event.ts";
import { changeOf, type Escape, eventSentence, serverOf } from "./event_sentence.ts";
import { type Message, type MessageLength, messageOf } from "./message_text.ts";
import { type JsonTemplate, parseJsonTemplate, parseTextTemplate } from "./template.ts";
import type { WebhookFormat } from "./webhook_formats.ts";

/** The URL of a receiver, and the form of its requests. */
export interface Receiver {
  /** The URL of requests. It may contain secrets. */
  readonly url: string;
  /** Maximum number of events in one request. */
  readonly maxEvents: number;
  /** How long events are gathered before a request, milliseconds. */
  readonly gatherMs: number;
  /** Formats events as the body of a request. */
  readonly body: (events: readonly WatchEvent[]) => Uint8Array<ArrayBuffer>;
}

/** A template file: its text, and its name for errors. */
export interface TemplateFile {
  /** The content of the file. */
  readonly text: string;
  /** The name of the file. */
  readonly source: string;
}

/** Maximum number of events in one request to a program. */
const BATCH = 100;
/**
 * Maximum number of events in one message to people. Those that do not fit are counted. After an outage
 * of the receiver, the message shows the present state, unless more events wait.
 */
const MESSAGE_BATCH = 10_000;
/** How long events for people are gathered: at most 30 messages a minute, which Discord allows. */
const GATHER_MS = 2000;

/** Creates a receiver of a URL; the template is optional. */
type NewReceiver = (url: string, template: TemplateFile | undefined) => Receiver;

/** The receivers by the names of their formats. */
const RECEIVERS: Readonly<Record<WebhookFormat, NewReceiver>> = {
  json: jsonReceiver,
  discord: discordReceiver,
  slack: slackReceiver,
  ntfy: ntfyReceiver,
};

/**
 * Creates a receiver.
 *
 * @throws InputError for a template or a URL that the format does not allow.
 */
export function newReceiver(
  format: WebhookFormat,
  url: string,
  template?: TemplateFile,
): Receiver {
  return RECEIVERS[format](url, template);
}

function jsonReceiver(url: string, template: TemplateFile | undefined): Receiver {
  if (template === undefined) return { url, maxEvents: BATCH, gatherMs: 0, body: encodeJson };
  const render: JsonTemplate = parseJsonTemplate(template.text, template.source);
  const body = ([event]: readonly WatchEvent[]) => encodeJson(render(event));
  return { url, maxEvents: 1, gatherMs: 0, body };
}

/** Length and escaping of messages to people. */
interface MessageRules extends MessageLength {
  readonly escape: Escape;
}

function messageReceiver(
  url: string,
  template: TemplateFile | undefined,
  rules: MessageRules,
  content: (message: Message, events: readonly WatchEvent[]) => unknown,
): Receiver {
  const render = template === undefined
    ? eventSentence
    : parseTextTemplate(template.text, template.source);
  const body = (events: readonly WatchEvent[]) => {
    const message = messageOf(events, (event) => render(event, rules.escape), rules);
    return encodeJson(content(message, events));
  };
  return { url, maxEvents: MESSAGE_BATCH, gatherMs: GATHER_MS, body };
}

/**
 * Flag of a message: links in it get no preview.
 * https://docs.discord.com/developers/resources/message#message-object-message-flags
 */
const SUPPRESS_EMBEDS = 4;

function discordReceiver(url: string, template: TemplateFile | undefined): Receiver {
  return messageReceiver(url, template, { escape: escapeDiscord, longest: 2000 }, ({ text }) => ({
    content: text,
    allowed_mentions: { parse: [] },
    flags: SUPPRESS_EMBEDS,
  }));
}

/**
 * Escapes Markdown and mentions, the mark of a list at the start of a text, and the domains of
 * invitations. Discord shows an invitation to another server for `discord.gg/CODE`, also without
 * `https:`.
 */
function escapeDiscord(text: string): string {
  return text.replace(/[\\*_~`|<>[\]#@]/g, "\\$&").replace(/^(\d*)([-+.)])(?=\s|$)/, "$1\\$2")
    .replace(/(discord(?:app)?)\./gi, "$1\\.");
}

/** Maximum length of a message for Slack, which recommends it. */
const SLACK_LENGTH = 4000;

/**
 * Markdown is off, because Slack has no escape for its characters; the three control characters are
 * escaped. https://docs.slack.dev/messaging/formatting-message-text
 */
function slackReceiver(url: string, template: TemplateFile | undefined): Receiver {
  const rules = { escape: escapeSlack, longest: SLACK_LENGTH };
  return messageReceiver(url, template, rules, ({ text }) => ({
    text,
    mrkdwn: false,
    unfurl_links: false,
    unfurl_media: false,
  }));
}

function escapeSlack(text: string): string {
  return text.replace(/[&<>]/g, (one) => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;" })[one]!);
}

/** Maximum size of a message of ntfy, bytes. A longer one becomes an attachment. */
const NTFY_BYTES = 4096;
/** The name of a topic. */
const TOPIC = /^\/([-\w]{1,64})\/?$/;

/** Emoji names and priorities of events, 1 to 5 (default: 3). https://docs.ntfy.sh/publish/ */
const NTFY_EVENTS: Readonly<Record<WatchEvent["event"], readonly [tag: string, number]>> = {
  online: ["green_circle", 3],
  offline: ["red_circle", 4],
  new: ["new", 3],
  back: ["green_circle", 3],
  lost: ["mag", 3],
  changed: ["pencil2", 3],
  players: ["busts_in_silhouette", 2],
  restarted: ["arrows_counterclockwise", 3],
  opted_out: ["no_entry_sign", 3],
  scan_summary: ["bar_chart", 3],
  watcher_offline: ["warning", 4],
  watcher_online: ["white_check_mark", 3],
};

function ntfyReceiver(url: string, template: TemplateFile | undefined): Receiver {
  const root = new URL(url);
  const [, topic] = TOPIC.exec(root.pathname) ?? [];
  if (topic === undefined) {
    throw new InputError(
      "Cannot use --webhook with the format ntfy: expected the URL of a topic, for example " +
        "https://ntfy.sh/TOPIC",
    );
  }
  root.pathname = "/";
  const lengthOf = (text: string) => encoder.encode(text).length;
  const rules = { escape: (text: string) => text, longest: NTFY_BYTES, lengthOf };
  return messageReceiver(root.href, template, rules, ({ text, reported }, events) => {
    const kinds = [...new Set(reported.map(({ event }) => event))];
    return {
      topic,
      title: titleOf(events),
      message: text,
      priority: Math.max(...kinds.map((kind) => NTFY_EVENTS[kind][1])),
      tags: kinds.map((kind) => NTFY_EVENTS[kind][0]),
    };
  });
}

/** `Hypixel is offline`, or the number of events. */
function titleOf(events: readonly WatchEvent[]): string {
  if (events.length > 1) return countOf(events.length, "event");
  const [event] = events;
  const asIs = (text: string) => text;
  const [change] = changeOf(event, asIs).split(/[,:;(]/, 1);
  return `${serverOf(event, asIs)} ${change.trim()}`;
}

function encodeJson(value: unknown): Uint8Array<ArrayBuffer> {
  return encoder.encode(jsonText(value));
}

const encoder = new TextEncoder();
