/**
 * Tests the files that pages load: src/web/client_files.ts, src/web/browser/charts.ts,
 * src/web/browser/follow.ts, src/web/browser/fresh_fragments.ts, src/web/browser/live.ts,
 * src/web/browser/map.ts, src/web/browser/page.ts.
 */
import { assert, assertEquals } from "@std/assert";
import { clientFiles } from "../../src/web/client_files.ts";
import { pagesWith } from "./pages/sample_data.ts";

const FILES = clientFiles();

/** The size of texts after gzip, bytes. */
async function gzipped(texts: readonly string[]): Promise<number> {
  const stream = new Blob([...texts]).stream().pipeThrough(new CompressionStream("gzip"));
  return (await new Response(stream).arrayBuffer()).byteLength;
}

Deno.test("scripts have no types, import existing scripts, and use no sink of trusted types", () => {
  const names = FILES.map(({ name }) => name);
  for (const { name, body } of FILES.filter(({ name }) => name.endsWith(".js"))) {
    assert(!/: string\b|\binterface /.test(body.replace(/^\s*(\/?\*|\/\/).*$/gm, "")), name);
    const imports = [...body.matchAll(/from "\.\/([^"]+)"/g)].map(([, file]) => file);
    assertEquals(imports.filter((file) => !names.includes(file)), [], name);
    assert(
      !/innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(|DOMParser/.test(body),
      name,
    );
  }
});

Deno.test("scripts that follow running scans replace fragments that their pages have", () => {
  const pages = pagesWith("Sample");
  for (
    const [script, name, paths] of [
      ["live.js", "data-live-parts", ["/scans/1"]],
      ["follow.js", "data-follow", ["/", "/scans"]],
    ] as const
  ) {
    const { body } = FILES.find((one) => one.name === script)!;
    assert(body.includes(`replaceFragments("[${name}]")`), script);
    for (const path of paths) assert(pages.get(path)!.includes(` ${name}`), path);
  }
});

Deno.test("scripts of charts have at most 28 KB after gzip, all other files 15 KB", async () => {
  const isOfCharts = (name: string) => /^(uplot|chart)/.test(name);
  const bodies = (ofCharts: boolean) =>
    FILES.filter(({ name }) => isOfCharts(name) === ofCharts).map(({ body }) => body);
  assert(await gzipped(bodies(true)) <= 28 * 1024);
  assert(await gzipped(bodies(false)) <= 15 * 1024);
});

Deno.test("styles and mark load nothing", () => {
  for (const { name, body } of FILES.filter(({ name }) => /\.(css|svg)$/.test(name))) {
    assert(!/url\(|@import|<script|href=/.test(body), name);
  }
});
