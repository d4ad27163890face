/**
 * The access to `/probe`: for clients with the token, if there is one, and not for web pages.
 *
 * @module
 */
import { isLoopback, parseAddress } from "../../../core/address.ts";
import { InputError } from "../../../core/errors.ts";
import { env, readTextFile } from "../../environment.ts";
import { hasBearerToken, TOKEN_FORM } from "../../http/bearer_token.ts";
import type { HttpRequest } from "../../http/http_request.ts";
import type { MetricsAddress } from "../../settings/metrics_address.ts";

/** Minimum length of a token, characters. */
const MIN_TOKEN = 16;

/**
 * The token of `/probe`: the first line of a file, else `BLOCKSWEEP_PROBE_TOKEN`.
 *
 * @param file Path of the file; `undefined`: the user named none.
 * @throws InputError when there is none although other machines can reach the server, and for a token
 * that is too short; the error does not contain the token.
 */
export async function readProbeToken(
  file: string | undefined,
  { hostname }: MetricsAddress,
): Promise<string | undefined> {
  const source = file === undefined ? "BLOCKSWEEP_PROBE_TOKEN" : `"${file}"`;
  const token = file === undefined
    ? env("BLOCKSWEEP_PROBE_TOKEN")
    : (await readTextFile(file)).split(/\r?\n/)[0].trim();
  if (token === undefined) {
    if (isLoopback(parseAddress(hostname)!)) return undefined;
    throw new InputError(
      `Cannot serve --probe on ${hostname} without a token: write one into a file for ` +
        "--probe-token-file, or into the variable BLOCKSWEEP_PROBE_TOKEN",
    );
  }
  if (token.length >= MIN_TOKEN && TOKEN_FORM.test(token)) return token;
  throw new InputError(
    `Cannot use the token of ${source}: expected at least ${MIN_TOKEN} letters, digits and -._~+/=`,
  );
}

/** Why a request is refused. */
export interface ProbeRefusal {
  readonly status: 401 | 403;
  readonly line: string;
}

/** Why a request for `/probe` is refused; `undefined` if it is not. */
export function probeRefusal(
  { headers }: Pick<HttpRequest, "headers">,
  token: string | undefined,
): ProbeRefusal | undefined {
  if (token !== undefined && !hasBearerToken(headers, token)) {
    return { status: 401, line: "send the token: Authorization: Bearer TOKEN" };
  }
  // A web page can make a browser request a loopback address, although it cannot read the response.
  const site = headers.get("sec-fetch-site");
  if (site !== undefined && site !== "none" && site !== "same-origin" || headers.has("origin")) {
    return { status: 403, line: "web pages may not probe" };
  }
  return undefined;
}
