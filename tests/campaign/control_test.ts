/** Of src/campaign/control.ts and src/campaign/followed_bucket.ts, with real servers of NATS. */
import { assert, assertEquals, assertMatch, assertRejects } from "@std/assert";
import { type CampaignEntry, Control } from "../../src/campaign/control.ts";
import { type Broker, connectBroker } from "../../src/campaign/nats/connection.ts";
import { ensureTopology } from "../../src/campaign/nats/topology.ts";
import { headers, type NatsConnection } from "npm:@nats-io/transport-node@3.4.0";
import { InputError } from "../../src/core/errors.ts";
import { natsTest, startCluster, startNats, until } from "./nats_server.ts";
import { longTest } from "../long.ts";

const ENTRY: CampaignEntry = {
  state: "running",
  spec: "0a".repeat(32),
  program: "0.1.0",
  order: "digest",
  parts: 64,
  submittedAt: 5,
};

async function connect({ url }: { url: string }, replicas = 1): Promise<Broker> {
  const broker = await connectBroker({ nats: url }, "test");
  await ensureTopology(broker, { replicas, resultsLimit: 2 ** 20 });
  return broker;
}

/** A report that has to stay unused. */
function unexpected(line: string): void {
  throw new Error(line);
}

natsTest("the state of a campaign and opt-outs reach other programs", async () => {
  await using server = await startNats();
  await using broker = await connect(server);
  await using other = await connect(server);
  await using control = await Control.open(broker, unexpected);
  assertEquals([control.campaigns().size, control.optOuts().size], [0, 0]);
  await using follower = await Control.open(other, unexpected);
  let changes = 0;
  const stop = follower.onChange(() => changes++);

  assertEquals(await control.add("may", ENTRY), ENTRY);
  await until(() => follower.campaigns().has("may"));
  assertEquals(follower.campaigns().get("may"), ENTRY);
  assertEquals((await follower.add("may", { ...ENTRY, parts: 1 })).parts, 64);
  await control.setState("may", "paused");
  await until(() => follower.campaigns().get("may")?.state === "paused");
  await follower.setState("may", "running");
  await until(() => control.campaigns().get("may")?.state === "running");

  await control.addOptOut(0x0a000001, "test");
  await control.addOptOut(1n, "test");
  await until(() => follower.optOuts().size === 2);
  assertEquals([...follower.optOuts().keys()], [0x0a000001, 1n]);
  stop();
  const before = changes;
  await control.remove("may");
  await until(() => follower.campaigns().size === 0 && control.campaigns().size === 0);
  assertEquals(changes, before);

  await using late = await Control.open(other, unexpected);
  assertEquals(await late.whenCurrent(), true);
  assertEquals([late.campaigns().size, [...late.optOuts().keys()]], [0, [0x0a000001, 1n]]);
});

natsTest("a cancelled campaign stays cancelled, and an unknown one is refused", async () => {
  await using server = await startNats();
  await using broker = await connect(server);
  await using control = await Control.open(broker, unexpected);
  const refused = (work: Promise<void>, message: string) =>
    assertRejects(() => work, InputError, message);
  await refused(control.setState("may", "paused"), 'There is no campaign "may"');
  await control.add("may", ENTRY);
  await Promise.all([control.setState("may", "paused"), control.setState("may", "cancelled")]
    .map((work) => work.catch((error) => assert(error instanceof InputError))));
  await control.setState("may", "cancelled");
  await refused(control.setState("may", "running"), 'Campaign "may" is cancelled');
  await control.remove("may");
  await refused(control.setState("may", "paused"), 'There is no campaign "may"');
});

natsTest("invalid entries are skipped, and reported in one line each", async () => {
  await using server = await startNats();
  await using broker = await connect(server);
  const bucket = await broker.bucket("BS_CONTROL");
  const wrong: [string, string][] = [
    ["campaign.may", "not JSON\nat all"],
    ["campaign.june", JSON.stringify({ ...ENTRY, state: "\n\u001b[2J" })],
    ["campaign.july", JSON.stringify({ ...ENTRY, more: 1 })],
    ["campaign.MAY", JSON.stringify(ENTRY)],
    ["campaign.a.b", JSON.stringify(ENTRY)],
    ["other", "{}"],
  ];
  for (const [key, value] of wrong) await bucket.put(key, value);
  const optOuts = await broker.bucket("BS_OPT_OUTS");
  const optedOut = JSON.stringify({ at: 5, by: "test" });
  const response = { type: "io.nats.jetstream.api.v1.stream_info_response", at: 5, by: "test" };
  const wrongOptOuts: [string, string][] = [
    ["0a0000", optedOut],
    ["0A000001", optedOut],
    ["optout.0a000001", optedOut],
    ["0a000003", "whatever"],
    ["0a000004", ""],
    ["0a000005", JSON.stringify({ at: 5, by: "\u009b2J" })],
    ["0a000006", JSON.stringify(response)],
  ];
  for (const [key, value] of wrongOptOuts) await optOuts.put(key, value);
  await optOuts.put("0a000002", optedOut);
  await bucket.put("campaign.right", JSON.stringify(ENTRY));
  const lines: string[] = [];
  await using control = await Control.open(broker, (line) => lines.push(line));
  assertEquals([...control.campaigns().keys()], ["right"]);
  assertEquals([...control.optOuts()], [[0x0a000002, { at: 5, by: "test" }]]);
  assertEquals(lines.length, wrong.length + wrongOptOuts.length);
  // deno-lint-ignore no-control-regex -- these may not reach a terminal
  for (const line of lines) assert(!/[\x00-\x1f]/.test(line), line);
  for (const [i, [key]] of wrong.entries()) {
    assertMatch(lines[i], new RegExp(`^the key "${key}" of BS_CONTROL is skipped: .`));
  }
  for (const [i, [key]] of wrongOptOuts.entries()) {
    const line = lines[wrong.length + i];
    assertMatch(line, new RegExp(`^the key "${key}" of BS_OPT_OUTS is skipped: .`));
  }
  // An entry that becomes invalid is no campaign any more.
  await bucket.put("campaign.right", "{}");
  await until(() => control.campaigns().size === 0);
});

natsTest(
  "an opt-out stays as it was added first, and takes the place of another value",
  async () => {
    await using server = await startNats();
    await using broker = await connect(server);
    await using control = await Control.open(broker, () => {});
    const bucket = await broker.bucket("BS_OPT_OUTS");
    await control.addOptOut(0x0a000001, "first");
    await control.addOptOut(0x0a000001, "second");
    await assertRejects(() => bucket.put("0a000001", ""), Error, "maximum messages per subject");
    await assertRejects(() => bucket.delete("0a000001"), Error, "maximum messages per subject");
    await bucket.put("0a000002", "whatever");
    await control.addOptOut(0x0a000002, "third");
    await until(() => control.optOuts().size === 2);
    await using late = await Control.open(broker, unexpected);
    assertEquals([...late.optOuts()].map(([address, { by }]) => [address, by]), [
      [0x0a000001, "first"],
      [0x0a000002, "third"],
    ]);
  },
);

natsTest("no header of one key's writer erases the others", async () => {
  await using server = await startNats();
  await using broker = await connect(server);
  await using control = await Control.open(broker, unexpected);
  await control.add("may", ENTRY);
  await control.addOptOut(0x0a000001, "test");
  const connection = broker.connection as unknown as NatsConnection;
  for (const subject of ["BS_CONTROL.x", "BS_OPT_OUTS.0a000002", "BS_LEASES.worker.w1"]) {
    for (const scope of ["all", "sub"]) {
      const all = headers();
      all.set("Nats-Rollup", scope);
      const reply = await connection.request(`$KV.${subject}`, "x", {
        timeout: 5000,
        headers: all,
      });
      assertEquals(reply.json<{ error?: object }>().error, {
        ...{ code: 500, err_code: 10111, description: "rollup not permitted" },
      });
    }
  }
  await using late = await Control.open(broker, unexpected);
  assertEquals([late.campaigns().size, late.optOuts().size], [1, 1]);
});

natsTest("without its bucket, the control is refused", async () => {
  await using server = await startNats();
  await using broker = await connectBroker({ nats: server.url }, "test");
  await assertRejects(
    async () => {
      await using _ = await Control.open(broker, unexpected);
    },
    InputError,
    `Cannot use NATS at "${server.url}": stream not found`,
  );
});

natsTest("changes arrive after the server was killed and started again", async () => {
  await using server = await startNats();
  await using broker = await connect(server);
  await using control = await Control.open(broker, unexpected);
  await control.add("may", ENTRY);
  assertEquals([await control.whenCurrent(), control.campaigns().has("may")], [true, true]);
  let disconnects = 0;
  control.onDisconnect(() => disconnects++);
  for (let i = 1; i <= 2; i++) {
    await server.stop("SIGKILL");
    assertEquals(control.campaigns().size, 1);
    await server.start();
    await using writer = await connect(server);
    const bucket = await writer.bucket("BS_OPT_OUTS");
    await bucket.put(`0a00000${i}`, JSON.stringify({ at: 5, by: "test" }));
    assertEquals([await control.whenCurrent(), control.optOuts().size], [true, i]);
  }
  assert(disconnects >= 2);
  assertEquals(control.campaigns().get("may"), ENTRY);
}, longTest);

natsTest("changes arrive after the leader of the bucket was killed", async () => {
  await using cluster = await startCluster();
  await using setUp = await connect(cluster[0], 3);
  const { cluster: raft } = await setUp.jsm.streams.info("KV_BS_OPT_OUTS");
  const leader = cluster.find(({ name }) => name === raft!.leader)!;
  const [survivor] = cluster.filter((server) => server !== leader);
  await using broker = await connectBroker({ nats: survivor.url }, "test");
  await using control = await Control.open(broker, unexpected);
  await leader.stop("SIGKILL");
  await until(() => control.addOptOut(7, "test").then(() => true, () => false));
  await until(() => control.optOuts().has(7));
}, longTest);
