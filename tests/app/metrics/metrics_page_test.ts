import { assert, assertEquals } from "@std/assert";
import { MetricsPage } from "../../../src/app/metrics/metrics_page.ts";
import { gauge } from "../../../src/app/metrics/scan_metrics.ts";

const PLAIN = { headers: new Map<string, string>() };
const GZIP = { headers: new Map([["accept-encoding", "gzip"]]) };

Deno.test("a page is rendered once a second, and is the same with and without gzip", async () => {
  let now = 0;
  let rendered = 0;
  const page = new MetricsPage(() => [gauge("rendered", "Renderings.", ++rendered)], {
    now: () => now,
  });
  const plain = page.respond(PLAIN);
  const gzipped = page.respond(GZIP);
  assertEquals(plain.headers!["content-encoding"], undefined);
  assertEquals(gzipped.headers!["content-encoding"], "gzip");
  assertEquals(
    [plain, gzipped].map(({ headers }) => headers!.vary),
    Array(2).fill("Accept-Encoding"),
  );
  const stream = new Blob([gzipped.body]).stream().pipeThrough(new DecompressionStream("gzip"));
  assertEquals(await new Response(stream).bytes(), plain.body);
  now = 999;
  assertEquals(page.respond(GZIP).body, gzipped.body);
  assertEquals(rendered, 1);
  now = 1000;
  assert(new TextDecoder().decode(page.respond(PLAIN).body).endsWith("rendered 2\n"));
  assert(page.respond(GZIP).body !== gzipped.body);
  assertEquals(rendered, 2);
});
