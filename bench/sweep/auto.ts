// deno-lint-ignore-file no-console
/**
 * Shows which rate `--rate auto` finds on a path with a rate limit and, optionally, additional
 * loss.
 *
 * It needs the queueing discipline tbf. Three network namespaces are connected in a row: the
 * scanner, a router and the fleet. The router forwards a limited number of pings per second to the
 * fleet, with a token bucket of 10 ms and a queue of 40 pings. It drops all other pings. Loss that
 * does not depend on the rate is simulated by the fleet (`--losses`, percent of a round trip),
 * because some kernels lack netem.
 *
 * `10 s`, `20 s` and `30 s` are the rates of the status file at these times, divided by the limit.
 * `settled` is the last rate, in packets per second, with its reason. `loss` is the loss of the
 * whole scan that canaries estimate, with its confidence interval. `true` is the loss that router
 * and fleet caused. `held` is whether the interval contains it.
 */
import { system } from "../shared/namespaces.ts";
import { fleetOf, scanCommand } from "../shared/processes.ts";
import { table } from "../shared/table.ts";
import type { Case } from "./case.ts";

const OPTIONS = {
  limits: "2000,5000,20000,50000",
  losses: "0,3",
  servers: "4000",
  range: "10.128.0.0/13",
  engine: "udp",
  seconds: "31",
};
const MAIN = new URL("../../main.ts", import.meta.url).pathname;
const ENV = { DENO_NO_UPDATE_CHECK: "1", NO_COLOR: "1" };
/**
 * Size of a ping as the queueing discipline counts it, bytes: 33 bytes, and the headers of UDP,
 * IPv4 and Ethernet.
 */
const PING = 33 + 8 + 20 + 14;
const QUEUE = 40 * PING;
const [SCANNER, ROUTER, FLEET] = ["scanner", "router", "fleet"].map((name) =>
  `blocksweep-${Deno.pid}-${name}`
);
const HEAD = ["limit", "loss", "10 s", "20 s", "30 s", "settled", "loss, %", "true, %", "held"];

type Options = Readonly<Record<string, string>>;

export const auto: Case = {
  purpose: "the rate that --rate auto finds on a path with a limit and loss",
  options: OPTIONS,
  atFarEnd: false,
  async run(options, folder) {
    try {
      await connect(options.range);
      const lines: (string | number)[][] = [];
      for (const loss of options.losses.split(",").map(Number)) {
        await using _fleet = await startFleet(options, loss, folder);
        for (const limit of options.limits.split(",").map(Number)) {
          lines.push(await measure(options, limit, loss, folder));
        }
      }
      console.log(table(HEAD, lines));
      return true;
    } finally {
      for (const name of [SCANNER, ROUTER, FLEET]) {
        await system(`ip netns delete ${name}`).catch(() => {});
      }
    }
  },
};

/** Creates the namespaces, links and routes. No route leads out of them. */
async function connect(range: string): Promise<void> {
  const commands = [SCANNER, ROUTER, FLEET].flatMap((name) => [
    `ip netns add ${name}`,
    `ip -n ${name} link set lo up`,
  ]);
  commands.push(`ip -n ${SCANNER} link add eth0 type veth peer name eth0 netns ${ROUTER}`);
  commands.push(`ip -n ${FLEET} link add eth0 type veth peer name eth1 netns ${ROUTER}`);
  const links = [
    [SCANNER, "10.78.0.1/30", "eth0"],
    [ROUTER, "10.78.0.2/30", "eth0"],
    [ROUTER, "10.79.0.1/30", "eth1"],
    [FLEET, "10.79.0.2/30", "eth0"],
  ];
  for (const [name, address, link] of links) {
    commands.push(`ip -n ${name} addr add ${address} dev ${link}`);
    commands.push(`ip -n ${name} link set ${link} up`);
  }
  commands.push(`ip -n ${SCANNER} route add ${range} via 10.78.0.2`);
  commands.push(`ip -n ${ROUTER} route add ${range} via 10.79.0.2`);
  commands.push(`ip -n ${FLEET} route add 10.78.0.0/30 via 10.79.0.1`);
  // All addresses of the range are local there, with and without a server.
  commands.push(`ip -n ${FLEET} route add local ${range} dev lo`);
  commands.push(`ip netns exec ${ROUTER} sysctl -qw net.ipv4.ip_forward=1`);
  for (const command of commands) await system(command);
}

/** Starts a fleet that loses a percentage of round trips. */
async function startFleet(options: Options, loss: number, folder: string) {
  const eachWay = 100 * (1 - Math.sqrt(1 - loss / 100));
  const manifest = `${folder}/truth.ndjson`;
  await Deno.remove(manifest).catch(() => {});
  const fleet = `--lab --no-tcp --range ${options.range} --servers ${options.servers} ` +
    `--software bds --loss ${eachWay.toFixed(4)} --manifest ${manifest}`;
  const child = new Deno.Command("ip", {
    args: `netns exec ${FLEET} deno run --no-prompt -A ${MAIN} fleet ${fleet}`.split(" "),
    env: ENV,
    stdin: "null",
    stdout: "null",
    stderr: "piped",
  }).spawn();
  return await fleetOf(child);
}

interface Status {
  readonly rate: { readonly rate: number; readonly reason: string } | null;
  readonly loss: { readonly share: number; readonly low: number; readonly high: number } | null;
}

/** Runs one scan with a limit. Returns a line of the table. */
async function measure(options: Options, limit: number, loss: number, folder: string) {
  await limitTo(limit);
  const file = `${folder}/status.json`;
  await Deno.remove(file).catch(() => {});
  const [program, ...words] = scanCommand(scanOptions(options, folder), options.engine);
  const args = ["netns", "exec", SCANNER, program, ...words];
  const child = new Deno.Command("ip", { args, env: ENV, stdin: "null" }).spawn();
  const read = async (): Promise<Status> => JSON.parse(await Deno.readTextFile(file));
  const begun = performance.now();
  const rates: string[] = [];
  for (const seconds of [10, 20, 30]) {
    await new Promise((done) => setTimeout(done, begun + 1000 * seconds - performance.now()));
    rates.push((((await read()).rate?.rate ?? NaN) / limit).toFixed(2));
  }
  const { code } = await child.status;
  if (code !== 0) throw new Error(`the scan ended with exit code ${code}`);
  const { sent, dropped } = await counted();
  const truth = 1 - (1 - dropped / (sent + dropped)) * (1 - loss / 100);
  const { rate, loss: estimate } = await read();
  const percent = (share = NaN) => (100 * share).toFixed(2);
  const interval = `${percent(estimate?.low)} to ${percent(estimate?.high)}`;
  const isHeld = estimate !== null && estimate.low <= truth && truth <= estimate.high;
  return [
    limit,
    `${loss} %`,
    ...rates,
    `${Math.round(rate!.rate)}, ${rate!.reason}`,
    `${percent(estimate?.share)} (${interval})`,
    percent(truth),
    isHeld ? "yes" : "no",
  ];
}

/** Limits the number of pings per second that the router forwards. */
async function limitTo(limit: number): Promise<void> {
  const bits = limit * PING * 8;
  const bucket = Math.max(2000, Math.round(bits / 8 / 100));
  const root = `tc -n ${ROUTER} qdisc`;
  await system(`${root} del dev eth1 root`).catch(() => {});
  await system(`${root} add dev eth1 root tbf rate ${bits}bit burst ${bucket} limit ${QUEUE}`);
}

/** Numbers of packets that the queueing discipline forwarded and dropped. */
async function counted(): Promise<{ sent: number; dropped: number }> {
  const [, sent, dropped] = /Sent \d+ bytes (\d+) pkt \(dropped (\d+)/
    .exec(await system(`tc -n ${ROUTER} -s qdisc show dev eth1`))!;
  return { sent: Number(sent), dropped: Number(dropped) };
}

function scanOptions({ range, seconds }: Options, folder: string): string[] {
  const probes = `${range} --protocol raknet --no-follow --retries 3 --rate auto`;
  const end = `--max-runtime ${seconds}s --cooldown 2s --status-file ${folder}/status.json`;
  const files = `-o ${folder}/rows.ndjson --opt-out-file ${folder}/opt-out.txt`;
  return `${probes} ${end} ${files}`.split(" ");
}
