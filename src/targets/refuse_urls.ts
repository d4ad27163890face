/**
 * URLs where a target is wanted: they are often the URLs of webhooks and databases, with secrets.
 *
 * @module
 */
import { InputError } from "../core/errors.ts";
import { redactUrl } from "../core/redact.ts";

/** What no target holds: the beginning of a URL's path, and what stands behind a user or a password. */
const URL_PART = /^[a-z][a-z\d+.-]*:[/\\]|:\/\/|@/i;

/**
 * Refuses a text that holds a URL or a user.
 *
 * @throws InputError that quotes the text without its secrets.
 */
export function refuseUrl(text: string): void {
  if (!URL_PART.test(text)) return;
  throw new InputError(
    `Cannot use "${withoutSecrets(text)}" as a target: ` +
      `${
        text.includes("@") && !text.includes("://") ? "a target has no user" : "a URL is not one"
      }` +
      "; write HOST or HOST:PORT",
  );
}

function withoutSecrets(text: string): string {
  if (text.includes("://")) return redactUrl(text);
  const at = text.lastIndexOf("@");
  return at < 0 ? text.replace(/:.*/s, ":…") : `…${text.slice(at)}`;
}
