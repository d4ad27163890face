/** Covers src/cli/commands/campaign/collect.ts. */
import { assertEquals, assertStringIncludes } from "@std/assert";
import { connectBroker } from "../../../../src/campaign/nats/connection.ts";
import { ensureTopology } from "../../../../src/campaign/nats/topology.ts";
import { natsTest, startNats } from "../../../campaign/nats_server.ts";
import { PrintedText, start } from "../../program.ts";
import { runHere } from "../../run_here.ts";

natsTest("campaign collect runs until Ctrl-C, and with --once until no results wait", async () => {
  await using server = await startNats();
  await using broker = await connectBroker({ nats: server.url }, "test");
  const folder = await Deno.makeTempDir();
  await using _removed = {
    [Symbol.asyncDispose]: () => Deno.remove(folder, { recursive: true }),
  };
  const files = ["-o", `${folder}/a.db`, "--opt-out-file", `${folder}/out.txt`];
  const words = ["campaign", "collect", ...files, "--nats", server.url];
  const early = await runHere(words);
  assertEquals(early.code, 2);
  assertStringIncludes(early.stderr, "submit a campaign first");
  await ensureTopology(broker, { replicas: 1, resultsLimit: 2 ** 24 });
  const none = await runHere([...words.slice(0, 2), "lab", ...words.slice(2)]);
  assertEquals(none.code, 2);
  assertStringIncludes(none.stderr, "there is no campaign with this name");
  assertEquals((await runHere([...words, "--once"])).code, 0);
  const running = start(words);
  const printed = new PrintedText(running);
  await printed.until("collects results");
  running.kill("SIGINT");
  assertEquals((await running.status).code, 130);
  await printed.rest();
  await running.stdout.cancel();
});
