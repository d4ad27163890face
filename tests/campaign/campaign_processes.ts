// deno-lint-ignore-file no-console
/** The processes of a campaign on one machine: NATS servers, a fleet, workers and collectors. */
import { DatabaseSync } from "node:sqlite";
import type { CampaignState } from "../../src/campaign/control.ts";
import { type Broker, connectBroker } from "../../src/campaign/nats/connection.ts";
import {
  formatLeaseValue,
  hasEnded,
  type LeaseValue,
  parseLeaseValue,
  UNTAKEN,
} from "../../src/campaign/lease_value.ts";
import { formatAddress } from "../../src/core/address.ts";
import { readLeases } from "../../src/campaign/stored_leases.ts";
import { LEASE_BUCKET, leaseKeys, RESULTS, TASKS } from "../../src/campaign/names.ts";
import { parseManifest } from "../../src/fleet/manifest.ts";
import { finish, run, start } from "../cli/program.ts";
import type { Server } from "../postgres/server.ts";
import { type Capture, type Packet, startCapture } from "./capture.ts";
import { type NatsServer, startCluster, startNats } from "./nats_server.ts";
import { kill, outputOf, pause, type Running, signal, textOf } from "./running.ts";
import { subscribeRaw } from "./raw_subscription.ts";
import { entryOf, WithheldTasks } from "./withheld_tasks.ts";

/** What a campaign of the test consists of. */
export interface CampaignPlan {
  readonly name: string;
  readonly servers: number;
  /** The targets: a range of loopback. */
  readonly range: string;
  readonly parts: number;
  readonly replicas: 1 | 3;
  /** The budget, packets per second. */
  readonly rate: number;
}

/** The limits of every campaign of the test. */
export const LIMITS = { netRate: 400, hostRate: 5, ackWaitMs: 4000, maxRunning: 8 };
const PORTS = ["--protocol", "raknet,slp"];
const ALL = ["--allow-all"];
/** The worker in the lease of the part that looks as if it had failed. */
const POISON = "test";

/** One version of a lease, as the bucket had it. */
export interface LeaseUpdate {
  readonly part: number;
  readonly value: LeaseValue;
  /**
   * When the worker sent it, Unix milliseconds. A value without a reply is sent again unchanged, so
   * its own time can be older.
   */
  readonly sent: number;
}

/** The running processes of a campaign. */
export class Campaign implements AsyncDisposable {
  /** All versions of all leases, in their order. */
  readonly updates: LeaseUpdate[] = [];
  /** What was done, with the times at which it began and ended, Unix milliseconds. */
  readonly steps: { readonly what: string; readonly from: number; readonly to: number }[] = [];
  readonly #workers: Running[] = [];
  readonly #collectors: Running[] = [];
  readonly #done = new Set<number>();
  /** The parts that have begun and not ended, with the time at which their lease was seen last. */
  readonly #begun = new Map<number, Pick<LeaseValue, "state"> & { readonly seen: number }>();
  #tasks: WithheldTasks | undefined;
  #started = 0;

  private constructor(
    readonly plan: CampaignPlan,
    /** The addresses of the simulated hosts. */
    readonly hosts: ReadonlySet<string>,
    private readonly folder: string,
    private readonly postgres: string,
    private readonly servers: readonly NatsServer[],
    private readonly broker: Broker,
    private readonly fleet: Deno.ChildProcess,
    private readonly capture: Capture,
  ) {}

  /** Starts servers, fleet and capture, and watches the leases. */
  static async start(plan: CampaignPlan, postgres: string): Promise<Campaign> {
    const folder = await Deno.makeTempDir();
    const servers = plan.replicas === 3 ? await startCluster() : [await startNats()];
    const broker = await connectBroker({ nats: servers[0].url }, "chaos");
    const fleet = start([
      ...["fleet", "--servers", String(plan.servers), "--range", plan.range, "--quiet"],
      ...["--seed", "11", "--manifest", `${folder}/truth.ndjson`],
    ], { permissions: ALL, descriptors: 20_000 });
    const truth = await textOf(`${folder}/truth.ndjson`, plan.servers);
    const manifest = parseManifest(truth);
    const hosts = new Set(manifest.map(({ host }) => host));
    const capture = await startCapture(plan.range);
    return new Campaign(plan, hosts, folder, postgres, servers, broker, fleet, capture);
  }

  /**
   * Runs a command of the program on this campaign, again if NATS does not reply in time; throws if it
   * fails.
   *
   * @param isDone Whether a command that failed has done its work all the same.
   */
  async command(
    words: readonly string[],
    isDone: () => Promise<boolean> = () => Promise.resolve(false),
  ): Promise<string> {
    const args = ["campaign", ...words, "--nats", this.servers[0].url];
    for (let tries = 1;; tries++) {
      const { code, stdout, stderr } = await run(args, { permissions: ALL });
      if (code === 0) return stdout + stderr;
      const text = `campaign ${words.join(" ")}: ${code}\n${stdout}${stderr}`;
      console.log(text.trim());
      if (await isDone()) return stdout + stderr;
      if (!stderr.includes("does not reply") || tries === 3) throw new Error(text);
    }
  }

  /** Submits the campaign. Its tasks are withheld: see {@linkcode busy}. */
  async submit(): Promise<void> {
    const { plan: { name, range, parts, rate, replicas } } = this;
    const { netRate, hostRate, ackWaitMs, maxRunning } = LIMITS;
    console.log((await this.command([
      ...["submit", range, "--name", name, "--seed", "3", ...PORTS, "--parts", String(parts)],
      ...["--rate", String(rate), "--net-rate", String(netRate), "--host-rate", String(hostRate)],
      ...["--max-running", String(maxRunning), "--ack-wait", `${ackWaitMs}ms`],
      ...["--replicas", String(replicas), "--opt-out-file", `${this.folder}/opt-outs.txt`],
    ])).trim());
    if (this.#tasks !== undefined) return;
    this.#tasks = await WithheldTasks.take(this.broker, name);
    void this.#watchLeases();
  }

  /**
   * Records every update of every lease. Updates that the bucket refuses are seen too: they are of a
   * worker that has lost the part, and have the number of tries from before. So have those of a worker
   * that took a released part. If the release was missed, because a NATS server was killed, they are
   * recorded when the worker before has sent none for too long.
   */
  async #watchLeases(): Promise<void> {
    const subject = `$KV.${LEASE_BUCKET}.lease.${this.plan.name}.*`;
    const last = new Map<number, LeaseValue>();
    const refused = new Map<number, LeaseUpdate[]>();
    for await (const message of subscribeRaw(this.servers.map(({ url }) => url), subject)) {
      if (message.text === "") continue; // the key is removed
      const part = Number(message.subject.split(".").at(-1));
      const value = parseLeaseValue(message.text);
      const before = last.get(part);
      const isRepeated = Date.now() - value.at > LIMITS.ackWaitMs / 4;
      const update = { part, value, sent: isRepeated ? Date.now() : value.at };
      const waiting = [...refused.get(part) ?? [], update]
        .filter((one) => one.value.worker === value.worker);
      if (
        before?.state === "held" && before.worker !== value.worker &&
        value.tries <= before.tries && update.sent - before.at <= LIMITS.ackWaitMs
      ) {
        refused.set(part, waiting);
        continue;
      }
      refused.delete(part);
      last.set(part, value);
      this.updates.push(...before?.worker === value.worker ? [update] : waiting);
      if (value.state === "done") this.#done.add(part);
      if (hasEnded(value)) this.#begun.delete(part);
      else if (value.worker !== POISON) {
        this.#begun.set(part, { state: value.state, seen: Date.now() });
      }
    }
  }

  /** Resolves when a number of parts is done. */
  readonly done = async (count: number): Promise<void> => {
    for (let i = 1; this.#done.size < count; i++) {
      await pause(100);
      // Updates are missed while a NATS server is killed; then this request may never end.
      if (i % 50 === 0) void this.#readDone().catch(() => {});
    }
  };

  async #readDone(): Promise<void> {
    const { leases } = await readLeases(this.broker, leaseKeys(this.plan.name), () => {});
    for (const { part, value } of leases) if (value.state === "done") this.#done.add(part);
  }

  /** Whether a part has begun and not ended: its lease was released, or updated within ack_wait. */
  #isBusy(): boolean {
    const since = Date.now() - LIMITS.ackWaitMs;
    return this.#begun.values().some(({ state, seen }) => state === "released" || seen > since);
  }

  /**
   * Queues as many tasks as parts can run at the same time, besides those that are done, and resolves
   * while a part is scanned. The campaign cannot end before the last step, however long steps take.
   */
  async busy(): Promise<void> {
    for (;; await pause(100)) {
      await this.release(this.#done.size + LIMITS.maxRunning);
      if (this.#isBusy()) return;
      if (this.#done.size >= this.plan.parts - 1) throw new Error("no part is left to be scanned");
    }
  }

  /** Queues tasks until a number of them is queued. */
  readonly release = async (count: number): Promise<void> => await this.#tasks!.release(count);

  /** Does something, and prints how long it took. */
  async step(what: string, act: () => Promise<void>): Promise<void> {
    const [from, done] = [Date.now(), this.#done.size];
    await act();
    this.steps.push({ what, from, to: Date.now() });
    const seconds = ((Date.now() - from) / 1000).toFixed(1);
    console.log(`${what}: ${seconds} s, parts done: ${done} to ${this.#done.size}`);
  }

  /** Makes a part look as if it had failed five times. */
  async poison(part: number): Promise<void> {
    const bucket = await this.broker.bucket(LEASE_BUCKET);
    const value = {
      ...UNTAKEN,
      worker: POISON,
      tries: 5,
      at: Date.now(),
      why: "made to fail",
    };
    await bucket.create(`lease.${this.plan.name}.${part}`, formatLeaseValue(value));
  }

  /** Starts a worker with a source address of its own. */
  async startWorker(): Promise<void> {
    const source = 0x7f000100 + ++this.#started;
    const words = ["campaign", "work", "--slots", "2", "--source-ip", formatAddress(source)];
    const child = start([...words, "--nats", this.servers[0].url], {
      permissions: ["--allow-net"],
    });
    this.#workers.push({ name: formatAddress(source), child, output: outputOf(child) });
    const bucket = await this.broker.bucket(LEASE_BUCKET);
    for await (const { key } of await bucket.watch({ key: "worker.*" })) {
      const id = key.slice("worker.".length);
      if ([...this.sources.values()].includes(id)) continue;
      this.sources.set(source, id);
      return;
    }
  }

  /** The identities of the workers, by their source addresses. */
  readonly sources = new Map<number, string>();

  startCollectors(): void {
    for (const location of [this.postgres, `${this.folder}/servers.db`]) {
      this.#startCollector(location);
    }
    for (const location of [this.postgres, `${this.folder}/servers.db`]) {
      this.#startCollector(location);
    }
  }

  #startCollector(location: string): void {
    const file = ["--opt-out-file", `${this.folder}/opt-outs-of-collectors.txt`];
    const words = ["campaign", "collect", "-o", location, "--nats", this.servers[0].url, ...file];
    const child = start(words, { permissions: ALL });
    this.#collectors.push({ name: location, child, output: outputOf(child) });
  }

  async killWorker(): Promise<void> {
    await kill(this.#workers.shift()!);
  }

  async freezeWorker(): Promise<void> {
    const { child } = this.#workers[0];
    child.kill("SIGSTOP");
    await pause(2.5 * LIMITS.ackWaitMs);
    child.kill("SIGCONT");
  }

  /** Kills a collector of each database as soon as a commit shows more servers, and starts others. */
  async killCollectors(): Promise<void> {
    const database = new DatabaseSync(`${this.folder}/servers.db`, { readOnly: true });
    const count = () => database.prepare("select count(*) as n from servers").get()!.n as number;
    const before = count();
    for (let i = 1; count() === before; i++) {
      await pause(1);
      if (i % 1000 === 0) await this.busy(); // otherwise the last row may be written already
    }
    database.close();
    for (const one of this.#collectors.splice(0)) await kill(one);
    this.startCollectors();
    // A collector that begins while no NATS server listens ends.
    for (let waiting = 0; waiting < this.#collectors.length;) {
      await pause(100);
      waiting = 0;
      for await (const one of this.broker.jsm.consumers.list(RESULTS)) waiting += one.num_waiting;
    }
  }

  /** Kills the server that leads the stream of tasks, or the only one, and starts it again. */
  async killLeader(): Promise<void> {
    const { cluster } = await this.broker.jsm.streams.info(TASKS);
    const leader = this.servers.find(({ name }) => name === cluster?.leader) ?? this.servers[0];
    await leader.stop("SIGKILL");
    await pause(5000);
    await leader.start();
  }

  async stopDatabase(server: Server): Promise<void> {
    await server.stop("immediate");
    await pause(10_000);
    await server.start();
  }

  /** Pauses the campaign in the middle of parts for 6 s, and resumes it. */
  async pause(): Promise<void> {
    await this.busy();
    await this.#change("pause", "paused");
    while (!this.#isBusy()) {
      await this.#change("resume", "running"); // all parts ended before the pause came
      await this.busy();
      await this.#change("pause", "paused");
    }
    const from = Date.now();
    await pause(6000);
    this.paused = { from, to: Date.now() };
    await this.#change("resume", "running");
  }

  /** Changes the state of the campaign. A command that got no reply may have changed it. */
  async #change(word: "pause" | "resume", to: CampaignState): Promise<void> {
    await this.command([word, this.plan.name], async () => {
      if ((await entryOf(this.broker, this.plan.name)).state === to) return true;
      if (word === "pause") await this.busy();
      return false;
    });
  }

  /** When the campaign was paused, Unix milliseconds. */
  paused = { from: 0, to: 0 };

  async optOut(addresses: readonly string[]): Promise<void> {
    await this.command(["opt-out", ...addresses]);
    this.optedOut.push(...addresses);
  }

  /** The addresses that opted out while the campaign ran. */
  readonly optedOut: string[] = [];

  async retry(): Promise<void> {
    const status = await this.command(["status", this.plan.name]);
    if (!status.includes("made to fail")) throw new Error(`no poisoned part in: ${status}`);
    await this.command(["retry", this.plan.name]);
    await this.done(this.plan.parts);
  }

  /** Resolves when both databases have the finished scan, or after three minutes. */
  async finished(): Promise<void> {
    const until = Date.now() + 180_000;
    for (const location of [this.postgres, `${this.folder}/servers.db`]) {
      for (;;) {
        const { stdout } = await run(["scans", location, "--json"], { permissions: ALL });
        const [scan] = stdout.trim().split("\n").map((line) => JSON.parse(line));
        if (scan?.state === "finished") break;
        if (Date.now() > until) {
          this.faults.push(`not finished after three minutes: ${stdout}`);
          break;
        }
        await pause(1000);
      }
    }
  }

  /** What went wrong while the campaign ran. */
  readonly faults: string[] = [];

  /** Ends workers and collectors as Ctrl-C does, and the capture. */
  async end(): Promise<readonly Packet[]> {
    for (const { child } of [...this.#workers, ...this.#collectors]) signal(child, "SIGINT");
    for (const { name, output } of [...this.#workers, ...this.#collectors]) {
      const { code, text } = await output;
      if (code !== 130) this.faults.push(`${name} ended with ${code}: ${text.slice(-500)}`);
      console.log(`-- ${name}\n${text.trim()}`);
    }
    return await this.capture.end();
  }

  /** Compares the rows of both databases with the truth. */
  async checkRows(): Promise<string[]> {
    const faults: string[] = [];
    for (const [i, location] of [this.postgres, `${this.folder}/servers.db`].entries()) {
      const rows = `${this.folder}/rows${i}.ndjson`;
      await run(["export", location, "-o", rows, "--quiet"], { permissions: ALL });
      const check = ["fleet", "--check", rows, "--manifest", `${this.folder}/truth.ndjson`];
      const { code, stdout, stderr } = await run([...check, ...PORTS], { permissions: ALL });
      console.log(`${i === 0 ? "PostgreSQL" : "SQLite"}: ${stdout.trim()}`);
      if (code !== 0) faults.push(`rows: ${stdout}${stderr}`);
      const lines = (await Deno.readTextFile(rows)).trim().split("\n");
      const ids = new Set(
        lines.map((line) => JSON.parse(line)).map(({ host, port }) => `${host}:${port}`),
      );
      if (ids.size !== lines.length) faults.push(`${lines.length - ids.size} servers twice`);
      const offline = await run(["servers", location, "--offline", "--json"], { permissions: ALL });
      if (offline.stdout.trim() !== "") faults.push(`offline: ${offline.stdout.slice(0, 300)}`);
    }
    return faults;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const { child } of [...this.#workers, ...this.#collectors]) {
      signal(child, "SIGKILL");
    }
    this.fleet.kill("SIGINT");
    await finish(this.fleet);
    await this.broker[Symbol.asyncDispose]();
    for (const server of this.servers) await server[Symbol.asyncDispose]();
    await Deno.remove(this.folder, { recursive: true });
  }
}
