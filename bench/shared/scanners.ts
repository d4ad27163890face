/** masscan and zmap, configured to send what our scans send: one RakNet ping for each target. */
import { NEAR } from "./namespaces.ts";

/** RakNet's ping as we send it, with one time for all: they have no token to put there. */
const PING = "01" + "0000000000000001" + "00ffff00fefefefefdfdfdfd12345678" + "626c6f636b737770";
/** Packets a second that no machine reaches: with `-r 0` zmap would send one by one. */
const RATE = "100000000";

/** What to sweep, and how. */
export interface PeerSweep {
  readonly range: string;
  readonly port: number;
  /** The gateway's MAC. */
  readonly gateway: string;
  /** Where their files are. */
  readonly folder: string;
  /** Where their results go, `-` for standard output. */
  readonly output: string;
}

/** How to start masscan. With `--wait 0` it never ends. */
export async function masscan(sweep: PeerSweep): Promise<string[]> {
  const { range, port, gateway, folder, output } = sweep;
  const payloads = `${folder}/payloads`;
  await Deno.writeTextFile(payloads, `udp ${port} "${PING.replaceAll(/../g, "\\x$&")}"\n`);
  const link = `--interface ${NEAR.interface} --router-mac ${gateway} --source-ip ${NEAR.address}`;
  const options =
    `-pU:${port} --nmap-payloads ${payloads} --rate ${RATE} --wait 1 --source-port 40000`;
  return `masscan ${range} ${options} ${link} -oL ${output}`.split(" ");
}

/** How to start zmap, on so many threads. */
export async function zmap(sweep: PeerSweep, threads: number): Promise<string[]> {
  const { range, port, gateway, folder, output } = sweep;
  const nobody = `${folder}/nobody`;
  await Deno.writeTextFile(nobody, "");
  const link = `-i ${NEAR.interface} -G ${gateway} -S ${NEAR.address}`;
  const options = `-M udp -p ${port} --probe-args=hex:${PING} -r ${RATE} -T ${threads} -c 1`;
  return `zmap --quiet ${options} ${link} -b ${nobody} -f saddr -o ${output} ${range}`.split(" ");
}
