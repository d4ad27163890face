// deno-lint-ignore-file no-console
/**
 * Compares what is sent a second with masscan and zmap: the same datagram, the same targets, the same
 * link.
 *
 *     deno run -A bench/peers_rate.ts [--targets 1048576] [--rounds 3] [--engines packet,xdp,udp]
 *       [--threads 0,1,2]
 *
 * It needs Linux, root, iproute2, masscan and zmap (Debian's packages); see bench/shared/link.ts for where
 * and how it counts. All of them permute, exclude, and listen for answers; nobody answers. masscan
 * has one thread that sends, zmap as many as it is told, and our program's own where it has none
 * besides; each is held against zmap on as many. No rate is set that any of them could reach: with
 * `-r 0` zmap would send one by one, and with `--wait 0` masscan never ends.
 *
 * Ratios are the middle of those of the rounds; other numbers are medians, `arrived` is the least.
 */
import {
  atFarEnd,
  FIRST,
  NOBODY,
  PORT,
  ratio,
  scanWith,
  takeTurns,
  titled,
} from "./shared/link.ts";
import { NEAR } from "./shared/namespaces.ts";
import { readOptions } from "./shared/options.ts";
import { table } from "./shared/table.ts";

const options = readOptions({
  targets: String(2 ** 20),
  rounds: "3",
  engines: "packet,xdp,udp",
  threads: "0,1,2",
});
/** RakNet's ping as we send it, with one time for all: peers have no token to put there. */
const PING = "01" + "0000000000000001" + "00ffff00fefefefefdfdfdfd12345678" + "626c6f636b737770";
const RATE = "100000000";

async function compare(folder: string): Promise<void> {
  const range = `${FIRST}/${32 - Math.log2(Number(options.targets))}`;
  const payloads = `${folder}/payloads`;
  const nobody = `${folder}/nobody`;
  await Deno.writeTextFile(payloads, `udp ${PORT} "${PING.replaceAll(/../g, "\\x$&")}"\n`);
  await Deno.writeTextFile(nobody, "");
  const masscan = [
    ...["masscan", range, `-pU:${PORT}`, "--nmap-payloads", payloads, "--rate", RATE],
    ...[
      "--wait",
      "1",
      "--interface",
      NEAR.interface,
      "--source-ip",
      NEAR.address,
      "--router-mac",
      NOBODY,
    ],
    ...["-oL", `${folder}/masscan.list`],
  ];
  const zmap = (threads: number) => [
    ...["zmap", "--quiet", "-M", "udp", "-p", String(PORT), `--probe-args=hex:${PING}`],
    ...[
      "-r",
      RATE,
      "-T",
      String(threads),
      "-i",
      NEAR.interface,
      "-G",
      NOBODY,
      "-S",
      NEAR.address,
      "-c",
      "1",
    ],
    ...["-b", nobody, "-o", `${folder}/zmap.csv`, range],
  ];
  const programs = new Map([["masscan", masscan]]);
  /** On how many threads each sends. */
  const senders = new Map([["masscan", 1]]);
  const add = (name: string, threads: number, command: string[]) => {
    programs.set(name, command);
    senders.set(name, threads);
  };
  for (
    const threads of new Set(options.threads.split(",").map((one) => Math.max(1, Number(one))))
  ) {
    add(titled("zmap", threads), threads, zmap(threads));
  }
  for (const engine of options.engines.split(",")) {
    for (const threads of options.threads.split(",").map(Number)) {
      const command = scanWith(engine, threads, Number(options.targets));
      add(titled(engine, threads), Math.max(1, threads), command);
    }
  }
  // masscan only ends when a datagram comes by: somebody says something ten times a second.
  const murmur = Deno.listenDatagram({ transport: "udp", hostname: NEAR.gateway, port: 0 });
  const everybody: Deno.NetAddr = {
    transport: "udp",
    hostname: NEAR.gateway.replace(/\d+$/, "255"),
    port: 9,
  };
  const timer = setInterval(() => void murmur.send(new Uint8Array(1), everybody), 100);
  const summaries = await takeTurns(programs, Number(options.rounds));
  clearInterval(timer);
  murmur.close();
  console.log(table(
    ["sender", "datagrams/s", "by masscan", "by zmap", "CPU us", "arrived", "of"],
    [...summaries].map(([name, { rate, cpu, arrived }]) => [
      ...[name, Math.round(rate), ratio(summaries, name, "masscan")],
      ratio(summaries, name, titled("zmap", senders.get(name)!)),
      ...[cpu, arrived, Number(options.targets)],
    ]),
  ));
}

await atFarEnd(import.meta.url, compare);
