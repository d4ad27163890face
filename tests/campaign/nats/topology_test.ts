/** Of src/campaign/nats/topology.ts and src/campaign/nats/errors.ts. */
import { assertEquals, assertRejects } from "@std/assert";
import { type Broker, connectBroker } from "../../../src/campaign/nats/connection.ts";
import {
  checkTopology,
  ensureResultConsumer,
  ensureTaskConsumer,
  ensureTopology,
} from "../../../src/campaign/nats/topology.ts";
import { InputError } from "../../../src/core/errors.ts";
import { natsTest, startCluster, startNats } from "../nats_server.ts";
import { longTest } from "../../long.ts";

const OPTIONS = { replicas: 1, resultsLimit: 2 ** 20 };

/** The message of a refusal, without its start. */
async function refusal(broker: Broker, work: Promise<unknown>): Promise<string> {
  const { message } = await assertRejects(() => work, InputError);
  return message.replace(`Cannot use NATS at "${broker.urls}": `, "");
}

async function connect({ url }: { url: string }): Promise<Broker> {
  return await connectBroker({ nats: url }, "test");
}

natsTest("a submitter creates streams and buckets, and others find them", async () => {
  await using server = await startNats();
  await using broker = await connect(server);
  assertEquals(
    await refusal(broker, checkTopology(broker)),
    `There are no campaigns on NATS at "${server.url}": submit a campaign first`,
  );
  await ensureTopology(broker, OPTIONS);
  await ensureTopology(broker, { ...OPTIONS, resultsLimit: 2 ** 21 });
  await checkTopology(broker);
  const { config } = await broker.jsm.streams.info("BS_RESULTS");
  assertEquals([config.max_bytes, config.discard, config.num_replicas], [2 ** 20, "new", 1]);
  const tasks = await broker.jsm.streams.info("BS_TASKS");
  assertEquals([tasks.config.retention, tasks.config.duplicate_window], ["workqueue", 86_400e9]);
  const leases = await broker.jsm.streams.info("KV_BS_LEASES");
  assertEquals(leases.config.max_age, 30 * 86_400e9);
  const sizes = [["KV_BS_CONTROL", 8], ["KV_BS_OPT_OUTS", 32], ["KV_BS_LEASES", 128], [
    "OBJ_BS_SPECS",
    256,
  ]] as const;
  for (const [name, mebibytes] of sizes) {
    const { config } = await broker.jsm.streams.info(name);
    assertEquals(config.max_bytes, mebibytes * 2 ** 20, name);
  }

  const control = await broker.bucket("BS_CONTROL");
  const revision = await control.create("a", "1");
  await control.update("a", "2", revision);
  assertEquals((await control.get("a"))?.string(), "2");
  const specs = await broker.objects("BS_SPECS");
  await specs.putBlob({ name: "may" }, new Uint8Array(300_000).fill(7));
  assertEquals((await specs.getBlob("may"))?.length, 300_000);
});

natsTest("two submitters at the same time create the same streams", async () => {
  await using server = await startNats();
  await using one = await connect(server);
  await using other = await connect(server);
  await Promise.all([
    ensureTopology(one, OPTIONS),
    ensureTopology(other, { ...OPTIONS, resultsLimit: 2 ** 22 }),
  ]);
  await checkTopology(one);
});

natsTest("consumers of tasks hold back more than the maximum, and are updated", async () => {
  await using server = await startNats();
  await using broker = await connect(server);
  await ensureTopology(broker, OPTIONS);
  await ensureTaskConsumer(broker, "may", { ackWaitMs: 30_000, maxRunning: 2 });
  await ensureTaskConsumer(broker, "may", { ackWaitMs: 2000, maxRunning: 2 });
  for (const part of [1, 2, 3]) await broker.js.publish("bs.tasks.may", `${part}`);
  await broker.js.publish("bs.tasks.june", "1");
  const consumer = await broker.js.consumers.get("BS_TASKS", "work-may");
  const taken = await consumer.fetch({ max_messages: 10, expires: 1000 });
  const parts = [];
  for await (const task of taken) parts.push(task.string());
  assertEquals(parts, ["1", "2"]);
  const { config } = await broker.jsm.consumers.info("BS_TASKS", "work-may");
  assertEquals([config.ack_wait, config.max_ack_pending, config.max_deliver], [2e9, 2, -1]);
  await ensureResultConsumer(broker, "0a1b");
  assertEquals((await broker.jsm.consumers.info("BS_RESULTS", "collect-0a1b")).num_pending, 0);
});

natsTest("streams and buckets of somebody else are refused with their names", async () => {
  await using server = await startNats();
  await using broker = await connect(server);
  const refused = async (name: string, reason: string) => {
    const text = `the stream ${name} is not one of blocksweep: ${reason}`;
    assertEquals(await refusal(broker, ensureTopology(broker, OPTIONS)), text);
    await broker.jsm.streams.delete(name);
  };
  await broker.jsm.streams.add({ name: "BS_TASKS", subjects: ["other", "jobs"] });
  await refused("BS_TASKS", 'its subjects is "other,jobs", and must be "bs.tasks.>"');
  await broker.jsm.streams.add({ name: "BS_TASKS", subjects: ["bs.tasks.>"] });
  await refused("BS_TASKS", 'its retention is "limits", and must be "workqueue"');
  await broker.jsm.streams.add({ name: "BS_RESULTS", subjects: ["bs.results.>"] });
  await refused("BS_RESULTS", 'its discard is "old", and must be "new"');
  await broker.jsm.streams.add({ name: "KV_BS_CONTROL", subjects: ["$KV.BS_CONTROL.>"] });
  await refused("KV_BS_CONTROL", 'its discard is "old", and must be "new"');
  await broker.jsm.streams.add({
    ...{ name: "KV_BS_OPT_OUTS", subjects: ["$KV.BS_OPT_OUTS.>"], discard: "new" },
    ...{ max_msgs_per_subject: 1, allow_rollup_hdrs: true },
  });
  await refused("KV_BS_OPT_OUTS", 'its allow_rollup_hdrs is "true", and must be "false"');
  await ensureTopology(broker, OPTIONS);
  await broker.jsm.streams.delete("KV_BS_LEASES");
  await broker.jsm.streams.add({ name: "KV_BS_LEASES", subjects: ["x"] });
  assertEquals(
    await refusal(broker, checkTopology(broker)),
    'the stream KV_BS_LEASES is not one of blocksweep: its subjects is "x", and must be "$KV.BS_LEASES.>"',
  );
  await broker.jsm.streams.delete("BS_RESULTS");
  await broker.jsm.streams.add({ name: "OTHER", subjects: ["bs.results.may.>"] });
  assertEquals(
    await refusal(broker, ensureTopology(broker, OPTIONS)),
    "subjects overlap with an existing stream",
  );
});

natsTest("too few servers and too little storage are refused", async () => {
  await using server = await startNats();
  await using broker = await connect(server);
  assertEquals(
    await refusal(broker, ensureTopology(broker, { ...OPTIONS, replicas: 3 })),
    "--replicas 3 needs a cluster of three servers with JetStream",
  );
  assertEquals(
    await refusal(broker, ensureTopology(broker, { ...OPTIONS, resultsLimit: 2 ** 50 })),
    "its storage for JetStream is too small for --results-limit and 424 MiB of buckets",
  );
});

natsTest("a cluster stores each message on three servers, within its storage", async () => {
  await using cluster = await startCluster();
  await using broker = await connect(cluster[0]);
  assertEquals(
    await refusal(broker, ensureTopology(broker, { replicas: 3, resultsLimit: 2 ** 50 })),
    "its storage for JetStream is too small for --results-limit and 424 MiB of buckets",
  );
  await ensureTopology(broker, { replicas: 3, resultsLimit: 2 ** 20 });
  const { config, cluster: raft } = await broker.jsm.streams.info("BS_TASKS");
  assertEquals([config.num_replicas, raft?.leader === undefined], [3, false]);
}, longTest);

natsTest("a request that the user may not send is refused with its subject", async () => {
  await using server = await startNats({
    config: `authorization { users: [
      { user: a, password: b, permissions: { publish: ["$JS.API.INFO", "$JS.API.STREAM.INFO.>"] } }
    ] }`,
  });
  await using broker = await connect({ url: server.url.replace("//", "//a:b@") });
  assertEquals(
    await refusal(broker, ensureTopology(broker, OPTIONS)),
    'the user has no permission to publish to "$JS.API.STREAM.CREATE.BS_TASKS"',
  );
});
