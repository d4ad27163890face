/** Covers src/campaign/collector/purge_results.ts. */
import { assertEquals } from "@std/assert";
import { purgeResults } from "../../../src/campaign/collector/purge_results.ts";
import { RESULTS } from "../../../src/campaign/names.ts";
import { connectBroker } from "../../../src/campaign/nats/connection.ts";
import { ensureResultConsumer, ensureTopology } from "../../../src/campaign/nats/topology.ts";
import { natsTest, startNats, until } from "../nats_server.ts";

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
    const info = async (name: string) => {
      const empty = await streams.info(name);
      await publish(); // the first result arrives after the stream was found empty
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
    const list = async function* (stream: string) {
      for await (const one of consumers.list(stream)) if (one.ack_floor.stream_seq > 1) yield one;
    };
    const electing = { jsm: { streams, consumers: { list } } };
    assertEquals([await purgeResults(electing), await waiting()], [0, 3]); // b is omitted
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
