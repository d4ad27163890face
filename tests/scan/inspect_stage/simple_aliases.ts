/**
 * A simple implementation of aliases: signatures are texts in an unbounded `Map`. The hashed
 * implementation is compared with it.
 */
import type { Endpoint } from "../../../src/core/address.ts";
import { formatEndpoint } from "../../../src/core/address.ts";
import { CLIENT_GUID } from "../../../src/protocols/raknet/mod.ts";
import type { ServerRecord } from "../../../src/core/record.ts";
import { plainText } from "../../../src/core/text.ts";

/**
 * A signature of a row: the stored text, the searched text, and whether a second server makes it
 * void.
 */
interface Mark {
  readonly own: string;
  readonly wanted: string;
  readonly unique?: boolean;
}

/** The expected results of `Aliases`, without its limit. */
export class SimpleAliases {
  readonly #servers = new Map<string, string | undefined>();
  readonly #replies = new Map<string, string[]>();

  constructor(private readonly isDefault: (motd: string) => boolean) {}

  of(record: ServerRecord, endpoint: Endpoint): string | null {
    const here = formatEndpoint(endpoint);
    const marks = [
      ...this.#guid(record),
      ...this.#players(record),
      ...this.#proxy(record),
      ...this.#bridge(record),
      ...this.#queryPort(record),
    ];
    const known = marks.map(({ wanted }) => this.#servers.get(wanted))
      .find((server) => server !== undefined) ?? this.#everywhere(record, here);
    for (const { own, unique } of marks) {
      const before = this.#servers.get(own);
      if (!this.#servers.has(own)) this.#servers.set(own, known ?? here);
      else if (unique && before !== (known ?? here)) this.#servers.set(own, undefined);
    }
    return known ?? null;
  }

  #everywhere(record: ServerRecord, here: string): string | undefined {
    const { host, protocols, software, motd, version, map, players_max } = record;
    const key = text(host, protocols, software, motd, version, map, players_max);
    const ports = this.#replies.get(key) ?? [];
    this.#replies.set(key, [...ports, here]);
    return ports.length >= 100 ? ports[0] : undefined;
  }

  #guid({ guid, edition, version }: ServerRecord): Mark[] {
    const own = guid !== null && BigInt(guid) >= 2n ** 48n && BigInt(guid) !== 2n ** 64n - 1n &&
      BigInt(guid) !== CLIENT_GUID;
    return own ? [both(text("guid", guid, edition, version))] : [];
  }

  #players({ host, players, players_online, players_max, motd_plain, flags }: ServerRecord) {
    if (!players?.length || players.length > (players_online ?? 0)) return [];
    if (flags.includes("sampleText")) return [];
    const names = players.toSorted();
    return [both(text("players", host, motd_plain, players_online, players_max, names))];
  }

  #proxy(record: ServerRecord): Mark[] {
    const { host, proxy, software, motd, version, players_online, players_max } = record;
    if (!["velocity", "bungee", "waterdog"].includes(proxy ?? "") || !players_online) return [];
    if (!this.#isTelling(record)) return [];
    const { favicon_hash } = record;
    const rest = [host, software, motd, version, players_online, players_max, favicon_hash];
    return [both(text("proxy", ...rest))];
  }

  #bridge(record: ServerRecord): Mark[] {
    const { host, edition, proxy, protocols, motd, players_max } = record;
    const isJava = edition === "java";
    const isBridge = proxy === "geyser" && protocols.join() === "raknet";
    if (players_max === null || !isJava && !isBridge || !this.#isTelling(record)) return [];
    const line = plainText((motd ?? "").split("\n")[0]).replaceAll(";", ":");
    if (this.isDefault(line)) return [];
    const [java, geyser] = ["java", "geyser"].map((side) => text(side, host, line, players_max));
    return [{ own: isJava ? java : geyser, wanted: isJava ? geyser : java, unique: true }];
  }

  #queryPort(record: ServerRecord): Mark[] {
    const { host, port, protocol, port_v4, motd_plain, players_max, players_online } = record;
    if (players_max === null || players_online === null || !this.#isTelling(record)) return [];
    const at = (side: string, where: number) =>
      text(side, host, where, motd_plain, players_online, players_max);
    if (protocol !== "query") return [{ own: at("game", port), wanted: at("query", port) }];
    if (port_v4 === null || port_v4 === port) return [];
    return [{ own: at("query", port_v4), wanted: at("game", port_v4) }];
  }

  #isTelling({ motd_plain }: ServerRecord): boolean {
    return motd_plain !== null && motd_plain.length > 3 && !this.isDefault(motd_plain);
  }
}

function both(mark: string): Mark {
  return { own: mark, wanted: mark };
}

function text(...parts: readonly unknown[]): string {
  return JSON.stringify(parts);
}
