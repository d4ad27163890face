/** Tasks and leases that no program wrote, on a real NATS server: src/campaign/worker/campaign_job.ts. */
import { assert, assertEquals } from "@std/assert";
import { formatLeaseValue, UNTAKEN } from "../../../src/campaign/lease_value.ts";
import { LEASE_BUCKET, leaseKey, TASKS, taskSubject } from "../../../src/campaign/names.ts";
import type { Broker } from "../../../src/campaign/nats/connection.ts";
import { natsTest, startNats, until } from "../nats_server.ts";
import { connect, inState, readResults, startWorker, submit, whenLeases } from "./campaign.ts";

const RANGE = "127.54.0.0/24";
const KEY = leaseKey("lab", 1);

/** Number of tasks that are left. */
async function tasksLeft({ jsm }: Broker): Promise<number> {
  return (await jsm.streams.info(TASKS)).state.messages;
}

natsTest("tasks that cannot be used are removed, and their campaign is scanned", async () => {
  await using server = await startNats();
  await using broker = await connect(server.url);
  const wrong = [
    "not JSON",
    '{"form":0}',
    '{"form":1,"x":1}',
    JSON.stringify({ form: 1, spec: "0a".repeat(32), part: 1, try: 1 }),
  ];
  const options = { parts: "1" };
  const spec = await submit(broker, { targets: [RANGE], options });
  wrong.push(JSON.stringify({ form: 1, spec, part: 2, try: 1 }));
  for (const text of wrong) await broker.js.publish(taskSubject("lab"), text);
  const worker = startWorker(server.url, { slots: 1 });
  await until(async () => await tasksLeft(broker) === 0);
  await worker.stop();
  const removed = worker.lines.all.filter((line) =>
    line.includes("a task of campaign lab is removed")
  );
  assertEquals(removed.length, wrong.length);
  assert(removed.some((line) => line.endsWith("there is no part 2")));
  const { ends } = await readResults(broker);
  assertEquals(ends.map(({ part, kind }) => [part, kind]), [[1, "done"]]);
});

natsTest("a task of a newer program stays for other workers", async () => {
  await using server = await startNats();
  await using broker = await connect(server.url);
  await submit(broker, { targets: [RANGE], options: { parts: "1" } });
  await broker.jsm.streams.purge(TASKS);
  await broker.js.publish(taskSubject("lab"), '{"form":2,"x":1}');
  const worker = startWorker(server.url);
  await worker.lines.when(
    "campaign lab is left to other workers: its tasks are of a newer program",
  );
  await worker.stop();
  assertEquals(await tasksLeft(broker), 1);
});

natsTest("a held lease from the future does not hold up its part", async () => {
  await using server = await startNats();
  await using broker = await connect(server.url);
  await submit(broker, { targets: [RANGE], options: { parts: "1" } });
  const leases = await broker.bucket(LEASE_BUCKET);
  const value = { ...UNTAKEN, state: "held", worker: "other", at: Date.now() + 1e9 } as const;
  await leases.create(KEY, formatLeaseValue(value));
  const worker = startWorker(server.url);
  await whenLeases(broker, inState("done", 1));
  await worker.stop();
  assertEquals((await readResults(broker)).ends.map(({ kind }) => kind), ["done"]);
});
