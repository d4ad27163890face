/** Command lines of masscan and zmap that send what blocksweep sends: one RakNet ping per target. */
import { NEAR } from "./namespaces.ts";

/**
 * The RakNet ping of blocksweep, with the same time in all pings: masscan and zmap write no tokens.
 */
const PING = "01" + "0000000000000001" + "00ffff00fefefefefdfdfdfd12345678" + "626c6f636b737770";
/**
 * Packets per second, more than any machine reaches. With `-r 0`, zmap would send packets one by
 * one.
 */
const RATE = "100000000";

/** A sweep with masscan or zmap. */
export interface PeerSweep {
  readonly range: string;
  readonly port: number;
  /** The gateway's MAC. */
  readonly gateway: string;
  /** The folder for their files. */
  readonly folder: string;
  /** The path of the results; `-` for standard output. */
  readonly output: string;
}

/** The command line of masscan. With `--wait 0`, masscan would never end. */
export async function masscan(sweep: PeerSweep): Promise<string[]> {
  const { range, port, gateway, folder, output } = sweep;
  const payloads = `${folder}/payloads`;
  await Deno.writeTextFile(payloads, `udp ${port} "${PING.replaceAll(/../g, "\\x$&")}"\n`);
  const link = `--interface ${NEAR.interface} --router-mac ${gateway} --source-ip ${NEAR.address}`;
  const options =
    `-pU:${port} --nmap-payloads ${payloads} --rate ${RATE} --wait 1 --source-port 40000`;
  return `masscan ${range} ${options} ${link} -oL ${output}`.split(" ");
}

/** The command line of zmap with a number of threads. */
export async function zmap(sweep: PeerSweep, threads: number): Promise<string[]> {
  const { range, port, gateway, folder, output } = sweep;
  const nobody = `${folder}/nobody`;
  await Deno.writeTextFile(nobody, "");
  const link = `-i ${NEAR.interface} -G ${gateway} -S ${NEAR.address}`;
  const options = `-M udp -p ${port} --probe-args=hex:${PING} -r ${RATE} -T ${threads} -c 1`;
  return `zmap --quiet ${options} ${link} -b ${nobody} -f saddr -o ${output} ${range}`.split(" ");
}
