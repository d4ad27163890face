/**
 * The token of the dashboard: `--token-file`.
 *
 * @module
 */
import { DAY_MS } from "../../core/quantities.ts";
import { nodeCrypto } from "../../core/node_modules.ts";
import { hasBearerToken, type HttpRequest, isSameSecret, TOKEN_FORM } from "../../app/http/mod.ts";
import { readTextFile, userPath } from "../../app/mod.ts";
import { InputError } from "../../core/errors.ts";

/** Minimum number of random bits in a token. */
const MIN_BITS = 128;
/** How long a browser keeps the cookie, seconds: 30 days. */
const COOKIE_S = 30 * DAY_MS / 1000;
/** How to create a token, for errors. */
const RECIPE = "create one with: openssl rand -hex 16 > FILE && chmod 600 FILE";

/**
 * Reads the token of a file, `-` for standard input: its first line.
 *
 * @throws InputError for a file that other users can read, and for a token that is too short. No error
 * contains any part of the token.
 */
export async function readAccessToken(path: string): Promise<string> {
  const text = await readTextFile(path);
  if (path !== "-" && await isReadableByOthers(userPath(path))) {
    throw new InputError(
      `Cannot use --token-file "${path}": other users can read the file (chmod 600)`,
    );
  }
  const token = text.split(/\r?\n/)[0].trim();
  if (TOKEN_FORM.test(token) && bitsOf(token) >= MIN_BITS) return token;
  throw new InputError(
    `Cannot use --token-file "${path}": the token must have at least ${MIN_BITS} bits, in letters, ` +
      `digits and -._~+/=; ${RECIPE}`,
  );
}

async function isReadableByOthers(path: string): Promise<boolean> {
  const { mode, isFile } = await Deno.stat(path);
  return isFile && ((mode ?? 0) & 0o077) !== 0;
}

/** The maximum number of random bits in a text, by the characters that it contains. */
function bitsOf(token: string): number {
  const alphabet = /^\d*$/.test(token) ? 10 : /^(?:[\da-f]*|[\dA-F]*)$/.test(token) ? 16 : 64;
  const isVaried = new Set(token).size >= 8;
  return isVaried ? Math.floor(token.length * Math.log2(alphabet)) : 0;
}

/** The token of a dashboard, and the cookie of browsers that sent it. */
export class AccessToken {
  readonly #cookie: string;
  /** The name has the port, because the dashboards of a host share cookies. */
  readonly #name: string;

  constructor(private readonly token: string, port: number) {
    this.#name = `blocksweep_${port}`;
    this.#cookie = nodeCrypto().createHmac("sha256", token).update("cookie").digest("base64url");
  }

  /** Whether a request has the token, or the cookie. */
  isIn(headers: HttpRequest["headers"]): boolean {
    if (hasBearerToken(headers, this.token)) return true;
    const cookies = (headers.get("cookie") ?? "").split(/[;,]/).map((one) => one.trim().split("="));
    return cookies.some(([name, value = ""]) =>
      name === this.#name && isSameSecret(value, this.#cookie)
    );
  }

  /** Whether a text is the token. */
  is(text: string): boolean {
    return isSameSecret(text.trim(), this.token);
  }

  /** The header `Set-Cookie`. */
  setCookie(isSecure: boolean): string {
    return `${this.#name}=${this.#cookie}; HttpOnly; SameSite=Strict; Path=/; Max-Age=${COOKIE_S}${
      isSecure ? "; Secure" : ""
    }`;
  }
}
