/** Covers src/campaign/collector/purge_results.ts. */
import { assertEquals } from "@std/assert";
import { ResultPurger, type ResultStreams } from "../../../src/campaign/collector/purge_results.ts";
import { RESULTS } from "../../../src/campaign/names.ts";
import { connectBroker } from "../../../src/campaign/nats/connection.ts";
import { ensureResultConsumer, ensureTopology } from "../../../src/campaign/nats/topology.ts";
import { systemClock } from "../../../src/net/clock.ts";
import type { ConsumerInfo, StreamInfo } from "../../../src/campaign/nats/client_types.ts";
import { ManualClock } from "../../fakes/manual_clock.ts";
import { natsTest, startNats, until } from "../nats_server.ts";

/** Removes results as if the stream were more than half full. */
function purgeResults({ jsm: { consumers, streams } }: ResultStreams): Promise<number> {
  const info: typeof streams.info = async (...asked) => {
    const stream = await streams.info(...asked);
    return { ...stream, config: { ...stream.config, max_bytes: -1 } };
  };
  const full = { jsm: { consumers, streams: { info, purge: streams.purge.bind(streams) } } };
  return new ResultPurger(full, systemClock).purge();
}

natsTest(
  "only results that the collectors of all databases have acknowledged are removed",
  async () => {
    await using server = await startNats();
    await using broker = await connectBroker({ nats: server.url }, "test");
    await ensureTopology(broker, { replicas: 1, resultsLimit: 2 ** 24 });
    const publish = async () => void await broker.js.publish("bs.results.lab.1.rows", "x");
    const waiting = async () => (await broker.jsm.streams.info(RESULTS)).state.messages;
    assertEquals(await purgeResults(broker), 0); // nobody collects
    for (const name of ["a", "b"]) await ensureResultConsumer(broker, name);
    const { streams, consumers } = broker.jsm;
    let asked = 0;
    const info = async (name: string) => {
      const empty = await streams.info(name);
      if (++asked === 2) await publish(); // the first result arrives after the stream was found empty
      return empty;
    };
    const purge = (name: string, options?: { seq: number }) => streams.purge(name, options);
    const racing = { jsm: { consumers, streams: { info, purge } } };
    assertEquals([await purgeResults(racing), await waiting()], [0, 1]);
    await publish();
    await publish();
    const acknowledge = async (name: string, count: number) => {
      const consumer = await broker.js.consumers.get(RESULTS, `collect-${name}`);
      for (let i = 0; i < count; i++) await (await consumer.next({ expires: 1000 }))!.ackAck();
    };
    await acknowledge("a", 3);
    assertEquals([await purgeResults(broker), await waiting()], [0, 3]);
    await acknowledge("b", 2);
    assertEquals([await purgeResults(broker), await waiting()], [2, 1]);
    await acknowledge("b", 1);
    assertEquals([await purgeResults(broker), await waiting()], [1, 0]);
    await publish();
    assertEquals([await purgeResults(broker), await waiting()], [0, 1]);
    await until(async () =>
      (await broker.jsm.consumers.info(RESULTS, "collect-a")).num_pending === 1
    );
  },
);

natsTest("results stay until the stream is more than half full", async () => {
  await using server = await startNats();
  await using broker = await connectBroker({ nats: server.url }, "test");
  await ensureTopology(broker, { replicas: 1, resultsLimit: 4096 });
  await ensureResultConsumer(broker, "a");
  const purger = new ResultPurger(broker, systemClock);
  const consumer = await broker.js.consumers.get(RESULTS, "collect-a");
  for (const expected of [0, 0, 3]) {
    await broker.js.publish("bs.results.lab.1.rows", "x".repeat(900));
    await (await consumer.next({ expires: 1000 }))!.ackAck();
    assertEquals(await purger.purge(), expected);
  }
});

Deno.test("a cluster keeps results for a minute in which it lists the same collectors", async () => {
  const clock = new ManualClock();
  let listed = ["a", "b"];
  let floor = 5;
  const purged: (number | undefined)[] = [];
  const purger = new ResultPurger({
    jsm: {
      consumers: {
        list: async function* () {
          for (const name of listed) {
            yield {
              name,
              config: {},
              ack_floor: { stream_seq: floor },
              num_redelivered: 0,
            } as unknown as ConsumerInfo;
          }
        } as ResultStreams["jsm"]["consumers"]["list"],
      },
      streams: {
        info: () =>
          Promise.resolve(
            {
              state: { first_seq: 1, bytes: 51 },
              config: { max_bytes: 100 },
              cluster: { leader: "n1" },
            } as unknown as StreamInfo,
          ),
        purge: (_, options) => {
          purged.push(options !== undefined && "seq" in options ? options.seq : undefined);
          return Promise.resolve({ purged: 1 });
        },
      },
    },
  }, clock);
  const after = async (ms: number) => {
    clock.move(ms);
    await purger.purge();
  };
  await after(0);
  floor = 9;
  await after(59_000);
  assertEquals(purged, []);
  await after(1000);
  assertEquals(purged, [6]); // what was acknowledged a minute ago
  listed = ["a"]; // the leader of b is being chosen
  await after(30_000);
  listed = ["a", "b"];
  await after(30_000);
  await after(59_000);
  assertEquals(purged, [6]);
  await after(1000);
  assertEquals(purged, [6, 10]);
});
