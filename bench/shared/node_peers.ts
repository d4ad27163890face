/**
 * Two Node libraries that send what our scans send: programs of their own in `bench/peers/`, given the
 * targets, how many may be in flight, and how long to wait.
 */
import { serverId } from "../../src/core/record.ts";
import type { ManifestEntry } from "../../src/fleet/manifest.ts";
import type { Job } from "./jobs.ts";
import { runTimed } from "./processes.ts";

/** Their names, which their programs have too. */
export const NODE_PEERS: readonly string[] = ["gamedig", "minecraft-server-util"];

/**
 * Puts the programs into a folder, and what they import beside them.
 *
 * @param modules A folder where `npm install` put that already; empty: it is downloaded.
 */
export async function installPeers(folder: string, modules: string): Promise<void> {
  const files = ["package.json", "loop.mjs", ...NODE_PEERS.map((name) => `${name}.mjs`)];
  for (const name of files) {
    await Deno.copyFile(new URL(`../peers/${name}`, import.meta.url), `${folder}/${name}`);
  }
  if (modules !== "") {
    const installed = await Deno.realPath(`${modules}/node_modules`);
    return await Deno.symlink(installed, `${folder}/node_modules`);
  }
  await runTimed(["npm", "install", "--ignore-scripts", "--no-audit", "--no-fund"], folder);
}

/** The servers of which a peer's rows hold the server's own status. */
export async function foundByPeer(
  rows: string,
  entries: readonly ManifestEntry[],
  job: Job,
): Promise<readonly ManifestEntry[]> {
  const lines = (await Deno.readTextFile(rows)).split("\n").filter((line) => line !== "");
  const statuses = new Map(
    lines.map((line) => JSON.parse(line) as Row).map((row) => [serverId(row), row.status]),
  );
  return entries.filter((entry) => {
    const status = statuses.get(serverId(entry));
    return status !== undefined && isOwn(entry, job, status);
  });
}

/** A line that a peer's program writes. */
interface Row {
  readonly host: string;
  readonly port: number;
  readonly status: Status;
}

/** The parts of the peers' statuses that are looked at: those of either have names of their own. */
interface Status {
  // gamedig
  readonly name?: string;
  readonly numplayers?: number;
  readonly maxplayers?: number;
  readonly raw?: { readonly version?: string; readonly map?: string };
  // minecraft-server-util
  readonly serverGUID?: string;
  readonly version?: string;
  readonly map?: string;
  readonly players?: { readonly online?: number; readonly max?: number };
}

/** Whether a status is the server's own. What a peer's parser makes of a MOTD is not judged. */
function isOwn({ truth }: ManifestEntry, job: Job, status: Status): boolean {
  const { columns } = truth[job.name];
  if (job.name === "query") {
    const { raw = status, numplayers, maxplayers, players } = status;
    return raw.version === columns.version && raw.map === columns.map &&
      (numplayers ?? players?.online) === columns.players_online &&
      (maxplayers ?? players?.max) === columns.players_max;
  }
  if (status.serverGUID !== undefined) {
    return BigInt.asUintN(64, BigInt(status.serverGUID)) === BigInt(columns.guid!);
  }
  const beginning = status.name?.replace(/\\$/, "") ?? ""; // gamedig ends it at the first `;`
  return beginning !== "" && columns.motd!.startsWith(beginning);
}
