/**
 * The processes that benchmarks start: the fleet, scans and peers; and their use of memory and
 * processor time.
 */
import { type ManifestEntry, parseManifest } from "../../src/fleet/manifest.ts";

const MAIN = new URL("../../main.ts", import.meta.url).pathname;
const ENV = { DENO_NO_UPDATE_CHECK: "1", NO_COLOR: "1" };

/** A fleet in a process of its own, until it is disposed of. */
export interface RunningFleet extends AsyncDisposable {
  /** The hosts of the fleet, from its manifest. */
  readonly entries: readonly ManifestEntry[];
}

/** Starts a fleet on loopback, and waits until it responds. */
export async function startFleet(
  { servers, software, range, loss, tcp = false, folder, more = [] }: {
    servers: number;
    software: string;
    range?: string;
    /** Datagrams that are lost in each direction, percent. */
    loss?: number;
    /** Whether Java servers accept connections too. Default: no. */
    tcp?: boolean;
    folder: string;
    /** Further options of `fleet`. */
    more?: readonly string[];
  },
): Promise<RunningFleet> {
  const where = range?.replaceAll("/", "-") ?? "";
  const manifest = `${folder}/${software}${where}.manifest.ndjson`;
  const child = new Deno.Command("deno", {
    args: [
      ...["run", "--no-prompt", "--allow-net=127.0.0.0/8", "--allow-ffi"],
      ...[`--allow-write=${folder}`, MAIN, "fleet", "--servers", String(servers)],
      ...["--software", software, "--manifest", manifest],
      ...(tcp ? [] : ["--no-tcp"]),
      ...(range === undefined ? [] : ["--range", range]),
      ...(loss === undefined ? [] : ["--loss", String(loss)]),
      ...more,
    ],
    env: ENV,
    stdin: "null",
    stderr: "piped",
  }).spawn();
  const ending = await fleetOf(child);
  return {
    entries: parseManifest(await Deno.readTextFile(manifest)),
    [Symbol.asyncDispose]: () => ending[Symbol.asyncDispose](),
  };
}

/**
 * Waits until a started fleet responds. Its standard error must be piped. Disposing of the result
 * ends the fleet.
 */
export async function fleetOf(child: Deno.ChildProcess): Promise<AsyncDisposable> {
  const printed = child.stderr.getReader();
  // the fleet prints a line when its sockets are open and the manifest is written
  const { value } = await printed.read();
  const text = new TextDecoder().decode(value);
  if (!text.includes("simulated hosts")) throw new Error(`the fleet did not start: ${text}`);
  return {
    async [Symbol.asyncDispose]() {
      child.kill("SIGINT");
      await printed.cancel();
      await child.status;
    },
  };
}

/** The command line of the program, with the flags of the task `scan` and without arguments. */
export function programWords(engine = "portable"): string[] {
  const permissions = [
    ...["--unstable-lazy-dynamic-imports", "--no-prompt"],
    ...["--allow-net", "--allow-read", "--allow-write"],
    "--allow-env=HOME,PG*",
  ];
  if (engine !== "portable") permissions.push("--allow-ffi");
  return ["deno", "run", ...permissions, MAIN];
}

/**
 * The command line of a scan with these options.
 *
 * @param engine The engine, and the number of sender threads behind a `+`: `udp+2`.
 */
export function scanCommand(options: readonly string[], engine = "portable"): string[] {
  const [name, threads] = engine.split("+");
  const sending = threads === undefined ? [] : ["--threads", threads];
  return [...programWords(name), "scan", "--quiet", "--engine", name, ...sending, ...options];
}

/** A sweep of a range: one probe per target, without caps. */
export interface BareScan {
  readonly range: string;
  readonly port: number;
  /** The protocol of the probes. Default: `raknet`. */
  readonly protocol?: string;
  readonly engine: string;
  /** Number of sender threads. Default: 0. */
  readonly threads?: number | string;
  /** The value of `--rate`. Default: more than any machine reaches. */
  readonly rate?: number | string;
  /** The value of `--cooldown`. Default: one second. */
  readonly cooldown?: string;
}

/** The command line of such a sweep. */
export function bareScan(
  { range, port, protocol = "raknet", engine, threads = 0, rate = "1000M", cooldown = "1s" }:
    BareScan,
  more: readonly string[],
): string[] {
  const caps = "--net-rate off --host-rate off --retries 0 --no-follow --i-have-permission";
  const isGiven = engine === "portable" || engine.includes("+");
  const threading = isGiven ? "" : ` --threads ${threads}`;
  const options = `--protocol ${protocol} --ports ${port} --rate ${rate} --cooldown ${cooldown}`;
  return scanCommand([range, ...`${options} ${caps}${threading}`.split(" "), ...more], engine);
}

/**
 * Starts a process without a shell or a task around it. Its process id is therefore that of the
 * program.
 */
export function start([program, ...args]: readonly string[]): Deno.ChildProcess {
  return new Deno.Command(program, { args, env: ENV, stdin: "null", stdout: "null" }).spawn();
}

/** The time that a process took. */
export interface Usage {
  /** User and system time of the whole process, start-up included, seconds. */
  readonly cpu: number;
  /** Time from the start to the end, seconds. */
  readonly elapsed: number;
}

/**
 * Runs a process to its end. The processor time comes from the shell's `times`, with a resolution
 * of 0.01 s.
 */
export async function runTimed(command: readonly string[], folder?: string): Promise<Usage> {
  const begun = performance.now();
  const { code, stdout, stderr } = await new Deno.Command("sh", {
    args: ["-c", '"$@" >&2; code=$?; times; exit $code', "sh", ...command],
    cwd: folder,
    env: ENV,
    stdin: "null",
  }).output();
  const elapsed = (performance.now() - begun) / 1000;
  const decode = (bytes: Uint8Array) => new TextDecoder().decode(bytes);
  if (code !== 0) throw new Error(`${command.join(" ")} failed: ${decode(stderr)}`);
  const [, children] = decode(stdout).trim().split("\n");
  const seconds = [...children.matchAll(/(\d+)m([\d.]+)s/g)].map(([, m, s]) => 60 * +m + +s);
  return { cpu: seconds.reduce((sum, one) => sum + one, 0), elapsed };
}

/** The kernel's counters of UDP over IPv4, for all processes together. */
export async function udpCounters(): Promise<Readonly<Record<string, number>>> {
  const [names, values] = (await readProc("/proc/net/snmp")).split("\n")
    .filter((line) => line.startsWith("Udp:")).map((line) => line.split(/\s+/).slice(1));
  return Object.fromEntries(names.map((name, i) => [name, Number(values[i])]));
}

/**
 * Reads a file in /proc. It uses `cat`, because Deno may read few of these files without all
 * permissions.
 */
export async function readProc(path: string): Promise<string> {
  const { stdout } = await new Deno.Command("cat", { args: [path], stdin: "null" }).output();
  return new TextDecoder().decode(stdout);
}

/** The memory and processor time of a running process. */
export interface Taken {
  /** Resident memory, MiB. */
  readonly resident: number;
  /** Resident memory at its peak, MiB. */
  readonly peak: number;
  /** User and system time so far, seconds. */
  readonly cpu: number;
}

/** Number of ticks per second in /proc/PID/stat. */
const TICKS = 100;

/** The current usage of a process; `undefined` if it has ended. */
export async function takenBy(pid: number): Promise<Taken | undefined> {
  const status = await readProc(`/proc/${pid}/status`);
  const mebibytes = (name: string) =>
    Number(new RegExp(`^${name}:\\s+(\\d+) kB`, "m").exec(status)?.[1]) / 1024;
  const times = (await readProc(`/proc/${pid}/stat`)).split(") ")[1]?.split(" ");
  const [resident, peak] = [mebibytes("VmRSS"), mebibytes("VmHWM")];
  if (times === undefined || Number.isNaN(resident)) return undefined;
  return { resident, peak, cpu: (Number(times[11]) + Number(times[12])) / TICKS };
}

/** Measures the usage of a process at an interval, milliseconds, until the process has ended. */
export async function* takenUntilEnd(child: Deno.ChildProcess, ms: number): AsyncIterable<Taken> {
  let ended = false;
  void child.status.then(() => ended = true);
  while (!ended) {
    const taken = await takenBy(child.pid);
    if (taken !== undefined) yield taken;
    await new Promise((resolve) => setTimeout(resolve, ms));
  }
}
