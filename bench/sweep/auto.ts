// deno-lint-ignore-file no-console
/**
 * What `--rate auto` comes to on a path with a limit, and with loss besides.
 *
 *     deno run --allow-read --allow-write --allow-run bench/sweep/auto.ts [--limits 2000,5000,20000,50000]
 *         [--losses 0,3] [--servers 4000] [--range 10.128.0.0/13] [--engine udp] [--seconds 31]
 *
 * It needs root, iproute2, and Linux with the queueing discipline tbf. Three network namespaces in a
 * row: the scanner, a router, the fleet; none of them has a way out. The router lets so many pings a
 * second through to the fleet, by a bucket of 10 ms' worth with a queue of 40 behind it, and drops
 * the others. What is lost at any rate, the fleet loses itself (`--losses`, per cent there and
 * back), for not every kernel has netem.
 *
 * `10 s`, `20 s` and `30 s` are the rates that the status file told then, over the limit; `settled`
 * is what the summary says, in datagrams a second, and why. `said` is the loss of the whole scan that
 * canaries tell, with its interval, `true` the one that router and fleet made, `held` whether the
 * interval holds it.
 */
import { readOptions } from "../shared/options.ts";
import { fleetOf, scanCommand } from "../shared/processes.ts";
import { table } from "../shared/table.ts";

const options = readOptions({
  limits: "2000,5000,20000,50000",
  losses: "0,3",
  servers: "4000",
  range: "10.128.0.0/13",
  engine: "udp",
  seconds: "31",
});
const MAIN = new URL("../../main.ts", import.meta.url).pathname;
/** A ping of 33 bytes with the headers that the discipline counts: UDP, IPv4 and Ethernet. */
const PING = 33 + 8 + 20 + 14;
const QUEUE = 40 * PING;
const id = `bs${Deno.pid}`;
const [HERE, WAY, THERE] = ["here", "way", "there"].map((name) => `${id}-${name}`);
const folder = await Deno.makeTempDir({ prefix: "blocksweep-auto-" });

async function run(...command: readonly string[]): Promise<string> {
  const [program, ...args] = command;
  const { code, stdout, stderr } = await new Deno.Command(program, { args }).output();
  const text = (bytes: Uint8Array) => new TextDecoder().decode(bytes);
  if (code !== 0) throw new Error(`${command.join(" ")} failed: ${text(stderr)}`);
  return text(stdout);
}

const ip = (text: string) => run("ip", ...text.split(" "));

/** Namespaces, links and routes; none leads out. */
async function connect(): Promise<void> {
  for (const name of [HERE, WAY, THERE]) {
    await ip(`netns add ${name}`);
    await ip(`-n ${name} link set lo up`);
  }
  await ip(`-n ${HERE} link add eth0 type veth peer name eth0 netns ${WAY}`);
  await ip(`-n ${THERE} link add eth0 type veth peer name eth1 netns ${WAY}`);
  for (
    const [name, address, link] of [
      [HERE, "10.78.0.1/30", "eth0"],
      [WAY, "10.78.0.2/30", "eth0"],
      [WAY, "10.79.0.1/30", "eth1"],
      [THERE, "10.79.0.2/30", "eth0"],
    ]
  ) {
    await ip(`-n ${name} addr add ${address} dev ${link}`);
    await ip(`-n ${name} link set ${link} up`);
  }
  await ip(`-n ${HERE} route add ${options.range} via 10.78.0.2`);
  await ip(`-n ${WAY} route add ${options.range} via 10.79.0.2`);
  await ip(`-n ${THERE} route add 10.78.0.0/30 via 10.79.0.1`);
  // All of the range lives there, whether something listens or not.
  await ip(`-n ${THERE} route add local ${options.range} dev lo`);
  await run("ip", "netns", "exec", WAY, "sh", "-c", "echo 1 > /proc/sys/net/ipv4/ip_forward");
}

async function disconnect(): Promise<void> {
  for (const name of [HERE, WAY, THERE]) await ip(`netns delete ${name}`).catch(() => {});
}

const tc = (text: string) => run("tc", "-n", WAY, ...text.split(" "));

/** Starts a fleet that loses so many of a hundred, there and back. */
async function startFleet(loss: number): Promise<AsyncDisposable> {
  const eachWay = 100 * (1 - Math.sqrt(1 - loss / 100));
  const manifest = `${folder}/truth.ndjson`;
  await Deno.remove(manifest).catch(() => {});
  const child = new Deno.Command("ip", {
    args: [
      ...["netns", "exec", THERE, "deno", "run", "--no-prompt", "--allow-all", MAIN, "fleet"],
      ...["--lab", "--no-tcp", "--range", options.range, "--servers", options.servers],
      ...["--software", "bds", "--loss", eachWay.toFixed(4), "--manifest", manifest],
    ],
    env: { DENO_NO_UPDATE_CHECK: "1", NO_COLOR: "1" },
    stdin: "null",
    stdout: "null",
    stderr: "piped",
  }).spawn();
  return await fleetOf(child);
}

/** What the discipline has let through and dropped. */
async function counted(): Promise<{ sent: number; dropped: number }> {
  const [, sent, dropped] = /Sent \d+ bytes (\d+) pkt \(dropped (\d+)/
    .exec(await tc("-s qdisc show dev eth1"))!;
  return { sent: Number(sent), dropped: Number(dropped) };
}

interface Status {
  readonly rate: { readonly rate: number; readonly reason: string } | null;
  readonly loss: { readonly share: number; readonly low: number; readonly high: number } | null;
}

/** One scan with a limit; one row of the table. */
async function measure(limit: number, loss: number): Promise<(string | number)[]> {
  const bits = limit * PING * 8;
  const bucket = Math.max(2000, Math.round(bits / 8 / 100));
  await tc("qdisc del dev eth1 root").catch(() => {});
  await tc(`qdisc add dev eth1 root tbf rate ${bits}bit burst ${bucket} limit ${QUEUE}`);
  const status = `${folder}/status.json`;
  await Deno.remove(status).catch(() => {});
  const args = [
    ...[options.range, "--protocol", "raknet", "--no-follow", "--retries", "3"],
    ...["--rate", "auto", "--max-runtime", `${options.seconds}s`, "--cooldown", "2s"],
    ...["--status-file", status, "-o", `${folder}/rows.ndjson`, "--format", "ndjson"],
    ...["--opt-out-file", `${folder}/opt-out.txt`],
  ];
  const [program, ...words] = scanCommand(args, options.engine);
  const child = new Deno.Command("ip", {
    args: ["netns", "exec", HERE, program, ...words],
    env: { DENO_NO_UPDATE_CHECK: "1", NO_COLOR: "1" },
    stdin: "null",
  }).spawn();
  const read = async (): Promise<Status> => JSON.parse(await Deno.readTextFile(status));
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
  const { rate, loss: said } = await read();
  const percent = (share = NaN) => (100 * share).toFixed(2);
  return [
    limit,
    `${loss} %`,
    ...rates,
    `${Math.round(rate!.rate)}, ${rate!.reason}`,
    `${percent(said?.share)} (${percent(said?.low)} to ${percent(said?.high)})`,
    percent(truth),
    said !== null && said.low <= truth && truth <= said.high ? "yes" : "no",
  ];
}

try {
  await connect();
  const rows: (string | number)[][] = [];
  for (const loss of options.losses.split(",").map(Number)) {
    await using _fleet = await startFleet(loss);
    for (const limit of options.limits.split(",").map(Number)) {
      rows.push(await measure(limit, loss));
    }
  }
  const head = ["limit", "loss", "10 s", "20 s", "30 s", "settled", "said, %", "true, %", "held"];
  console.log(table(head, rows));
} finally {
  await disconnect();
  await Deno.remove(folder, { recursive: true });
}
