/**
 * Tests the files that pages load: src/web/client_files.ts, src/web/browser/charts.ts,
 * src/web/browser/live.ts, src/web/browser/map.ts, src/web/browser/page.ts.
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

Deno.test("the script of a running scan reads the lists of parts that the page has", () => {
  const { body } = FILES.find(({ name }) => name === "live.js")!;
  const part = /querySelector\("\[(data-live-parts)\]"\)/.exec(body)?.[1];
  assert(part !== undefined && pagesWith("Sample").get("/scans/1")!.includes(` ${part}`), part);
});

Deno.test("scripts of charts have at most 28 KB after gzip, all other files 13 KB", async () => {
  const isOfCharts = (name: string) => /^(uplot|chart)/.test(name);
  const bodies = (ofCharts: boolean) =>
    FILES.filter(({ name }) => isOfCharts(name) === ofCharts).map(({ body }) => body);
  assert(await gzipped(bodies(true)) <= 28 * 1024);
  assert(await gzipped(bodies(false)) <= 13 * 1024);
});

Deno.test("styles and mark load nothing", () => {
  for (const { name, body } of FILES.filter(({ name }) => /\.(css|svg)$/.test(name))) {
    assert(!/url\(|@import|<script|href=/.test(body), name);
  }
});
