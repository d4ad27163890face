/**
 * The files that pages load: style, mark and scripts.
 *
 * @module
 */
import uplot from "npm:uplot@1.6.32/dist/uPlot.iife.min.js" with { type: "text" };
import uplotStyle from "npm:uplot@1.6.32/dist/uPlot.min.css" with { type: "text" };
import { nodeModule } from "../core/node_modules.ts";
import mark from "./style/mark.svg" with { type: "text" };
import style from "./style/style.css" with { type: "text" };
import visitors from "./style/visitors.css" with { type: "text" };
import chart_data from "./browser/chart_data.ts" with { type: "text" };
import chart_texts from "./browser/chart_texts.ts" with { type: "text" };
import charts from "./browser/charts.ts" with { type: "text" };
import counters from "./browser/counters.ts" with { type: "text" };
import follow from "./browser/follow.ts" with { type: "text" };
import fresh_fragments from "./browser/fresh_fragments.ts" with { type: "text" };
import hilbert from "./browser/hilbert.ts" with { type: "text" };
import live from "./browser/live.ts" with { type: "text" };
import map from "./browser/map.ts" with { type: "text" };
import map_scale from "./browser/map_scale.ts" with { type: "text" };
import page from "./browser/page.ts" with { type: "text" };
import { colorRules } from "./style/tokens.ts";

/** A file that pages load from the folder of {@linkcode PageContext.assets}. */
export interface ClientFile {
  readonly name: string;
  readonly contentType: string;
  readonly body: string;
}

/** The modules for browsers as TypeScript, by name. */
const MODULES: Readonly<Record<string, string>> = {
  ...{
    chart_data,
    chart_texts,
    charts,
    counters,
    follow,
    fresh_fragments,
    hilbert,
    live,
    map,
    map_scale,
    page,
  },
};

/** Builds the files. Modules lose their types, and import one another and uPlot as `.js`. */
export function clientFiles(): ClientFile[] {
  return [
    { name: "style.css", contentType: "text/css; charset=utf-8", body: styleSheet() },
    { name: "visitors.css", contentType: "text/css; charset=utf-8", body: compact(visitors) },
    { name: "mark.svg", contentType: "image/svg+xml", body: mark },
    scriptFile("uplot", `${uplot}\nexport default uPlot;\n`),
    ...Object.entries(MODULES).map(([name, text]) =>
      scriptFile(
        name,
        withoutTypes(text).replace(
          /from "(?:\.\/(\w+)\.ts|npm:(\w+)@[\d.]+)"/g,
          'from "./$1$2.js"',
        ),
      )
    ),
  ];
}

function scriptFile(name: string, body: string): ClientFile {
  return { name: `${name}.js`, contentType: "text/javascript; charset=utf-8", body };
}

/** The style of all pages, without comments and unnecessary spaces. */
export function styleSheet(): string {
  return compact(colorRules() + uplotStyle + style);
}

function compact(css: string): string {
  return css.replace(/\/\*[^]*?\*\//g, "").replace(/\n */g, " ").replace(/ ?([{};,]) ?/g, "$1");
}

/** The script that draws charts, as one script without imports. */
export function chartScript(): string {
  const own = [chart_data, chart_texts, charts].map((text) =>
    withoutTypes(text).replace(/^import [^;]*;$/gm, "").replace(/^export /gm, "")
  );
  return [uplot, ...own].join("\n");
}

/** JavaScript of a module in TypeScript, without its doc comments and indents. */
export function withoutTypes(text: string): string {
  const code = text.replace(/^ *\/\*\*[^]*?\*\/\n/gm, "");
  return nodeModule().stripTypeScriptTypes(code).replace(/^ +| +$|^\n/gm, "");
}
