/**
 * The names in the column `requested_as`.
 *
 * @module
 */
import { InputError } from "../core/errors.ts";
import { parseTarget } from "./parse.ts";
import type { NamedService } from "./srv.ts";

/** The name by which a server was requested. */
export interface RequestedNames {
  /** The name that resolved to the server. */
  readonly name?: string;
  /** The name and the service, if an SRV record of the name points to the server. */
  readonly service?: NamedService;
}

/**
 * Parses `requested_as`: a name, or a name and its SRV record. Any other text gives an empty object;
 * another program may have written it.
 *
 * @example
 * ```ts
 * import { namesIn } from "./requested_names.ts";
 * import { assertEquals } from "@std/assert";
 *
 * assertEquals(namesIn("play.example.org"), { name: "play.example.org" });
 * const service = { host: "mc1.example.org", port: 25570 };
 * assertEquals(namesIn("a.example SRV mc1.example.org:25570"), {
 *   service: { name: "a.example", service },
 * });
 * assertEquals(namesIn("not a name"), {});
 * ```
 */
export function namesIn(requestedAs: string): RequestedNames {
  const [text, led, ...rest] = requestedAs.split(" SRV ");
  const name = nameIn(text);
  if (name?.port !== undefined || name === undefined || rest.length > 0) return {};
  if (led === undefined) return { name: name.host };
  const service = nameIn(led);
  return service?.port === undefined
    ? {}
    : { service: { name: name.host, service: { host: service.host, port: service.port } } };
}

function nameIn(text: string): { host: string; port: number | undefined } | undefined {
  try {
    const target = parseTarget(text);
    return "name" in target ? { host: target.name, port: target.port } : undefined;
  } catch (error) {
    if (error instanceof InputError) return undefined;
    throw error;
  }
}
