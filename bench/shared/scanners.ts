/**
 * Command lines of masscan and zmap that send what blocksweep sends: one RakNet ping, or one SYN
 * packet, per target.
 */
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
  /** What is sent: a RakNet ping or a SYN packet. Default: `udp`. */
  readonly transport?: "udp" | "tcp";
  readonly range: string;
  readonly port: number;
  /** The gateway's MAC. */
  readonly gateway: string;
  /** The folder for their files. */
  readonly folder: string;
  /** The path of the results; `-` for standard output. */
  readonly output: string;
  /** Of masscan: the time that it waits for replies, seconds. Default: 1. */
  readonly wait?: number;
  /** Packets per second. Default: more than any machine reaches. */
  readonly rate?: string;
  /** Of masscan: its source address. Default: that of the near end. */
  readonly source?: string;
}

/** The command line of masscan. With `--wait 0`, masscan would never end. */
export async function masscan(sweep: PeerSweep): Promise<string[]> {
  const { transport = "udp", range, port, gateway, folder, output } = sweep;
  const { wait = 1, rate = RATE, source = NEAR.address } = sweep;
  const payloads = `${folder}/payloads`;
  await Deno.writeTextFile(payloads, `udp ${port} "${PING.replaceAll(/../g, "\\x$&")}"\n`);
  const link = `--interface ${NEAR.interface} --router-mac ${gateway} --source-ip ${source}`;
  // over TCP another port each time: hosts may still have connections of the last one
  const probe = transport === "udp"
    ? `-pU:${port} --nmap-payloads ${payloads} --source-port 40000`
    : `-p${port}`;
  const options = `${probe} --rate ${rate} --wait ${wait}`;
  return `masscan ${range} ${options} ${link} -oL ${output}`.split(" ");
}

/** The command line of zmap with a number of threads. */
export async function zmap(sweep: PeerSweep, threads: number): Promise<string[]> {
  const { transport = "udp", range, port, gateway, folder, output } = sweep;
  const nobody = `${folder}/nobody`;
  await Deno.writeTextFile(nobody, "");
  const link = `-i ${NEAR.interface} -G ${gateway} -S ${NEAR.address}`;
  const probe = transport === "udp" ? `-M udp --probe-args=hex:${PING}` : "-M tcp_synscan";
  const options = `${probe} -p ${port} -r ${RATE} -T ${threads} -c 1`;
  return `zmap --quiet ${options} ${link} -b ${nobody} -f saddr -o ${output} ${range}`.split(" ");
}
