/**
 * Two Node libraries (peers) that send the same requests as blocksweep. Each is a program in
 * `bench/peers/`. Its arguments are the targets, the number of concurrent queries, and the timeout.
 */
import { serverId } from "../../src/core/record.ts";
import type { ManifestEntry } from "../../src/fleet/manifest.ts";
import type { Job } from "./jobs.ts";
import { runTimed } from "./processes.ts";

/** The names of the libraries, and of their programs. */
export const NODE_PEERS: readonly string[] = ["gamedig", "minecraft-server-util"];

/**
 * Copies the programs into a folder, and installs the libraries there.
 *
 * @param modules A folder in which `npm install` has installed the libraries; empty: they are
 * downloaded.
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

/** The servers whose correct status is in the rows of a peer. */
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

/** A line of the output of a peer's program. */
interface Row {
  readonly host: string;
  readonly port: number;
  readonly status: Status;
}

/** The compared parts of statuses. Each peer has its own names for them. */
interface Status {
  // gamedig
  readonly name?: string;
  readonly numplayers?: number;
  readonly maxplayers?: number;
  readonly raw?: Pick<Status, "version" | "map">;
  // minecraft-server-util
  readonly serverGUID?: string;
  readonly version?: string | { readonly name?: string };
  readonly map?: string;
  readonly players?: { readonly online?: number; readonly max?: number };
}

/**
 * Whether a status belongs to a server. The MOTD is not compared, because parsers of peers change
 * it.
 */
function isOwn({ truth }: ManifestEntry, job: Job, status: Status): boolean {
  const { columns } = truth[job.name];
  if (job.name !== "raknet") {
    const { raw = status, numplayers, maxplayers, players } = status;
    const { version, map } = raw;
    const isSameVersion = typeof version === "object"
      ? version.name?.includes(columns.version!)
      : version === columns.version && map === columns.map;
    return isSameVersion === true &&
      (numplayers ?? players?.online) === columns.players_online &&
      (maxplayers ?? players?.max) === columns.players_max;
  }
  if (status.serverGUID !== undefined) {
    return BigInt.asUintN(64, BigInt(status.serverGUID)) === BigInt(columns.guid!);
  }
  const beginning = status.name?.replace(/\\$/, "") ?? ""; // gamedig cuts the name at the first `;`
  return beginning !== "" && columns.motd!.startsWith(beginning);
}
