/** Records for tests of stores: ordinary ones, and hostile texts. */
import { emptyRecord, type ServerRecord } from "../../src/core/record.ts";
import type { ServerToForget } from "../../src/store/forget/forget_servers.ts";
import { tombstoneKeys } from "../../src/store/forget/tombstones.ts";
import { identityOf } from "../../src/store/rows/identity.ts";

/** The identity of a scan of the tests. */
export const scanId = (n: number) => `00000000-0000-7000-8000-${String(n).padStart(12, "0")}`;

/** The identity of a watch of the tests. */
export const watchId = (n: number) => scanId(1_000_000 + n);

/** An ordinary record of a scan. */
export function record(port: number, rest: Partial<ServerRecord> = {}): ServerRecord {
  return {
    ...emptyRecord({ address: 0x7f000001, port }, 1000),
    protocol: "raknet",
    protocols: ["raknet", "query"],
    motd: `§aServer ${port}`,
    players_online: port % 50,
    scan_id: scanId(1),
    ...rest,
  };
}

/** A server to forget, with the id of its row. */
export function forgettable(one: ServerRecord, id?: number): ServerToForget {
  const identity = identityOf(one)!;
  return { id, key: identity.key, keys: tombstoneKeys(identity) };
}

/** Hostile texts: control characters, lone surrogates, SQL. */
export const NASTY = [
  "\0",
  "a\0b\0",
  "\ud800",
  "x\udc00y\ud83d",
  "🦆",
  "'; drop table servers; --",
  '"\\%_',
  "{1,2,NULL}",
  "\\x00",
  "?",
  "$1",
  "\u001b[2J\r\n",
  "m".repeat(65_536),
  "🦆".repeat(20_000),
];
