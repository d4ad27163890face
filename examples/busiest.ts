/**
 * The busiest servers of some ranges.
 *
 *     deno run --allow-net --allow-read --allow-env examples/busiest.ts 192.168.1.0/24 [RANGE...]
 */
// deno-lint-ignore-file no-console
import { InputError, scan, serverId, type ServerRecord } from "blocksweep";

const SHOWN = 10;

/** Servers with the most players first. */
async function busiest(ranges: readonly string[]): Promise<ServerRecord[]> {
  const servers = await Array.fromAsync(scan(ranges));
  return servers.sort((a, b) => (b.players_online ?? 0) - (a.players_online ?? 0));
}

try {
  for (const server of (await busiest(Deno.args)).slice(0, SHOWN)) {
    const { players_online, players_max, name } = server;
    console.log(
      `${players_online ?? "?"}/${players_max ?? "?"}  ${serverId(server)}  ${name ?? ""}`,
    );
  }
} catch (error) {
  if (!(error instanceof InputError)) throw error;
  console.error(error.message);
  Deno.exit(2);
}
