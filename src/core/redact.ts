/**
 * Redacts the passwords and tokens that users write into URLs.
 *
 * @module
 */

/** The replacement for hidden text. */
const HIDDEN = "…";

/**
 * Schemes whose path may contain a token, such as those of webhooks. An option may precede them:
 * `-ohttps`.
 */
const HYPERTEXT = /(?:https?|wss?)$/i;

/** Options of a database URL that are shown, because they are not secret. */
const PLAIN_OPTION = /^(?:host|port|user|sslmode|sslrootcert)=/;

/**
 * Redacts a URL, or a text that may be meant as one. Of `http:` and `https:` only the host remains.
 * Of other schemes the user, the host and the path remain, even if the URL is invalid. In a text
 * without a scheme, the part between the first `:` and the last `@` is hidden.
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

/** A package name with its version, for example `npm:pg@8.23.1`, perhaps in quotes or with a file after it. */
const PACKAGE = /^(?:[^:@]*[^:@\w])?(?:npm|jsr):\/?(?:@[\w.-]+\/)?[\w.-]+@[^@]*$/;

/**
 * A database URL without slashes, for example `postgres:secret`. A host named `postgres` with a
 * port does not match.
 */
const SLASHLESS =
  /^((?:[^:@]*jdbc:)?[^:@]*(?:postgres(?:ql)?|mysql|mariadb):)(?!\d{1,5}\W*$)(?=[^@]*\w)[^@]+$/is;

function withoutUserinfo(text: string): string {
  const [colon, at] = [text.indexOf(":"), text.lastIndexOf("@")];
  const [, scheme] = SLASHLESS.exec(text) ?? [];
  if (scheme !== undefined) return `${scheme}${HIDDEN}`;
  if (colon < 0 || at < colon || PACKAGE.test(text)) return text;
  return `${text.slice(0, colon + 1)}${HIDDEN}${text.slice(at)}`;
}

/** Redacts the part of a URL after `http://`: only the host remains. */
function redactHypertext(rest: string): string {
  const url = URL.parse(`https://${rest}`);
  // If an @ follows the host, the parsed host may be a part of the password.
  if (url === null || /@/.test(url.pathname + url.search + url.hash)) return HIDDEN;
  const isBare = [url.username, url.password, url.search, url.hash].every((part) => part === "");
  return isBare && url.pathname === "/" ? rest.trimEnd() : `${url.host}/${HIDDEN}`;
}

function redactOther(rest: string): string {
  const at = rest.lastIndexOf("@");
  const [userinfo, address] = [rest.slice(0, Math.max(at, 0)), rest.slice(at + 1)];
  if (/[?#]/.test(userinfo)) return HIDDEN; // it is ambiguous where the password starts and ends
  const [user] = userinfo.split(/[:/\\\s]/, 1);
  const [, host, port, path, options = ""] = /^((?:\[[^\]]*\])?[^:/?#]*)(:[^/?#]*)?([^?#]*)(.*)$/s
    .exec(address)!;
  // Punctuation of a sentence may follow.
  const number = port === undefined || /^:\d*[.,;)]?$/.test(port) ? port ?? "" : `:${HIDDEN}`;
  return `${at < 0 ? "" : `${user}@`}${host}${number}${path}${redactOptions(options)}`;
}

/** Shows `?sslmode=require`; any other options are hidden. */
function redactOptions(options: string): string {
  if (options === "") return "";
  const pairs = options.slice(1).split("&");
  const isPlain = options.startsWith("?") && !options.includes("#") &&
    pairs.every((pair) => PLAIN_OPTION.test(pair));
  return isPlain ? options : `${options[0]}${HIDDEN}`;
}

/** A password or token in a connection string: `password=…`. */
const PAIR =
  /((?:pass(?:word|wd|phrase)?|pwd|secret|token)\s*=\s*)(?:'(?:[^'\\]|\\.)*'|[^\s&;"]+)/gi;

function withoutPairs(text: string): string {
  return text.replace(PAIR, `$1${HIDDEN}`);
}

/**
 * Redacts all URLs in a message.
 *
 * @param values Arguments of the user that the message may quote. A password in them may contain
 * white space. Elsewhere in the message, white space ends a URL.
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

/**
 * An argument, and its parts that may be an option's value: the text after `-o`, or after a `=`.
 */
function tailsOf(text: string): string[] {
  const tails = /^-[a-z]/i.test(text) ? [text, text.slice(2)] : [text];
  for (let at = -1; (at = text.indexOf("=", at + 1)) >= 0;) tails.push(text.slice(at + 1));
  return tails.filter((tail) => tail.length >= SHORTEST);
}

/**
 * Minimum length of a value that is searched for in a message. A shorter value may be an ordinary
 * word of the message.
 */
const SHORTEST = 4;

function redactWord(word: string): string {
  const slashes = word.indexOf("://");
  if (slashes < 0) return withoutUserinfo(word);
  let from = slashes;
  while (from > 0 && /[a-z\d+.-]/i.test(word[from - 1])) from--;
  return word.slice(0, from) + redactUrl(word.slice(from));
}

/** Redacts the message and stack of an error and of its causes, in place. */
export function redactError(error: unknown, values: readonly string[] = []): unknown {
  for (let one = error, depth = 0; one instanceof Error && depth < 10; one = one.cause, depth++) {
    const { message, stack } = one;
    one.message = redact(message, values);
    if (stack !== undefined) one.stack = redact(stack, values);
  }
  return error;
}
