/**
 * Redaction: text without the passwords and tokens that users write into URLs.
 *
 * @module
 */

/** What stands for what is not shown. */
const HIDDEN = "…";

/** URLs whose path may be a token, as those of webhooks; an option may stand before: `-ohttps`. */
const HYPERTEXT = /(?:https?|wss?)$/i;

/** Options of a database's URL that are shown. */
const PLAIN_OPTION = /^(?:sslmode|sslrootcert)=/;

/**
 * A URL, or a text that was meant as one, without its secrets. Of `http:` and `https:` the host
 * remains; of others, whatever is wrong with them, the user, the host and the path. A text without
 * scheme loses what stands between the first `:` and the last `@`.
 *
 * @example
 * ```ts
 * import { redactUrl } from "./redact.ts";
 * import { assertEquals } from "@std/assert";
 *
 * assertEquals(redactUrl("postgres://ann:secret@host/list"), "postgres://ann@host/list");
 * assertEquals(redactUrl("https://host/hook/secret"), "https://host/…");
 * assertEquals(redactUrl("postgres:ann:secret@host"), "postgres:…@host");
 * assertEquals(redactUrl("servers.db"), "servers.db");
 * ```
 */
export function redactUrl(text: string): string {
  const [, start, scheme, rest] =
    /^(\W*(?:sqlite:)?)((?:\w*jdbc:)?[a-z][a-z\d+.-]*):\/\/(.*)$/is.exec(text) ??
      [];
  if (scheme === undefined) return withoutPairs(withoutUserinfo(text));
  if (/^file$/i.test(scheme)) return text;
  const shown = HYPERTEXT.test(scheme) ? redactHypertext(rest) : redactOther(rest);
  return `${start}${scheme}://${shown}`;
}

/** A name of a package with its version, as `npm:pg@8.23.1`. */
const PACKAGE = /^(?:npm|jsr):[^:]*$/;

/** A database's URL without its slashes, unless it is a host of that name with a port. */
const SLASHLESS =
  /^((?:[^:@]*jdbc:)?[^:@]*(?:postgres(?:ql)?|mysql|mariadb):)(?!\d{1,5}\W*$)(?=[^@]*\w)[^@]+$/is;

function withoutUserinfo(text: string): string {
  const [colon, at] = [text.indexOf(":"), text.lastIndexOf("@")];
  const [, scheme] = SLASHLESS.exec(text) ?? [];
  if (scheme !== undefined) return `${scheme}${HIDDEN}`;
  if (colon < 0 || at < colon || PACKAGE.test(text)) return text;
  return `${text.slice(0, colon + 1)}${HIDDEN}${text.slice(at)}`;
}

/** What is behind the scheme: the host alone, unless there is nothing else. */
function redactHypertext(rest: string): string {
  const url = URL.parse(`https://${rest}`);
  // With an @ behind it, what was read as a host may be a part of the password.
  if (url === null || /@/.test(url.pathname + url.search + url.hash)) return HIDDEN;
  const isBare = [url.username, url.password, url.search, url.hash].every((part) => part === "");
  return isBare && url.pathname === "/" ? rest.trimEnd() : `${url.host}/${HIDDEN}`;
}

function redactOther(rest: string): string {
  const at = rest.lastIndexOf("@");
  const [userinfo, place] = [rest.slice(0, Math.max(at, 0)), rest.slice(at + 1)];
  if (/[?#]/.test(userinfo)) return HIDDEN; // who knows where the password begins, and ends
  const [user] = userinfo.split(/[:/\\\s]/, 1);
  const [, host, port, path, options = ""] = /^((?:\[[^\]]*\])?[^:/?#]*)(:[^/?#]*)?([^?#]*)(.*)$/s
    .exec(place)!;
  const number = port === undefined || /^:\d*$/.test(port) ? port ?? "" : `:${HIDDEN}`;
  return `${at < 0 ? "" : `${user}@`}${host}${number}${path}${redactOptions(options)}`;
}

/** `?sslmode=require`; whatever else stands there is hidden to the end. */
function redactOptions(options: string): string {
  if (options === "") return "";
  const pairs = options.slice(1).split("&");
  const isPlain = options.startsWith("?") && !options.includes("#") &&
    pairs.every((pair) => PLAIN_OPTION.test(pair));
  return isPlain ? options : `${options[0]}${HIDDEN}`;
}

/** `password=…`, as connection strings have it. */
const PAIR =
  /((?:pass(?:word|wd|phrase)?|pwd|secret|token)\s*=\s*)(?:'(?:[^'\\]|\\.)*'|[^\s&;"]+)/gi;

function withoutPairs(text: string): string {
  return text.replace(PAIR, `$1${HIDDEN}`);
}

/**
 * A message without secrets: without those of all URLs in it.
 *
 * @param values Texts that a user gave, and that may stand in the message as a whole: a password
 * in them may hold white space, of which a message does not tell whether it ends a URL.
 */
export function redact(message: string, values: readonly string[] = []): string {
  let shown = message;
  for (const value of values) {
    const parts = tailsOf(value);
    if (parts.every((part) => redactUrl(part) === part)) continue;
    for (const part of parts) {
      const isUrl = part === value || part.includes("://");
      shown = shown.replaceAll(part, () => isUrl ? redactUrl(part) : HIDDEN);
    }
  }
  return withoutPairs(shown.replace(/[^\s"]+/g, redactWord));
}

/** A text, and what a parser may take of it for a value: all behind `-o`, or behind a `=`. */
function tailsOf(text: string): string[] {
  const tails = /^-[a-z]/i.test(text) ? [text, text.slice(2)] : [text];
  for (let at = -1; (at = text.indexOf("=", at + 1)) >= 0;) tails.push(text.slice(at + 1));
  return tails.filter((tail) => tail.length >= SHORTEST);
}

/** Shorter texts are likely to be a part of a message's own words. */
const SHORTEST = 4;

function redactWord(word: string): string {
  const slashes = word.indexOf("://");
  if (slashes < 0) return withoutUserinfo(word);
  let from = slashes;
  while (from > 0 && /[a-z\d+.-]/i.test(word[from - 1])) from--;
  return word.slice(0, from) + redactUrl(word.slice(from));
}

/** An error that may be shown: its message and stack, and those of its causes, hold no secrets. */
export function redactError(error: unknown, values: readonly string[] = []): unknown {
  for (let one = error, depth = 0; one instanceof Error && depth < 10; one = one.cause, depth++) {
    const { message, stack } = one;
    one.message = redact(message, values);
    if (stack !== undefined) one.stack = redact(stack, values);
  }
  return error;
}
