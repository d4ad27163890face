/** Covers src/app/metrics/watch_metrics_settings.ts and src/app/metrics/probe/probe_access.ts. */
import { assert, assertEquals, assertRejects } from "@std/assert";
import {
  type WatchMetricsOptions,
  watchMetricsSettings,
} from "../../../src/app/metrics/watch_metrics_settings.ts";
import { parseMetrics } from "../../../src/app/settings/metrics_address.ts";
import { InputError } from "../../../src/core/errors.ts";

const NOTHING: WatchMetricsOptions = {
  ...{ metrics: undefined, metricsInfo: false, probe: false, probeAllow: [] },
  probeTokenFile: undefined,
};
const TOKEN = "a-Token.of~24/characters";

async function refusal(options: Partial<WatchMetricsOptions>): Promise<string> {
  const work = watchMetricsSettings({ ...NOTHING, ...options });
  return (await assertRejects(() => work, InputError)).message;
}

Deno.test("options that need --metrics or --probe are refused without it", async () => {
  const metrics = parseMetrics("9150");
  assertEquals(await watchMetricsSettings(NOTHING), undefined);
  assertEquals(await refusal({ metricsInfo: true }), "Cannot use --metrics-info without --metrics");
  assertEquals(await refusal({ probe: true }), "Cannot use --probe without --metrics");
  assertEquals(
    await refusal({ metrics, probeAllow: [[]] }),
    "Cannot use --probe-allow without --probe",
  );
  assertEquals(
    await refusal({ metrics, probeTokenFile: "x" }),
    "Cannot use --probe-token-file without --probe",
  );
});

Deno.test("--probe beyond loopback needs a token, from a file or a variable", async () => {
  const file = await Deno.makeTempFile();
  try {
    const tokenOf = async (source: string, probeTokenFile?: string) => {
      const options = { ...NOTHING, metrics: parseMetrics(source), probe: true, probeTokenFile };
      return (await watchMetricsSettings(options))!.probe!.token;
    };
    for (const source of ["9150", "[::1]:9150", "127.3.2.1:9150"]) {
      assertEquals(await tokenOf(source), undefined, source);
    }
    for (const source of ["0.0.0.0:9150", "[::]:9150", "192.0.2.1:9150"]) {
      const metrics = parseMetrics(source);
      const message = await refusal({ metrics, probe: true });
      assert(message.includes("without a token: write one into a file for --probe-token-file"));
      await Deno.writeTextFile(file, `${TOKEN}\r\nnot this line\n`);
      assertEquals(await tokenOf(source, file), TOKEN);
      for (const bad of ["", "short", "with a blank in it", `${TOKEN}\u00e9`]) {
        await Deno.writeTextFile(file, bad);
        const message = await refusal({ metrics, probe: true, probeTokenFile: file });
        assert(message.startsWith(`Cannot use the token of "${file}": expected`), message);
        assert(bad === "" || !message.includes(bad), "the error does not repeat the token");
      }
    }
    Deno.env.set("BLOCKSWEEP_PROBE_TOKEN", TOKEN);
    assertEquals(await tokenOf("9150"), TOKEN);
    assertEquals(await tokenOf("0.0.0.0:9150"), TOKEN);
  } finally {
    Deno.env.delete("BLOCKSWEEP_PROBE_TOKEN");
    await Deno.remove(file);
  }
});
