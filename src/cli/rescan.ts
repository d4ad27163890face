/**
 * Servers that a list knows, to be asked again.
 *
 * @module
 */
import { type Endpoint, parseAddress } from "../address.ts";
import { InputError } from "../errors.ts";
import { dueServers } from "../store/list.ts";
import { openStore, readStore, type StorePlace, storePlace } from "../store/open.ts";
import { attempt } from "../store/store.ts";
import { parseTarget } from "../targets/parse.ts";
import type { NamedService } from "../targets/srv.ts";
import { namedPlace } from "./lists.ts";
import { SURROUNDINGS } from "./surroundings.ts";
import type { Settings } from "./values.ts";

/** A server that a list knows. */
export interface KnownServer {
  /** Where it is. */
  readonly endpoint: Endpoint;
  /** The name that it was asked for by. */
  readonly name?: string;
  /** The same, where an SRV record of that name led to it. */
  readonly service?: NamedService;
}

/**
 * The servers of a list, the most overdue first.
 *
 * @param written Lists that are written to: only these are brought to this program's schema.
 * @throws InputError when it cannot be read; StoreError when that ends early.
 */
export async function readKnown(
  place: StorePlace,
  written: readonly StorePlace[],
): Promise<KnownServer[]> {
  const open = written.some(({ path }) => path === place.path) ? openStore : readStore;
  await using database = await open(place, SURROUNDINGS);
  return await attempt("read", database, async () => {
    const known: KnownServer[] = [];
    for await (const { host, port, requested_as: asked } of dueServers(database)) {
      const address = parseAddress(host);
      if (address === undefined) continue; // written by somebody else: we write addresses alone
      known.push({ endpoint: { address, port }, ...asked === null ? {} : namesIn(asked) });
    }
    return known;
  });
}

/**
 * What `requested_as` says: a name, or a name and its SRV record. What another program wrote there
 * need be neither.
 *
 * @example
 * ```ts
 * import { namesIn } from "./rescan.ts";
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
export function namesIn(asked: string): Pick<KnownServer, "name" | "service"> {
  const [text, led, ...rest] = asked.split(" SRV ");
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

/**
 * The known servers that a scan asks again.
 *
 * @param secret The options, perhaps with a password.
 * @throws InputError where there are none, or where the list decides about an order that has to last.
 */
export async function knownToRescan(
  secret: Settings,
  written: readonly StorePlace[],
): Promise<KnownServer[]> {
  const text = secret.text("rescan");
  if (text === undefined) return [];
  for (const option of ["shard", "from"]) {
    if (secret.has(option)) {
      throw new InputError(
        `Cannot use --rescan with --${option}: the order of a list changes with each answer; ` +
          (option === "from"
            ? "--resume goes on with the scan's own"
            : "export it, and give all parts the file"),
      );
    }
  }
  const place = storePlace(text) ?? namedPlace(text);
  const known = await readKnown(place, written);
  if (known.length > 0) return known;
  throw new InputError(`Cannot rescan ${place.path}: there is no server in it`);
}
