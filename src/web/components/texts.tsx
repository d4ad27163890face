/** @jsxImportSource npm:hono@4.13.19/jsx */
/**
 * Texts of strangers on pages: shortened, harmless, and isolated from the text around them.
 *
 * @module
 */
import { raw } from "npm:hono@4.13.19/html";
import { formatHtml, formatPlain, parseFormatted, type TextRun } from "../../core/formatted/mod.ts";
import { cutText, harmlessText, tidyText } from "../../core/text.ts";
import { ageText, momentText, timeText, UNKNOWN_TEXT } from "./quantities.ts";

/** Maximum length of a text on a page, UTF-16 units. Columns of records may be longer. */
const LONGEST = 300;

/** A text on one line: cut with an ellipsis, without characters that reorder or hide text. */
export function safeText(text: string, longest = LONGEST): string {
  const cut = cutText(text.toWellFormed(), longest);
  return harmlessText(cut) + (cut.length < text.length ? "…" : "");
}

/** A text of a stranger, or a dash for an unknown one. */
export function Stranger({ text, longest }: { text: string | null; longest?: number }) {
  return text === null || text === ""
    ? <span class="none">{UNKNOWN_TEXT}</span>
    : <bdi>{safeText(text, longest)}</bdi>;
}

const EDITIONS: Readonly<Record<string, string>> = {
  java: "Java",
  bedrock: "Bedrock",
  education: "Education",
  pocket: "Pocket",
};

/** The name of an edition; empty for an unknown one. */
export function editionName(edition: string | null): string {
  if (edition === null) return "";
  return Object.hasOwn(EDITIONS, edition) ? EDITIONS[edition] : safeText(edition, 40);
}

/** A MOTD in its colours, by classes. */
export function MotdText({ motd }: { motd: string }) {
  return raw(formatHtml(parseFormatted(cutText(motd, LONGEST))));
}

/** Number of UTF-16 units of a name that each page shows. */
const SHORTEST_NAME = 40;

/** The name of a server; `undefined`: it has none, or nothing of it is visible. */
export function visibleName(name: string | null): string | undefined {
  return tidyText(cutText(name ?? "", SHORTEST_NAME)) === "" ? undefined : name!;
}

/** The name of a server, or its key if it has no visible name. */
export function nameOf({ name, key }: { readonly name: string | null; readonly key: string }) {
  return visibleName(name) ?? key;
}

/** A MOTD with its styles, cut to a length; `undefined`: nothing of it is visible. */
export function visibleMotd(
  motd: string | null,
  longest = LONGEST,
): readonly TextRun[] | undefined {
  const runs = parseFormatted(cutText(motd ?? "", longest));
  return formatPlain(runs) === "" ? undefined : runs;
}

/** The name of a server in the colours of its MOTD. */
export function Name(
  { server: { name, key, motd } }: {
    server: { readonly name: string | null; readonly key: string; readonly motd: string | null };
  },
) {
  const label = visibleName(name);
  const runs = label === undefined ? undefined : visibleMotd(motd);
  return runs === undefined ? <Stranger text={label ?? key} /> : raw(formatHtml(runs));
}

/** The age of a time, with the time itself as a tooltip; by `page.js` also in the browser's time zone. */
export function Age({ at, now }: { at: number | null; now: number }) {
  if (at === null || timeText(at) === "") return <span class="none">{UNKNOWN_TEXT}</span>;
  const iso = new Date(at).toISOString();
  return <time datetime={iso} title={`${timeText(at)} UTC`} data-age>{ageText(at, now)}</time>;
}

/**
 * A date and time in UTC, with that of the browser's time zone as a tooltip by `page.js`.
 *
 * @param now With it, the time is short: to the minute, and without the date if that is today.
 */
export function Time({ at, now }: { at: number | null; now?: number }) {
  if (at === null || timeText(at) === "") return <span class="none">{UNKNOWN_TEXT}</span>;
  const text = now === undefined ? timeText(at) : momentText(at, now);
  return <time datetime={new Date(at).toISOString()}>{`${text} UTC`}</time>;
}

/** The attribution of a file of `--geoip`. An address of a web site in it is a link. */
export function Attribution({ text }: { text: string }) {
  return (
    <span>
      {safeText(text).split(/(https:\/\/[\w.-]+(?:\/[\w./-]*)?)/).map((part, i) =>
        i % 2 === 0 ? part : <a href={part} rel="noreferrer">{part.slice("https://".length)}</a>
      )}
    </span>
  );
}

/** A value of any type as words: lists with commas, a plugin as its name and version. */
export function wordsOf(value: unknown): string {
  if (value === null || value === undefined) return "unknown";
  if (Array.isArray(value)) return value.length === 0 ? "none" : value.map(wordsOf).join(", ");
  if (typeof value === "boolean") return value ? "yes" : "no";
  if (typeof value !== "object") return String(value);
  const { name, version, ...rest } = value as Readonly<Record<string, unknown>>;
  if (typeof name === "string" && Object.keys(rest).length === 0) {
    return typeof version === "string" ? `${name} ${version}` : name;
  }
  return Object.entries(value).map(([key, one]) => `${key}: ${wordsOf(one)}`).join(", ");
}
