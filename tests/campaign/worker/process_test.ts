/** Workers as processes of their own: their permissions, their memory, and what happens when they are stopped. */
import { assert, assertEquals, fail } from "@std/assert";
import { Control } from "../../../src/campaign/control.ts";
import { leaseKey } from "../../../src/campaign/names.ts";
import { startFleet } from "../../../src/testing/start_fleet.ts";
import { start } from "../../cli/program.ts";
import { natsTest, startCluster, startNats } from "../nats_server.ts";
import {
  connect,
  inState,
  Lines,
  Listener,
  readResults,
  startWorker,
  submit,
  whenLeases,
} from "./campaign.ts";
import { longTest } from "../../long.ts";

const KEY = leaseKey("lab", 1);

/** A worker in a process with the permission for the network alone. */
class WorkerProcess implements AsyncDisposable {
  readonly #child: Deno.ChildProcess;
  readonly #read: Promise<void>;
  readonly lines = new Lines();

  constructor(
    url: string,
    options: readonly string[] = [],
    flags: readonly string[] = [],
    net = "--allow-net",
  ) {
    const words = ["campaign", "work", "--nats", url, ...options];
    this.#child = start(words, { permissions: [net, ...flags] });
    void this.#child.stdout.cancel();
    this.#read = this.#readLines();
  }

  async #readLines(): Promise<void> {
    let rest = "";
    for await (const text of this.#child.stderr.pipeThrough(new TextDecoderStream())) {
      const lines = (rest + text).split("\n");
      rest = lines.pop()!;
      for (const line of lines) this.lines.add(line);
    }
  }

  /** The largest size of its memory so far, MiB. */
  async largest(): Promise<number> {
    const { pid } = this.#child;
    const args = ["-c", `grep VmHWM /proc/${pid}/status`];
    const { stdout } = await new Deno.Command("sh", { args }).output();
    return Number(/(\d+) kB/.exec(new TextDecoder().decode(stdout))![1]) / 1024;
  }

  signal(name: Deno.Signal): void {
    this.#child.kill(name);
  }

  /** The exit code. */
  async code(): Promise<number> {
    const { code } = await this.#child.status;
    await this.#read;
    return code;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    try {
      this.signal("SIGKILL");
    } catch { /* it has ended */ }
    await this.code();
  }
}

natsTest(
  "a worker needs only the permission for the network, and over UDP little memory",
  async () => {
    await using server = await startNats();
    await using broker = await connect(server.url);
    const range = "127.51.0.0/19";
    await using fleet = await startFleet({ range, servers: 300, software: ["bds"] });
    await submit(broker, {
      targets: [range],
      options: { "parts": "12", "max-running": "4", "rate": "4000", protocol: "raknet" },
    });
    await using worker = new WorkerProcess(server.url);
    await whenLeases(broker, inState("done", 12));
    const largest = await worker.largest();
    worker.signal("SIGTERM");
    assertEquals(await worker.code(), 130);
    assert(largest <= 160, `${largest} MiB`);
    const { rows } = await readResults(broker);
    const hosts = new Set(rows.map(({ host }) => host));
    assertEquals(hosts, new Set(fleet.servers.map(({ host }) => host)));
  },
);

natsTest(
  "a worker that cannot open sockets ends with one line before it takes a part",
  async () => {
    await using server = await startNats();
    await using broker = await connect(server.url);
    await submit(broker, { targets: ["127.51.0.0/24"], options: { "parts": "1" } });
    const { host } = new URL(server.url);
    const cases: [RegExp, ConstructorParameters<typeof WorkerProcess>][] = [
      [/permission is missing; add --allow-net/, [server.url, [], [], `--allow-net=${host}`]],
      [/Cannot open a socket: /, [server.url, ["--source-ip", "192.0.2.1"]]],
      [/Cannot use --engine udp: it needs --allow-ffi/, [server.url, ["--engine", "udp"]]],
    ];
    for (const [text, words] of cases) {
      await using worker = new WorkerProcess(...words);
      assertEquals(await worker.code(), 2);
      assertEquals(worker.lines.all.length, 1, worker.lines.all.join("\n"));
      assert(text.test(worker.lines.all[0]), worker.lines.all[0]);
    }
    const { messages } = (await broker.jsm.streams.info("KV_BS_LEASES")).state;
    assertEquals(messages, 0);
  },
);

const ENGINES: Readonly<Record<string, readonly string[]>> = {
  portable: [],
  ...Deno.build.os === "linux" && { udp: ["--allow-ffi"] },
};

for (const [engine, flags] of Object.entries(ENGINES)) {
  natsTest(
    `a worker that is stopped sends not one datagram when it goes on, with engine ${engine}`,
    async () => {
      await using server = await startNats();
      await using broker = await connect(server.url);
      await using listener = new Listener();
      await submit(broker, {
        targets: ["127.51.0.0/22"],
        // On a busy machine the second worker may renew late. The part must not go back for that.
        options: { parts: "1", rate: "300", ports: String(listener.port), "ack-wait": "5s" },
      });
      await using first = new WorkerProcess(server.url, ["--engine", engine], flags);
      await listener.received(200);
      first.signal("SIGSTOP");
      const own = new Set(listener.senders);
      await using control = await Control.open(broker, fail);
      assertEquals(control.campaigns().get("lab")?.state, "running");
      const held = await whenLeases(broker, inState("held", 1));
      const second = startWorker(server.url);
      const isTaken = (leases: typeof held) => leases.get(KEY)?.worker !== held.get(KEY)?.worker;
      await whenLeases(broker, isTaken);
      await listener.received(listener.senders.length + 1); // what was sent before has arrived
      const count = () => listener.senders.filter((port) => own.has(port)).length;
      const before = count();
      first.signal("SIGCONT");
      await first.lines.when("another worker has taken it");
      await whenLeases(broker, inState("done", 1));
      await second.stop();
      first.signal("SIGTERM");
      assertEquals(await first.code(), 130);
      assertEquals(count(), before);
      assert(listener.senders.length >= 1024);
      const { ends } = await readResults(broker);
      assertEquals(ends.map(({ kind, end }) => [kind, end.tries]), [["done", 2]]);
    },
    longTest,
  );
}

natsTest(
  "after SIGTERM a worker gives its parts back, and after the second it ends at once",
  async () => {
    await using server = await startNats();
    await using broker = await connect(server.url);
    await submit(broker, { targets: ["127.51.0.0/22"], options: { "parts": "2", "rate": "100" } });
    await using first = new WorkerProcess(server.url);
    await whenLeases(broker, inState("held", 2));
    first.signal("SIGINT");
    const leases = await whenLeases(broker, inState("released", 2));
    assertEquals([...leases.values()].map(({ tries }) => tries), [0, 0]);
    assertEquals(await first.code(), 130);
    await using second = new WorkerProcess(server.url);
    await whenLeases(broker, inState("held", 2));
    await server.stop("SIGKILL"); // parts cannot be given back
    await second.lines.when("all parts wait");
    second.signal("SIGINT");
    await second.lines.when("giving parts back");
    second.signal("SIGTERM");
    assertEquals(await second.code(), 130);
  },
);

natsTest("a campaign goes on while a server of a cluster is killed", async () => {
  await using servers = await startCluster();
  const url = servers.map((server) => server.url).join();
  await using broker = await connect(url);
  const range = "127.51.0.0/21";
  await using fleet = await startFleet({ range, servers: 60, software: ["bds"] });
  await submit(broker, {
    targets: [range],
    options: { parts: "8", "max-running": "4", rate: "400", replicas: "3" },
  });
  const workers = [startWorker(url, { slots: 2 }), startWorker(url, { slots: 2 })];
  await whenLeases(broker, inState("held", 4));
  const { cluster } = await broker.jsm.streams.info("BS_TASKS");
  await servers.find(({ name }) => name === cluster!.leader)!.stop("SIGKILL");
  const lines = workers.map((worker) => worker.lines);
  const done = () => lines.flatMap(({ all }) => all.filter((line) => line.includes("is done")));
  while (done().length < 8) await Promise.race(lines.map((one) => one.next()));
  await Promise.all(workers.map(({ stop }) => stop()));
  const { rows } = await readResults(broker);
  const hosts = new Set(rows.map(({ host }) => host));
  assertEquals(hosts, new Set(fleet.servers.map(({ host }) => host)));
}, longTest);
