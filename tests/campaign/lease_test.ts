/** Of src/campaign/lease.ts, with real servers of NATS. */
import { assert, assertEquals } from "@std/assert";
import { Lease, type LeaseOptions, type NotTaken } from "../../src/campaign/lease.ts";
import { type LeaseValue, parseLeaseValue } from "../../src/campaign/lease_value.ts";
import type { KV, KvEntry } from "../../src/campaign/nats/client_types.ts";
import { type Broker, connectBroker } from "../../src/campaign/nats/connection.ts";
import { ensureTopology } from "../../src/campaign/nats/topology.ts";
import { systemClock } from "../../src/net/clock.ts";
import { ManualClock } from "../fakes/manual_clock.ts";
import { type NatsServer, natsTest, startCluster, startNats, until } from "./nats_server.ts";
import { longTest } from "../long.ts";

const ACK_WAIT_MS = 2000;
const KEY = "lease.may.1";

async function connect({ url }: NatsServer, replicas = 1): Promise<Broker> {
  const broker = await connectBroker({ nats: url }, "test");
  await ensureTopology(broker, { replicas, resultsLimit: 2 ** 20 });
  return broker;
}

/** A control that is always current. */
const control = { whenCurrent: () => Promise.resolve(true), onDisconnect: () => () => {} };

async function tryToTake(
  broker: Broker,
  worker: string,
  options: Partial<LeaseOptions> = {},
): Promise<Lease | NotTaken> {
  const all = { worker, ackWaitMs: ACK_WAIT_MS, clock: new ManualClock(), control, ...options };
  return await Lease.take(broker, "may", 1, all);
}

async function take(...given: Parameters<typeof tryToTake>): Promise<Lease> {
  const taken = await tryToTake(...given);
  assert(taken instanceof Lease, `${taken}`);
  return taken;
}

/** A clock that begins at a wall-clock time. */
function clockAt(wall: number): ManualClock {
  const clock = new ManualClock();
  return Object.assign(clock, { wall: () => wall + clock.now() });
}

/** A clock by which nobody has renewed a lease for an hour. */
const clockAhead = () => clockAt(Date.now() + 3_600_000);

async function readEntry(broker: Broker): Promise<KvEntry> {
  return (await (await broker.bucket("BS_LEASES")).get(KEY))!;
}

async function readLease(broker: Broker): Promise<LeaseValue> {
  return parseLeaseValue((await readEntry(broker)).string());
}

/** Waits until the key of the lease has another revision than the given one. */
async function renewed(broker: Broker, revision: number): Promise<void> {
  await until(async () => (await readEntry(broker)).revision > revision);
}

natsTest("a lease is renewed with its value, and its end is written", async () => {
  await using server = await startNats();
  await using broker = await connect(server);
  const clock = new ManualClock();
  let renewals = 0;
  await using lease = await take(broker, "one", { clock, onRenewed: () => renewals++ });
  assertEquals([lease.gate.isOpen(), renewals], [true, 1]);
  const { state, worker, tries } = await readLease(broker);
  assertEquals([state, worker, tries], ["held", "one", 1]);

  const { revision } = lease;
  lease.set({ marks: { position: 7 }, rate: 500 });
  clock.move(ACK_WAIT_MS / 4);
  await renewed(broker, revision);
  await until(() => renewals === 2);
  assertEquals((await readLease(broker)).marks, { position: 7 });
  assertEquals(await lease.end("done", { why: undefined }), true);
  assertEquals([lease.gate.isOpen(), await lease.gate.whenOpen()], [false, false]);
  const ended = await readLease(broker);
  assertEquals([ended.state, ended.tries, ended.rate], ["done", 1, 0]);
  assertEquals(clock.timers, 0);
  assertEquals(await tryToTake(broker, "two"), "ended");
});

natsTest("a released part goes on where it was, and its try does not count", async () => {
  await using server = await startNats();
  await using broker = await connect(server);
  await using first = await take(broker, "one");
  first.set({ marks: { position: 9 } });
  assertEquals(await first.end("released", { why: "the worker was stopped" }), true);
  assertEquals((await readLease(broker)).tries, 0);
  await using second = await take(broker, "two");
  const { tries, marks, why, worker } = second.value;
  assertEquals([tries, marks, why, worker], [
    1,
    { position: 9 },
    "the worker was stopped",
    "two",
  ]);
});

natsTest("of two workers that take a part at the same time one is refused", async () => {
  await using server = await startNats();
  await using broker = await connect(server);
  for (const before of ["untaken", "released"]) {
    const taken = await Promise.all(
      ["one", "two", "three"].map((worker) => tryToTake(broker, worker)),
    );
    const leases = taken.filter((lease) => lease instanceof Lease);
    assertEquals(leases.length, 1, before);
    await leases[0].end("released");
  }
});

natsTest("a part is not taken from a worker that has renewed its lease in time", async () => {
  await using server = await startNats();
  await using broker = await connect(server);
  await using first = await take(broker, "one");
  const stored = Number((await readEntry(broker)).created);
  const early = clockAt(stored + ACK_WAIT_MS - 1);
  assertEquals(await tryToTake(broker, "two", { clock: early }), "held");
  assertEquals(first.revision, (await readEntry(broker)).revision);
  await using second = await take(broker, "two", { clock: clockAt(stored + ACK_WAIT_MS) });
  const { tries, why } = second.value;
  assertEquals([tries, why], [2, "worker one stopped without giving the part back"]);
});

natsTest("a lease that is renewed while another worker takes it stays", async () => {
  await using server = await startNats();
  await using broker = await connect(server);
  const clock = new ManualClock();
  await using first = await take(broker, "one", { clock });
  const bucket = await broker.bucket("BS_LEASES");
  const late: KV = Object.assign(Object.create(bucket), {
    async get(key: string) {
      const entry = (await bucket.get(key))!;
      clock.move(ACK_WAIT_MS / 4);
      await renewed(broker, entry.revision);
      return entry;
    },
  });
  const slow = { ...broker, bucket: () => Promise.resolve(late) };
  assertEquals(await tryToTake(slow, "two", { clock: clockAhead() }), "refused");
  const { state, worker, tries } = await readLease(broker);
  assertEquals([state, worker, tries, first.lost.aborted], ["held", "one", 1, false]);
});

natsTest("a part that another worker took over is lost", async () => {
  await using server = await startNats();
  await using broker = await connect(server);
  const clock = new ManualClock();
  await using first = await take(broker, "one", { clock });
  await using second = await take(broker, "two", { clock: clockAhead() });
  assertEquals(second.value.tries, 2);
  const lost = Promise.withResolvers<void>();
  first.lost.addEventListener("abort", () => lost.resolve());
  clock.move(ACK_WAIT_MS / 4);
  await lost.promise;
  assertEquals([first.gate.isOpen(), await first.gate.whenOpen()], [false, false]);
  assertEquals([await first.end("done"), clock.timers], [false, 0]);
  const { state, worker } = await readLease(broker);
  assertEquals([state, worker], ["held", "two"]);
  assertEquals(second.lost.aborted, false);
});

natsTest(
  "whoever takes over a fresh lease by a wrong clock waits until the gate of its holder is closed",
  async () => {
    await using server = await startNats();
    await using broker = await connect(server);
    const ackWaitMs = 60_000; // much longer than the test
    const [holder, other] = [new ManualClock(), clockAhead()];
    await using first = await take(broker, "one", { clock: holder, ackWaitMs });
    await using second = await take(broker, "two", { clock: other, ackWaitMs });
    assertEquals([first.gate.isOpen(), second.gate.isOpen()], [true, false]);
    const opened = second.gate.whenOpen();
    other.move(ackWaitMs / 4);
    await renewed(broker, second.revision);
    assertEquals(second.gate.isOpen(), false);
    holder.move(ackWaitMs / 2);
    other.move(ackWaitMs / 4);
    await opened;
    assertEquals(first.gate.isOpen(), false);
  },
);

natsTest("a value that no worker wrote begins the part anew", async () => {
  await using server = await startNats();
  await using broker = await connect(server);
  const bucket = await broker.bucket("BS_LEASES");
  for (const write of [() => bucket.put(KEY, "{}"), () => bucket.delete(KEY)]) {
    await write();
    await using lease = await take(broker, "one");
    assertEquals([lease.value.tries, lease.value.marks], [1, null]);
  }
});

/** A connection on which a function decides about the replies to updates of leases. */
function withReplies(broker: Broker, update: (write: () => Promise<number>) => Promise<number>) {
  const bucket = async (name: string): Promise<KV> => {
    const real = await broker.bucket(name);
    return Object.assign(Object.create(real), {
      create: (...args: Parameters<KV["create"]>) => update(() => real.create(...args)),
      update: (...args: Parameters<KV["update"]>) => update(() => real.update(...args)),
    });
  };
  return { ...broker, bucket };
}

natsTest("an update that was written although no reply came does not lose the part", async () => {
  await using server = await startNats();
  await using broker = await connect(server);
  const clock = new ManualClock();
  let isSilent = false;
  let writes = 0;
  const deaf = withReplies(broker, async (write) => {
    const revision = await write();
    writes++;
    if (isSilent) throw new Error("timeout");
    return revision;
  });
  await using lease = await take(deaf, "one", { clock });
  isSilent = true;
  lease.set({ marks: 1 });
  clock.move(ACK_WAIT_MS / 4);
  await until(() => writes === 2 && clock.timers === 1);
  assertEquals((await readLease(broker)).marks, 1);
  isSilent = false;
  lease.set({ marks: 2 });
  const { revision } = lease;
  clock.move(ACK_WAIT_MS / 4);
  await until(() => lease.revision > revision + 1);
  assertEquals([lease.lost.aborted, lease.gate.isOpen()], [false, true]);
  await until(async () => (await readLease(broker)).marks === 2);
  isSilent = true;
  const ending = lease.end("done");
  await until(() => clock.timers === 1);
  isSilent = false;
  clock.move(ACK_WAIT_MS / 4);
  assertEquals(await ending, true);
});

natsTest(
  "after an update without a reply that was not written, another worker's is respected",
  async () => {
    await using server = await startNats();
    await using broker = await connect(server);
    const clock = new ManualClock();
    let isCut = false;
    const cut = withReplies(
      broker,
      (write) => isCut ? Promise.reject(new Error("timeout")) : write(),
    );
    await using lease = await take(cut, "one", { clock });
    isCut = true;
    clock.move(ACK_WAIT_MS / 4);
    await until(() => clock.timers === 1);
    await using other = await take(broker, "two", { clock: clockAhead() });
    isCut = false;
    clock.move(ACK_WAIT_MS / 4);
    await until(() => lease.lost.aborted);
    assertEquals([lease.gate.isOpen(), other.lost.aborted], [false, false]);
  },
);

natsTest("a stopped process sends nothing when it goes on, and has lost its part", async () => {
  await using server = await startNats();
  await using broker = await connect(server);
  const program = new URL("lease_holder.ts", import.meta.url).pathname;
  const config = new URL("../../deno.json", import.meta.url).pathname;
  const child = new Deno.Command("deno", {
    args: ["run", "-A", "--no-check", "--quiet", "--config", config, program, server.url, "2000"],
    stdout: "piped",
  }).spawn();
  const lines = child.stdout.pipeThrough(new TextDecoderStream()).getReader();
  let printed = "";
  const prints = async (wanted: string) => {
    while (!printed.includes(wanted)) {
      const { value, done } = await lines.read();
      assert(!done, printed);
      printed += value;
    }
  };
  try {
    await prints("holds\n");
    child.kill("SIGSTOP");
    const clock = { ...systemClock, wall: () => Date.now() + ACK_WAIT_MS };
    await using lease = await take(broker, "two", { clock });
    // The gate opens when that of the stopped process has closed, and not earlier.
    assertEquals(await lease.gate.whenOpen(), true);
    child.kill("SIGCONT");
    await prints("lost false false\n");
    assert(printed.endsWith("continues false\nlost false false\n"), printed);
    assertEquals(lease.lost.aborted, false);
  } finally {
    child.kill("SIGKILL");
    await lines.cancel();
    await child.status;
  }
});

natsTest(
  "a lease survives a server that is killed and started again; its gate is closed meanwhile",
  async () => {
    await using server = await startNats();
    await using broker = await connect(server);
    const clock = new ManualClock();
    await using lease = await take(broker, "one", { clock });
    await server.stop("SIGKILL");
    clock.move(ACK_WAIT_MS / 4);
    await until(() => clock.timers === 1);
    clock.move(ACK_WAIT_MS / 4);
    assertEquals(lease.gate.isOpen(), false);
    const opened = lease.gate.whenOpen();
    await server.start();
    const { revision } = lease;
    await until(() => {
      if (clock.timers === 1) clock.move(ACK_WAIT_MS / 4);
      return lease.revision > revision;
    });
    assertEquals([await opened, lease.lost.aborted], [true, false]);
    assertEquals(await lease.end("done"), true);
  },
);

natsTest("a lease survives the leader of its bucket", async () => {
  await using cluster = await startCluster();
  await using setUp = await connect(cluster[0], 3);
  const { cluster: raft } = await setUp.jsm.streams.info("KV_BS_LEASES");
  const leader = cluster.find(({ name }) => name === raft!.leader)!;
  await using broker = await connectBroker({ nats: leader.url }, "test");
  await using lease = await take(broker, "one", { clock: systemClock });
  const { revision } = lease;
  await leader.stop("SIGKILL");
  await until(() => lease.revision > revision && lease.gate.isOpen());
  assertEquals(lease.lost.aborted, false);
  assertEquals(await lease.end("released"), true);
}, longTest);
