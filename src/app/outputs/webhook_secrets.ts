/**
 * The secrets of a webhook. They are read from files and environment variables, because every user of
 * the machine can read the arguments of a command. No message contains any part of them.
 *
 * @module
 */
import { InputError } from "../../core/errors.ts";
import { readTextFile, userPath } from "../environment.ts";

/** Where a secret is: in a file, or in an environment variable. */
export interface SecretSource {
  readonly kind: "file" | "variable";
  /** The path, or the name of the variable. */
  readonly name: string;
}

/** A header whose value is a secret. */
export interface HeaderSource {
  /** The header's name. */
  readonly header: string;
  readonly source: SecretSource;
}

/** The URL of a webhook, or where it is. */
export type WebhookUrl = string | SecretSource;

/** Maximum length of a secret, characters. */
const LONGEST = 8192;

/** Parses `@FILE` or `env:NAME`; `undefined` for other texts. */
export function parseSecretSource(text: string): SecretSource | undefined {
  const [, path, variable] = /^(?:@(.+)|env:([A-Za-z_]\w*))$/s.exec(text) ?? [];
  if (path !== undefined) return { kind: "file", name: path };
  return variable === undefined ? undefined : { kind: "variable", name: variable };
}

/** Headers that the program or the runtime sets. */
const SET_HEADERS =
  /^(?:content-(?:type|length|encoding)|host|connection|keep-alive|te|trailer|transfer-encoding|upgrade|expect|x-blocksweep-.*)$/i;

/** Parses `NAME=@FILE` or `NAME=env:VARIABLE`; `undefined` for other texts. */
export function parseHeaderSource(text: string): HeaderSource | undefined {
  const [, header, rest] = /^([\w!#$%&'*+.^`|~-]{1,100})=(.+)$/s.exec(text) ?? [];
  const source = rest === undefined ? undefined : parseSecretSource(rest);
  if (source === undefined || SET_HEADERS.test(header)) return undefined;
  return { header, source };
}

/** Parses the URL of a webhook; `undefined` for a text that is not an HTTP URL. */
export function parseHttpUrl(text: string): string | undefined {
  const url = URL.parse(text);
  return url !== null && /^https?:$/.test(url.protocol) ? url.href : undefined;
}

/**
 * Reads a secret: one line of at most 8192 characters.
 *
 * @param option The option that names the secret, for errors.
 * @param warn Receives a line for a file that other users can read.
 * @throws InputError that names the source, and shows nothing of the secret; Deno.errors.NotCapable.
 */
export async function readSecret(
  option: string,
  source: SecretSource,
  warn: (message: string) => void,
): Promise<string> {
  const { kind, name } = source;
  const text = kind === "variable" ? readVariable(option, name) : await readFile(name, warn);
  const line = text.replace(/\r?\n$/, "");
  if (line.trim() !== "" && line.length <= LONGEST && !/\p{Cc}/u.test(line)) return line;
  throw wrongSecret(option, source, "one line without control characters");
}

/** Reads the URL of a webhook; see {@linkcode readSecret}. */
export async function readUrl(
  source: SecretSource,
  warn: (message: string) => void,
): Promise<string> {
  const url = parseHttpUrl((await readSecret("webhook", source, warn)).trim());
  if (url !== undefined) return url;
  throw wrongSecret("webhook", source, "a URL that starts with http: or https:");
}

/**
 * Reads the values of headers; see {@linkcode readSecret}. They are printable ASCII, so that no value
 * can start another header.
 */
export async function readHeaders(
  sources: readonly HeaderSource[],
  warn: (message: string) => void,
): Promise<Readonly<Record<string, string>>> {
  const headers: Record<string, string> = {};
  for (const { header, source } of sources) {
    const name = header.toLowerCase();
    if (Object.hasOwn(headers, name)) {
      throw new InputError(`Cannot use --webhook-header ${header} twice`);
    }
    const value = await readSecret("webhook-header", source, warn);
    if (!/^[ -~]+$/.test(value)) {
      throw wrongSecret("webhook-header", source, "one line of printable ASCII characters");
    }
    headers[name] = value;
  }
  return headers;
}

function wrongSecret(option: string, { kind, name }: SecretSource, wanted: string): InputError {
  const source = kind === "file" ? `the file "${name}"` : `the variable "${name}"`;
  return new InputError(`Cannot use --${option}: ${source} must contain ${wanted}`);
}

function readVariable(option: string, name: string): string {
  if (Deno.permissions.querySync({ name: "env", variable: name }).state !== "granted") {
    throw new Deno.errors.NotCapable(
      `Requires env access to "${name}", run again with the --allow-env flag`,
    );
  }
  const value = Deno.env.get(name);
  if (value !== undefined) return value;
  throw new InputError(`Cannot use --${option}: there is no environment variable "${name}"`);
}

async function readFile(path: string, warn: (message: string) => void): Promise<string> {
  const text = await readTextFile(path);
  if (path === "-") return text;
  const { mode, isFile } = await Deno.stat(userPath(path));
  if (isFile && ((mode ?? 0) & 0o077) !== 0) {
    warn(`other users can read "${path}", which contains a secret (chmod 600)`);
  }
  return text;
}
