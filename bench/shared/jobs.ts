/** The jobs of the comparisons. In each, all targets are servers that speak one protocol. */
import type { ScannedSelection } from "../../src/fleet/judge/expected_rows.ts";
import type { ManifestEntry } from "../../src/fleet/manifest.ts";
import { serverId } from "../../src/core/record.ts";
import { PROTOCOLS } from "../../src/protocols/list.ts";
import { usualPorts } from "../../src/protocols/usual_ports.ts";

/** A job of a comparison. */
export interface Job {
  /** The name of the protocol, as in `--protocol`. */
  readonly name: "raknet" | "query" | "slp";
  /** The title of the table. */
  readonly title: string;
  /** The software of the fleet. */
  readonly software: string;
  /** The port of all its servers. */
  readonly port: number;
}

/** The jobs by protocol. */
export const JOBS: readonly Job[] = [
  { name: "raknet", title: "RakNet ping", software: "bds", port: 19132 },
  {
    name: "query",
    title: "Query: handshake and full stat",
    software: "vanilla,paper",
    port: 25565,
  },
  {
    name: "slp",
    title: "Server List Ping: status over TCP",
    software: "vanilla,paper",
    port: 25565,
  },
];

/** Writes a file with one `host:port` per line. */
export async function writeTargets(
  entries: readonly ManifestEntry[],
  folder: string,
): Promise<string> {
  const path = `${folder}/targets.txt`;
  await Deno.writeTextFile(path, entries.map((entry) => `${serverId(entry)}\n`).join(""));
  return path;
}

/** The options of a scan that does only this job. */
export function jobOptions({ name }: Job, targets: string): string[] {
  return ["--input-file", targets, "--protocol", name, "--no-follow"];
}

/** The selection of a scan in these protocols on their usual ports. */
export function usualSelection(protocols: readonly string[]): ScannedSelection {
  const ports = usualPorts(PROTOCOLS);
  return { protocols, ports: (name) => ports(name, 4), follow: true };
}

/** The selection of the scan of a job. */
export function selectionOf({ name, port }: Job): ScannedSelection {
  return { protocols: [name], ports: () => [port], follow: false };
}
