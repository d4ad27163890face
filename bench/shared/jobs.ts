/** The two jobs of the comparisons: every target is alive, and all of them speak one protocol. */
import type { ScannedSelection } from "../../src/fleet/judge/expected_rows.ts";
import type { ManifestEntry } from "../../src/fleet/manifest.ts";
import { serverId } from "../../src/core/record.ts";
import { PROTOCOLS } from "../../src/protocols/list.ts";
import { usualPorts } from "../../src/protocols/usual_ports.ts";

/** A job. */
export interface Job {
  /** The protocol, as `--protocol` names it. */
  readonly name: "raknet" | "query";
  /** What it is in words. */
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
];

/** Writes a file with one `host:port` a line. */
export async function writeTargets(
  entries: readonly ManifestEntry[],
  folder: string,
): Promise<string> {
  const path = `${folder}/targets.txt`;
  await Deno.writeTextFile(path, entries.map((entry) => `${serverId(entry)}\n`).join(""));
  return path;
}

/** The options of a scan that does a job and nothing else. */
export function jobOptions({ name }: Job, targets: string): string[] {
  return ["--input-file", targets, "--protocol", name, "--no-follow"];
}

/** What a scan of these protocols on their usual ports has to find. */
export function usualSelection(protocols: readonly string[]): ScannedSelection {
  const ports = usualPorts(PROTOCOLS);
  return { protocols, ports: (name) => ports(name, 4), follow: true };
}

/** What a scan of a job has to find. */
export function selectionOf({ name, port }: Job): ScannedSelection {
  return { protocols: [name], ports: () => [port], follow: false };
}
