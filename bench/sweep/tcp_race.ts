/** The race of bench/sweep/race.ts over TCP: its Java servers, and the command lines of scanners. */
import { NEAR, system } from "../shared/namespaces.ts";
import { bareScan } from "../shared/processes.ts";
import { build } from "../shared/responders.ts";
import { masscan, type PeerSweep, zmap } from "../shared/scanners.ts";
import { acceptConnections, spread, statusOf } from "../shared/tcp_hosts.ts";

export const PORT = 25565;
/** The source address of masscan. The system would close connections of its own address. */
const OTHER_ADDRESS = NEAR.address.replace(/\d+$/, "77");
/** Number of connections of the queries after zmap at once, and their time, milliseconds. */
const [IN_FLIGHT, TIMEOUT_MS] = [256, 1500];
/** Handshake (protocol 769, no host, port 25565, next state 1) and status request. */
const REQUEST = Uint8Array.fromHex("070081060063dd010100");

/** Starts servers that are evenly distributed over a range. Returns a function that ends them. */
export async function startServers(
  folder: string,
  first: string,
  targets: number,
  live: number,
): Promise<() => Promise<unknown>> {
  const hosts = spread("java", first, targets, live);
  return await acceptConnections(await build("accept", folder), folder, hosts, [
    { first: PORT, last: PORT },
  ]);
}

/** The command line of a scan by an engine. */
export function ours(range: string, engine: string): string[] {
  return bareScan({ range, port: PORT, protocol: "slp", engine }, ["--format", "ndjson"]);
}

/** The command line of masscan, which also requests the status. */
async function masscanWithBanners(sweep: PeerSweep, rate: string): Promise<string[]> {
  const request = `${sweep.folder}/request`;
  await Deno.writeFile(request, REQUEST);
  const words = await masscan({ ...sweep, wait: 3, rate, source: OTHER_ADDRESS });
  return ["stdbuf", "-oL", ...words, "--banners", `--hello-file[${PORT}]`, request];
}

/** The command line of zmap with queries of the servers that it finds. */
async function zmapWithQueries(sweep: PeerSweep): Promise<string[]> {
  const loop = new URL("../peers/follow.mjs", import.meta.url).pathname;
  const follow = `node ${loop} ${PORT} ${IN_FLIGHT} ${TIMEOUT_MS}`;
  return ["sh", "-c", `${(await zmap(sweep, 1)).join(" ")} | ${follow}`];
}

/** The command lines of other scanners. */
export async function peers(
  range: string,
  masscanRate: string,
  folder: string,
): Promise<Record<string, string[]>> {
  const [, gateway] = /link\/ether ([0-9a-f:]+)/.exec(await system("ip -o link show far0"))!;
  const sweep = { transport: "tcp" as const, range, port: PORT, gateway, folder, output: "-" };
  return {
    masscan: await masscanWithBanners(sweep, masscanRate),
    zmap: await zmapWithQueries(sweep),
  };
}

/** Whether a line of a scanner has the status of a server. */
export function isStatus(line: string): boolean {
  return /Server [0-9a-f]{8}/.test(line);
}

/** Whether the MOTD and the number of players in a line are those of the server. */
export function isRight(line: string, address: string): boolean {
  const { motd, players } = statusOf(address);
  return line.includes(motd) && new RegExp(`online(?:"|\\\\x22):${players}\\b`).test(line);
}
