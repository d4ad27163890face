/**
 * Workers on a real NATS server, with simulated servers on loopback.
 *
 * Covers src/campaign/worker/.
 */
import { assert, assertEquals, assertRejects, fail } from "@std/assert";
import { type CampaignState, Control } from "../../../src/campaign/control.ts";
import { formatLeaseValue, type LeaseValue, UNTAKEN } from "../../../src/campaign/lease_value.ts";
import {
  LEASE_BUCKET,
  leaseKey,
  RESULTS,
  taskConsumer,
  TASKS,
  taskSubject,
} from "../../../src/campaign/names.ts";
import type { Broker } from "../../../src/campaign/nats/connection.ts";
import { readLeases } from "../../../src/campaign/stored_leases.ts";
import { formatAddress } from "../../../src/core/address.ts";
import project from "../../../deno.json" with { type: "json" };
import { OptOutFile } from "../../../src/app/opt_outs/opt_out_file.ts";
import { InputError } from "../../../src/core/errors.ts";
import { type Marks, START } from "../../../src/scan/setup/low_water_mark.ts";
import { systemClock } from "../../../src/net/clock.ts";
import { startFleet } from "../../../src/testing/start_fleet.ts";
import { natsTest, startNats, until } from "../nats_server.ts";
import {
  connect,
  inState,
  Listener,
  readResults,
  startWorker,
  submit,
  testNetwork,
  whenLeases,
} from "./campaign.ts";
import { longTest } from "../../long.ts";

const RANGE = "127.50.0.0/21"; // eight networks
const FLEET = { range: RANGE, servers: 60, software: ["bds"], seed: 3 };
const KEY = leaseKey("lab", 1);

const hostsOf = (rows: readonly { readonly host: string }[]) =>
  [...new Set(rows.map(({ host }) => host))].sort();

/** The position of the UDP sweep at which a part goes on. */
function positionOf(lease: LeaseValue | undefined): number {
  const { marks } = (lease?.marks ?? { marks: START }) as { readonly marks: Marks };
  return marks.udp.position;
}

/** Number of tasks that are left. */
async function tasksLeft({ jsm }: Broker): Promise<number> {
  return (await jsm.streams.info("BS_TASKS")).state.messages;
}

natsTest("two workers find every server of a campaign once", async () => {
  await using server = await startNats();
  await using broker = await connect(server.url);
  await using fleet = await startFleet(FLEET);
  await submit(broker, {
    targets: [RANGE],
    options: { "parts": "8", "max-running": "4", "rate": "4000" },
  });
  const workers = [startWorker(server.url, { slots: 2 }), startWorker(server.url, { slots: 2 })];
  await whenLeases(broker, inState("done", 8));
  await Promise.all(workers.map(({ stop }) => stop()));
  const { rows, ends } = await readResults(broker);
  assertEquals(rows.length, fleet.servers.length);
  assertEquals(hostsOf(rows), hostsOf(fleet.servers));
  assertEquals(ends.map(({ part }) => part).sort(), [1, 2, 3, 4, 5, 6, 7, 8]);
  for (const { kind, end } of ends) assertEquals([kind, end.tries], ["done", 1]);
  const found = ends.reduce((sum, { end }) => sum + end.counters.found, 0);
  assertEquals(found, fleet.servers.length);
  assertEquals(new Set(ends.map(({ end }) => end.worker)).size, 2);
  assertEquals(await tasksLeft(broker), 0);
});

natsTest("the part of a worker that is killed goes on at its marks", async () => {
  await using server = await startNats();
  await using broker = await connect(server.url);
  await using fleet = await startFleet({ ...FLEET, range: "127.50.0.0/22" });
  await submit(broker, { targets: ["127.50.0.0/22"], options: { "parts": "1", "rate": "200" } });
  const first = startWorker(server.url);
  await whenLeases(broker, (leases) => positionOf(leases.get(KEY)) > 300);
  await first.kill();
  const from = positionOf((await whenLeases(broker, inState("held", 1))).get(KEY));
  let sent = 0;
  const second = startWorker(server.url, { network: testNetwork((count) => sent += count) });
  const leases = await whenLeases(broker, inState("done", 1));
  await second.stop();
  const { rows, ends: [{ kind, end }] } = await readResults(broker);
  assertEquals(hostsOf(rows), hostsOf(fleet.servers));
  assertEquals([kind, end.tries], ["done", 2]);
  // besides probes, it sends canaries
  assert(sent < 1024 - from + 20, `${sent} datagrams of the second worker, from ${from} on`);
  assert(end.counters.sent >= 1024, `${end.counters.sent} of both`);
  assertEquals(leases.get(KEY)?.counters.position, 1024);
  assert(second.lines.all.some((line) => line.includes("part 1 continues")));
}, longTest);

natsTest("a paused campaign gives its parts back, and goes on when it is resumed", async () => {
  await using server = await startNats();
  await using broker = await connect(server.url);
  await using fleet = await startFleet(FLEET);
  await submit(broker, { targets: [RANGE], options: { "parts": "4", "rate": "600" } });
  let sent = 0;
  const worker = startWorker(server.url, { network: testNetwork((count) => sent += count) });
  await using control = await Control.open(broker, fail);
  await whenLeases(broker, (leases) => {
    const all = [...leases.values()];
    return all.length === 4 && all.every(({ counters }) => counters.sent > 0);
  });
  await control.setState("lab", "paused");
  const paused = await whenLeases(broker, inState("released", 4));
  const before = sent;
  for (const { tries } of paused.values()) assertEquals(tries, 0);
  await worker.lines.when("% (campaign paused)");
  await control.setState("lab", "running");
  await whenLeases(broker, inState("done", 4));
  await worker.stop();
  assert(before < 2048);
  const { rows, ends } = await readResults(broker);
  assertEquals(hostsOf(rows), hostsOf(fleet.servers));
  assertEquals(ends.map(({ kind, end }) => [kind, end.tries]), Array(4).fill(["done", 1]));
}, longTest);

natsTest("a cancelled campaign ends its parts, and its tasks are acknowledged", async () => {
  await using server = await startNats();
  await using broker = await connect(server.url);
  await submit(broker, { targets: [RANGE], options: { "parts": "2", "rate": "200" } });
  const worker = startWorker(server.url);
  await using control = await Control.open(broker, fail);
  await whenLeases(broker, inState("held", 2));
  await control.setState("lab", "cancelled");
  await whenLeases(broker, inState("cancelled", 2));
  await worker.stop();
  const last = worker.lines.all.filter((line) =>
    /stopped at \d+ % \(campaign cancelled\)$/.test(line)
  );
  assertEquals(last.length, 2, worker.lines.all.join("\n"));
  const { ends } = await readResults(broker);
  assertEquals(ends.map(({ kind }) => kind), ["cancelled", "cancelled"]);
  assertEquals(await tasksLeft(broker), 0);
});

natsTest("a worker that ends in good order gives its parts back without a try", async () => {
  await using server = await startNats();
  await using broker = await connect(server.url);
  await using fleet = await startFleet({ ...FLEET, range: "127.50.0.0/22" });
  await submit(broker, {
    targets: ["127.50.0.0/22"],
    options: { "parts": "1", "rate": "400", "ack-wait": "60s" },
  });
  const first = startWorker(server.url);
  await whenLeases(broker, inState("held", 1));
  await first.lines.when("begins");
  await first.stop();
  const leases = await whenLeases(broker, inState("released", 1));
  assertEquals([leases.get(KEY)?.tries, leases.get(KEY)?.why], [0, undefined]);
  const second = startWorker(server.url); // it does not wait for a minute
  await whenLeases(broker, inState("done", 1));
  await second.stop();
  assertEquals(hostsOf((await readResults(broker)).rows), hostsOf(fleet.servers));
});

natsTest("a part that fails is tried five times, and then poisoned with the reason", async () => {
  await using server = await startNats();
  await using broker = await connect(server.url);
  await submit(broker, { targets: ["127.50.0.0/24"], options: { "parts": "1" } });
  const leases = await broker.bucket(LEASE_BUCKET);
  const value = { ...UNTAKEN, worker: "other", at: 0, tries: 3 };
  await leases.create(KEY, formatLeaseValue(value));
  const network = testNetwork(() => {
    throw new Error("there is no route");
  });
  const worker = startWorker(server.url, { network });
  const why = "there is no route";
  const seen = new Map<number, string | undefined>();
  await whenLeases(broker, (all) => {
    const { state, tries, why } = all.get(KEY)!;
    if (state === "released") seen.set(tries, why);
    return state === "poisoned";
  });
  await worker.stop();
  assertEquals([...seen].filter(([tries]) => tries > 3), [[4, why], [5, why]]);
  const { ends: [{ kind, end }] } = await readResults(broker);
  assertEquals([kind, end.why, end.tries], ["poisoned", why, 5]);
  assertEquals(await tasksLeft(broker), 0);
}, longTest);

natsTest("what a worker lacks does not count as a try of the part", async () => {
  await using server = await startNats();
  await using broker = await connect(server.url);
  await submit(broker, { targets: ["127.50.0.0/24"], options: { "parts": "1" } });
  const leases = await broker.bucket(LEASE_BUCKET);
  await leases.create(KEY, formatLeaseValue({ ...UNTAKEN, worker: "other", at: 0, tries: 4 }));
  const usual = testNetwork();
  let failures = 0;
  const network: typeof usual = {
    ...usual,
    openSocket(local, gate) {
      // The check before the first part has no gate.
      if (gate !== undefined && failures++ < 2) throw new Error("the address is not available");
      return usual.openSocket(local, gate);
    },
  };
  const worker = startWorker(server.url, { network });
  const seen = new Set<string>();
  await whenLeases(broker, (all) => {
    const { state, tries, why } = all.get(KEY)!;
    if (why !== undefined) seen.add(`${state} ${tries} ${why}`);
    return state === "done";
  });
  await worker.stop();
  const why = "Cannot open a socket: the address is not available";
  assert(seen.has(`released 4 ${why}`), [...seen].join());
  assertEquals(worker.lines.all.filter((line) => line.endsWith(`failed: ${why}`)).length, 2);
  const { ends: [{ kind, end }] } = await readResults(broker);
  assertEquals([kind, end.tries], ["done", 5]);
}, longTest);

natsTest("a worker whose part another has taken sends and publishes nothing more", async () => {
  await using server = await startNats();
  await using broker = await connect(server.url);
  await using listener = new Listener();
  await submit(broker, {
    targets: ["127.50.0.0/22"],
    options: { "parts": "1", "rate": "200", ports: String(listener.port) },
  });
  const worker = startWorker(server.url);
  await listener.received(100);
  const leases = await broker.bucket(LEASE_BUCKET);
  const taken = await leases.get(KEY);
  await leases.put(KEY, taken!.string()); // another worker takes the part
  await worker.lines.when("another worker has taken it");
  const { length } = listener.senders;
  await worker.stop();
  assertEquals(listener.senders.length, length);
  assert(length < 1024);
  assertEquals((await readResults(broker)).ends, []);
  assertEquals((await leases.get(KEY))?.string(), taken?.string());
  assertEquals(await tasksLeft(broker), 1);
});

natsTest("a part that was queued twice is not taken from the worker that scans it", async () => {
  await using server = await startNats();
  await using broker = await connect(server.url);
  await using fleet = await startFleet({ ...FLEET, range: "127.50.0.0/22" });
  const spec = await submit(broker, {
    targets: ["127.50.0.0/22"],
    options: { "parts": "1", "rate": "300", "ack-wait": "60s" }, // much longer than the test
  });
  await broker.jsm.consumers.update(TASKS, taskConsumer("lab"), { max_ack_pending: 2 });
  await broker.js.publish(taskSubject("lab"), JSON.stringify({ form: 1, spec, part: 1, try: 2 }));
  const workers = [startWorker(server.url), startWorker(server.url)];
  await whenLeases(broker, inState("done", 1));
  await Promise.all(workers.map(({ stop }) => stop()));
  const { rows, ends } = await readResults(broker);
  assertEquals([rows.length, hostsOf(rows)], [60, hostsOf(fleet.servers)]);
  assertEquals(ends.map(({ kind, end }) => [kind, end.tries]), [["done", 1]]);
}, longTest);

natsTest("the part of a worker that is gone is taken when its lease is old", async () => {
  await using server = await startNats();
  await using broker = await connect(server.url);
  await submit(broker, { targets: ["127.50.0.0/24"], options: { "parts": "1" } });
  const leases = await broker.bucket(LEASE_BUCKET);
  const gone: LeaseValue = { ...UNTAKEN, state: "held", worker: "gone", at: 0, tries: 1 };
  await leases.create(KEY, formatLeaseValue(gone));
  const worker = startWorker(server.url);
  const taken = await whenLeases(broker, (all) => all.get(KEY)?.worker !== "gone");
  const { tries, why } = taken.get(KEY)!;
  assertEquals([tries, why], [2, "worker gone stopped without giving the part back"]);
  await whenLeases(broker, inState("done", 1));
  await worker.stop();
}, longTest);

natsTest("a marker in a reply opts its address out of all campaigns", async () => {
  await using server = await startNats();
  await using broker = await connect(server.url);
  await using fleet = await startFleet({ ...FLEET, servers: 8, software: ["bdsOptedOut"] });
  await submit(broker, { targets: [RANGE], options: { "parts": "2" } });
  const worker = startWorker(server.url);
  await whenLeases(broker, inState("done", 2));
  await worker.stop();
  await using control = await Control.open(broker, fail);
  assertEquals(
    Array.from(control.optOuts().keys(), formatAddress).sort(),
    fleet.servers.map(({ host }) => host).sort(),
  );
  assertEquals((await readResults(broker)).rows, []);
});

natsTest("an opt-out reaches the parts that run", async () => {
  await using server = await startNats();
  await using broker = await connect(server.url);
  await using listener = new Listener();
  const options = { ports: String(listener.port) };
  await submit(broker, { targets: [RANGE], options: { "parts": "2", "rate": "200", ...options } });
  const worker = startWorker(server.url);
  await listener.received(50);
  await using control = await Control.open(broker, fail);
  const addresses = Array.from({ length: 512 }, (_, i) => 0x7f320000 + 4 * i);
  await Promise.all(addresses.map((address) => control.addOptOut(address, "test")));
  await whenLeases(broker, inState("done", 2));
  await worker.stop();
  const { length } = listener.senders;
  assert(length < 2048 - 300, `${length} datagrams`);
  const { ends } = await readResults(broker);
  assertEquals(ends.map(({ kind, end }) => [kind, end.counters.position]), [
    ["done", 1024],
    ["done", 1024],
  ]);
}, longTest);

natsTest("an opt-out that was removed and is added again reaches the parts that run", async () => {
  await using server = await startNats();
  await using broker = await connect(server.url);
  await using listener = new Listener();
  const options = { ports: String(listener.port) };
  await submit(broker, { targets: [RANGE], options: { "parts": "2", "rate": "200", ...options } });
  const addresses = Array.from({ length: 512 }, (_, i) => 0x7f320000 + 4 * i);
  const addAll = async () => {
    await using control = await Control.open(broker, fail);
    await Promise.all(addresses.map((address) => control.addOptOut(address, "test")));
  };
  const setState = async (state: CampaignState) => {
    await using control = await Control.open(broker, fail);
    await control.setState("lab", state);
  };
  await setState("paused");
  await addAll();
  const worker = startWorker(server.url);
  await until(async () => (await readLeases(broker, undefined, fail)).workers.length === 1);
  await broker.jsm.streams.purge("KV_BS_OPT_OUTS");
  await server.stop();
  await server.start(); // the worker reads the bucket again
  await until(() => setState("running").then(() => true, () => false));
  await listener.received(50);
  await addAll();
  await whenLeases(broker, inState("done", 2));
  await worker.stop();
  const { length } = listener.senders;
  assert(length < 2048 - 300, `${length} datagrams`);
}, longTest);

natsTest("a worker with a broken opt-out file does not begin", async () => {
  await using server = await startNats();
  await using broker = await connect(server.url);
  await submit(broker, { targets: [RANGE], options: { "parts": "1" } });
  const file = await Deno.makeTempFile();
  try {
    await Deno.writeTextFile(file, "127.50.0.0/33\n");
    const network = { ...testNetwork(), optOuts: new OptOutFile(file, fail) };
    const worker = startWorker(server.url, { network, options: { "opt-out-file": file } });
    await assertRejects(() => worker.ended, InputError, `${file}:1: `);
  } finally {
    await Deno.remove(file);
  }
});

natsTest(
  "a worker refuses a campaign of another program, and one whose spec was changed",
  async () => {
    await using server = await startNats();
    await using broker = await connect(server.url);
    await submit(broker, {
      targets: [RANGE],
      program: "0.9.0",
      options: { "parts": "1", name: "old" },
    });
    const digest = await submit(broker, {
      targets: [RANGE],
      options: { "parts": "1", name: "edited" },
    });
    await (await broker.objects("BS_SPECS")).putBlob(
      { name: `edited.${digest}` },
      new Uint8Array([1]),
    );
    const worker = startWorker(server.url);
    await worker.lines.when("campaign old is left to other workers: ");
    await worker.lines.when("campaign edited is left to other workers: ");
    await worker.stop();
    const [edited, old] = worker.lines.all.toSorted();
    assert(old.includes(`program is 0.9.0, and this is ${project.version}`), old);
    assert(edited.includes("its specification was changed"), edited);
    assertEquals(await tasksLeft(broker), 2);
  },
);

natsTest(
  "while the results are full, a worker waits, and its lease contains the reason",
  async () => {
    await using server = await startNats();
    await using broker = await connect(server.url);
    await using fleet = await startFleet(FLEET);
    await submit(broker, { targets: [RANGE], options: { "parts": "2" } });
    await broker.jsm.streams.update(RESULTS, { max_bytes: 4000 });
    const worker = startWorker(server.url);
    await whenLeases(
      broker,
      (leases) => [...leases.values()].some(({ why }) => why?.includes("bytes")),
    );
    await broker.jsm.streams.update(RESULTS, { max_bytes: 2 ** 24 });
    const leases = await whenLeases(broker, inState("done", 2));
    await worker.stop();
    const about = worker.lines.all.filter((line) => line.includes("results in NATS"));
    assertEquals(about, [
      "blocksweep: results in NATS are full: waiting for a collector",
      "blocksweep: results in NATS have space again",
    ]);
    assertEquals(
      [...leases.values()].map(({ why }) => why),
      [undefined, undefined],
    );
    const { rows } = await readResults(broker);
    assertEquals([rows.length, hostsOf(rows)], [60, hostsOf(fleet.servers)]);
  },
);

natsTest(
  "a worker that is stopped while the results are full ends, and finds the rows again",
  async () => {
    await using server = await startNats();
    await using broker = await connect(server.url);
    await using fleet = await startFleet({ ...FLEET, range: "127.50.0.0/24" });
    await submit(broker, { targets: ["127.50.0.0/24"], options: { "parts": "1" } });
    await broker.jsm.streams.update(RESULTS, { max_bytes: 1000 });
    const usual = testNetwork();
    const clock: typeof usual.clock = {
      ...systemClock,
      after: (ms, callback) => systemClock.after(ms === 10_000 ? 100 : ms, callback),
    };
    const worker = startWorker(server.url, { network: { ...usual, clock } });
    await worker.lines.when("results in NATS are full: waiting for a collector");
    await worker.stop(); // without the bound, it would not end
    assert(worker.lines.all.some((line) => line.includes("waits at most 10 s until its rows")));
    assert(worker.lines.all.some((line) => line.includes("will be found again")));
    const lease = (await whenLeases(broker, inState("released", 1))).get(KEY);
    assertEquals(lease?.tries, 0);
    await broker.jsm.streams.update(RESULTS, { max_bytes: 2 ** 24 });
    const second = startWorker(server.url);
    await whenLeases(broker, inState("done", 1));
    await second.stop();
    assertEquals(hostsOf((await readResults(broker)).rows), hostsOf(fleet.servers));
  },
);

natsTest("while NATS is away, workers wait, and lose nothing", async () => {
  await using server = await startNats();
  await using broker = await connect(server.url);
  await using fleet = await startFleet(FLEET);
  await submit(broker, { targets: [RANGE], options: { "parts": "4", "rate": "1000" } });
  const worker = startWorker(server.url);
  await whenLeases(broker, inState("held", 4));
  await server.stop("SIGKILL");
  await worker.lines.when("is not reachable; all parts wait");
  await server.start();
  await worker.lines.when("is reachable again");
  // The first connection of the test may not be back yet.
  await using later = await connect(server.url);
  await whenLeases(later, inState("done", 4));
  await worker.stop();
  assertEquals(hostsOf((await readResults(later)).rows), hostsOf(fleet.servers));
  assertEquals(await tasksLeft(later), 0);
}, longTest);

natsTest("what a worker excludes is not probed, and the end of a part names it", async () => {
  await using server = await startNats();
  await using broker = await connect(server.url);
  await using fleet = await startFleet(FLEET);
  await submit(broker, { targets: [RANGE], options: { "parts": "1" } });
  const worker = startWorker(server.url, { options: { exclude: "127.50.4.0/22" } });
  await whenLeases(broker, inState("done", 1));
  await worker.stop();
  const { rows, ends: [{ end }] } = await readResults(broker);
  const left = fleet.servers.filter(({ host }) => Number(host.split(".")[2]) < 4);
  assertEquals(hostsOf(rows), hostsOf(left));
  assertEquals(end.coverage?.excluded, ["127.50.4.0-127.50.7.255"]);
});

natsTest("a worker does not begin without a campaign, or with a wrong clock", async () => {
  await using server = await startNats();
  await using broker = await connect(server.url);
  await assertRejects(() => startWorker(server.url).ended, InputError, "submit a campaign first");
  await submit(broker, { targets: [RANGE], options: { "parts": "1" } });
  for (const [offset, text] of [[7000, "7 s ahead of"], [-90_000, "90 s behind"]] as const) {
    const clock = { ...systemClock, wall: () => Date.now() + offset };
    const network = { ...testNetwork(), clock };
    await assertRejects(
      () => startWorker(server.url, { network }).ended,
      InputError,
      `Cannot work: the clock of this machine is ${text} that of NATS`,
    );
  }
  await assertRejects(
    () => startWorker(server.url, { slots: 2, options: { engine: "xdp" } }).ended,
    InputError,
    "use --slots 1",
  );
  const host = "192.0.2.1";
  const isGranted = Deno.permissions.querySync({ name: "net", host }).state === "granted";
  await assertRejects(
    () => startWorker(server.url, { options: { "source-ip": host } }).ended,
    isGranted ? InputError : Deno.errors.NotCapable,
    isGranted ? "Cannot open a socket" : host,
  );
});

natsTest("a campaign that has the name of a removed one is scanned", async () => {
  await using server = await startNats();
  await using broker = await connect(server.url);
  await using fleet = await startFleet(FLEET);
  await submit(broker, { targets: ["127.50.0.0/22"], options: { parts: "2" } });
  const worker = startWorker(server.url);
  await whenLeases(broker, inState("done", 2));
  await using control = await Control.open(broker, fail);
  await control.remove("lab");
  await broker.jsm.consumers.delete(TASKS, taskConsumer("lab"));
  await broker.jsm.streams.purge(`KV_${LEASE_BUCKET}`);
  await submit(broker, { targets: ["127.50.4.0/22"], options: { parts: "2" } });
  await whenLeases(broker, inState("done", 2));
  await worker.stop();
  assertEquals(hostsOf((await readResults(broker)).rows), hostsOf(fleet.servers));
});

natsTest("a worker takes parts in turn from all campaigns", async () => {
  await using server = await startNats();
  await using broker = await connect(server.url);
  for (const name of ["one", "two"]) {
    await submit(broker, { targets: [RANGE], options: { name, parts: "4" } });
  }
  const worker = startWorker(server.url, { slots: 2 });
  await whenLeases(broker, inState("done", 8));
  await worker.stop();
  const begun = worker.lines.all.filter((line) => line.endsWith("begins"))
    .map((line) => line.split(":")[0]);
  for (let i = 0; i < 8; i += 2) assertEquals(begun.slice(i, i + 2).sort(), ["one", "two"]);
});
