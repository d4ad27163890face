/** Fresh statuses on a simulated network, and what they send there. */
import {
  type FreshContext,
  type FreshSettings,
  openFreshStatuses,
} from "../../../src/app/status_api/open_fresh_statuses.ts";
import type { FreshStatus } from "../../../src/app/status_api/fresh_statuses.ts";
import { type Address, formatEndpoint, parseAddress } from "../../../src/core/address.ts";
import { UnansweredName } from "../../../src/app/names/mod.ts";
import { PROTOCOLS } from "../../../src/protocols/list.ts";
import { parseTargets } from "../../../src/targets/parse.ts";
import { SimulatedNetwork } from "../../../src/testing/simulated_network.ts";
import { parseStatusAddress, statusQueryOf } from "../../../src/web/status/status_address.ts";
import { freshRequest } from "../../../src/web/status/fresh_server.ts";

/** The settings of the mode `allow` with a list, or of the mode `open`. */
export function settingsOf(list: string, more: Partial<FreshSettings> = {}): FreshSettings {
  const targets = list === "public"
    ? "public" as const
    : list.split(",").flatMap((word) => parseTargets(word));
  return { targets, hasNames: false, allowPrivate: false, excluded: [], ...more };
}

/** A name to whose lookup no name server replies. */
export const SILENT = "silent.example.org";

/** A client of fresh statuses, while their clock runs. */
export interface StatusClient {
  readonly network: SimulatedNetwork;
  /** The names that were looked up. */
  readonly lookups: string[];
  /** The status of a server as a client writes it; `"database"`: the database has to answer. */
  readonly get: (
    text: string,
    edition?: "java" | "bedrock",
    client?: string,
  ) => Promise<FreshStatus | "database" | "invalid">;
  readonly later: (ms: number) => Promise<void>;
  /** The endpoints of all packets and connections, sorted, each once. */
  readonly sent: () => string[];
  /** Number of statuses that are remembered. */
  readonly size: () => number;
}

/** Runs a test with fresh statuses on a simulated network. */
export async function withStatuses(
  settings: FreshSettings,
  test: (client: StatusClient) => Promise<void>,
  more: Partial<FreshContext> & { readonly prepare?: (network: SimulatedNetwork) => void } = {},
): Promise<void> {
  const network = new SimulatedNetwork();
  network.datagrams.record = true;
  more.prepare?.(network);
  const lookups: string[] = [];
  const resolve = (name: string) => {
    lookups.push(name);
    if (name === `${SILENT}.`) return Promise.reject(new UnansweredName("no reply"));
    return network.resolve(name.replace(/\.$/, ""));
  };
  const findService = (name: string) => {
    lookups.push(`SRV ${name}`);
    return network.findService(name);
  };
  const own = Object.create(network, {
    resolve: { value: resolve },
    findService: { value: findService },
  });
  const client = {
    network,
    lookups,
    later: (ms: number) => new Promise<void>((done) => void network.clock.after(ms, done)),
    sent: () =>
      [
        ...new Set(
          [...network.datagrams.sent, ...network.streams.begun].map(({ to }) => formatEndpoint(to)),
        ),
      ].sort(),
  };
  const run = async () => {
    await using opened = await openFreshStatuses(settings, {
      ...{ network: own, allProtocols: PROTOCOLS },
      report: (line) => {
        throw new Error(line);
      },
      isOptedOut: () => Promise.resolve(false),
      ...more,
    });
    await test({
      ...client,
      size: () => opened.statuses.size,
      get: async (text, edition = "java", from = "198.51.100.7") => {
        const address = parseStatusAddress(text);
        if (address === undefined) return "invalid";
        const query = statusQueryOf(address, edition);
        const request = freshRequest(address, query, parseAddress(from) as Address);
        return await opened.statuses.status(request) ?? "database";
      },
    });
  };
  await network.run(run());
}

/** What a client gets: the MOTD of a server that is online, or what else. */
export function shown(status: FreshStatus | "database" | "invalid"): string {
  if (typeof status === "string") return status;
  const { record, endpoint } = status;
  return record?.motd_plain ?? record?.name ?? (endpoint === undefined ? "nowhere" : "offline");
}
