/**
 * Message templates: a text, or the strings of a JSON document, with placeholders such as `{name}`.
 *
 * @module
 */
import { InputError } from "../../core/errors.ts";
import type { WatchEvent } from "../../store/events/watch_event.ts";
import {
  changeOf,
  endpointOf,
  type Escape,
  eventSentence,
  hostOf,
  playersOf,
  serverOf,
} from "./event_sentence.ts";

/** The placeholders of templates, each with a function that formats its value. */
const PLACEHOLDERS: Readonly<Record<string, (event: WatchEvent, escape: Escape) => string>> = {
  message: eventSentence,
  name: serverOf,
  host: hostOf,
  port: ({ port }) => String(port ?? ""),
  endpoint: endpointOf,
  address: ({ host }, escape) => escape(host ?? ""),
  event: ({ event }) => event,
  change: changeOf,
  players: playersOf,
  time: ({ at }) => new Date(at).toISOString(),
  id: ({ id }, escape) => escape(id),
};

/** The names of all placeholders. */
export const PLACEHOLDER_NAMES: readonly string[] = Object.keys(PLACEHOLDERS);

/** Formats an event as text. */
export type TextTemplate = (event: WatchEvent, escape: Escape) => string;
/** Formats an event as a JSON value. */
export type JsonTemplate = (event: WatchEvent) => unknown;

/** Maximum length of a template, UTF-16 units. */
const LONGEST = 16_384;
/** Maximum number of lists and objects inside each other in a JSON template. */
const DEEPEST = 32;
/**
 * A word in braces. It is a placeholder if it has one brace on each side. The search begins only at the
 * first of several braces, so that it takes linear time.
 */
const IN_BRACES = /(?<!\{)\{+([^{}]*)\}+/g;

/**
 * Parses a text with placeholders. Line breaks at its end are removed.
 *
 * @param source The name of the file, for errors.
 * @throws InputError for an empty text and for an unknown placeholder.
 */
export function parseTextTemplate(text: string, source: string): TextTemplate {
  const trimmed = text.replace(/[\r\n]+$/, "");
  if (trimmed.trim() === "") throw wrong(source, "it is empty");
  requireShort(text, source);
  return compile(trimmed, source);
}

/**
 * Parses a JSON document with placeholders in its strings. Their values cannot end the string, because
 * the document is parsed first.
 *
 * @param source The name of the file, for errors.
 * @throws InputError for a document that is not JSON and for an unknown placeholder.
 */
export function parseJsonTemplate(text: string, source: string): JsonTemplate {
  requireShort(text, source);
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    // The error of JSON.parse quotes the text, which may contain a secret.
    throw wrong(source, "it must be a JSON document with the placeholders in its strings");
  }
  return compileJson(value, source, 0);
}

function requireShort(text: string, source: string): void {
  if (text.length > LONGEST) throw wrong(source, "it must have at most 16,384 characters");
}

function wrong(source: string, reason: string): InputError {
  return new InputError(`Cannot use template "${source}": ${reason}`);
}

function compile(text: string, source: string): TextTemplate {
  for (const [whole, word] of text.matchAll(IN_BRACES)) {
    if (whole === `{${word}}` && Object.hasOwn(PLACEHOLDERS, word)) continue;
    const known = PLACEHOLDER_NAMES.map((name) => `{${name}}`).join(" ");
    throw wrong(source, `there is no placeholder "${whole.slice(0, 40)}"; known are ${known}`);
  }
  return (event, escape) =>
    text.replace(IN_BRACES, (_, word: string) => PLACEHOLDERS[word](event, escape));
}

function compileJson(value: unknown, source: string, depth: number): JsonTemplate {
  if (typeof value === "string") {
    const template = compile(value, source);
    return (event) => template(event, (text) => text);
  }
  if (typeof value !== "object" || value === null) return () => value;
  if (depth >= DEEPEST) throw wrong(source, `it must have at most ${DEEPEST} levels`);
  if (Array.isArray(value)) {
    const items = value.map((item) => compileJson(item, source, depth + 1));
    return (event) => items.map((item) => item(event));
  }
  const members = Object.entries(value).map(([key, member]) => {
    if (key.search(IN_BRACES) >= 0) throw wrong(source, "placeholders must not be in keys");
    return [key, compileJson(member, source, depth + 1)] as const;
  });
  return (event) => Object.fromEntries(members.map(([key, member]) => [key, member(event)]));
}
