/**
 * The files that pages load: style, mark and scripts.
 *
 * @module
 */
import { nodeModule } from "../core/node_modules.ts";
import mark from "./style/mark.svg" with { type: "text" };
import style from "./style/style.css" with { type: "text" };
import charts from "./browser/charts.ts" with { type: "text" };
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
const MODULES: Readonly<Record<string, string>> = { charts, hilbert, live, map, map_scale, page };

/** Builds the files. Modules lose their types, and import one another as `.js`. */
export function clientFiles(): ClientFile[] {
  return [
    { name: "style.css", contentType: "text/css; charset=utf-8", body: colorRules() + style },
    { name: "mark.svg", contentType: "image/svg+xml", body: mark },
    ...Object.entries(MODULES).map(([name, text]) => ({
      name: `${name}.js`,
      contentType: "text/javascript; charset=utf-8",
      body: nodeModule().stripTypeScriptTypes(text).replace(/(from "\.\/\w+)\.ts"/g, '$1.js"'),
    })),
  ];
}
